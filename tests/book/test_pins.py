"""The pinned versions hold for every Python and every system that the README names."""

import importlib.metadata
import re
import tomllib

import pytest
from helpers import ROOT
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

PYTHONS = ["3.11.0", "3.11.2", "3.12.0", "3.13.0", "3.14.0"]  # Debian 12 has 3.11.2
SYSTEMS = {
    "Linux": {"sys_platform": "linux", "platform_system": "Linux", "os_name": "posix"},
    "macOS": {"sys_platform": "darwin", "platform_system": "Darwin", "os_name": "posix"},
    "Windows": {"sys_platform": "win32", "platform_system": "Windows", "os_name": "nt"},
}


LINES = [line.partition("#")[0].strip() for line in (ROOT / "requirements.txt").read_text().splitlines()]
ASKED = [Requirement(line) for line in LINES if line and not line.startswith("-")]
LOCK = (ROOT / "lock.txt").read_text()
PINS = [Requirement(pin) for pin in re.findall(r"^(\w.*==.*?) \\$", LOCK, flags=re.M)]


def installed(name: str) -> importlib.metadata.Distribution | None:
    try:
        return importlib.metadata.distribution(name)
    except importlib.metadata.PackageNotFoundError:
        return None


@pytest.mark.parametrize("pin", PINS, ids=[pin.name for pin in PINS])
def test_a_pin_works_on_every_python(pin):
    """By the metadata of the pinned version, which is the one installed here."""
    found = installed(pin.name)
    if found is None:
        assert pin.marker is not None, f"{pin} is not installed: is it for another system? (a marker)"
        assert not pin.marker.evaluate()
        return
    assert found.version.partition("+")[0] in pin.specifier, f"{pin} is pinned, {found.version} is installed"
    wanted = SpecifierSet(found.metadata["Requires-Python"] or "")
    assert [python for python in PYTHONS if python not in wanted] == []


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("python", ["3.11", "3.14"])
def test_nothing_that_is_needed_is_left_unpinned(system, python):
    """Follow the requirements of what is installed, with the markers of another system or Python."""
    versions = {"python_version": python, "python_full_version": f"{python}.2"}
    environment = SYSTEMS[system] | versions
    names = {
        canonicalize_name(pin.name) for pin in PINS if not pin.marker or pin.marker.evaluate(environment)
    }
    seen, todo = set(), [(need.name, "") for need in ASKED]
    while todo:
        name, extra = todo.pop()
        name = canonicalize_name(name)
        if (name, extra) in seen:
            continue
        seen.add((name, extra))
        for line in (found.requires or []) if (found := installed(name)) else []:
            need = Requirement(line)
            if need.marker is None or need.marker.evaluate(environment | {"extra": extra}):
                todo += [(need.name, each) for each in ("", *need.extras)]
    assert sorted({name for name, _ in seen} - names - {"torch", *COMPANIONS}) == []


# of torch on Linux, which the CPU build does without
COMPANIONS = {"triton", "cuda-toolkit", "cuda-bindings"}


def test_everything_but_torch_is_hashed():
    """pip refuses what has no hash: the lock must hold all of requirements.txt."""
    blocks = [block for block in re.split(r"\n(?=\w)", LOCK) if not block.startswith("#")]
    assert len(blocks) == len(PINS) > 100
    assert [block for block in blocks if "--hash=sha256:" not in block] == []
    versions = {(canonicalize_name(pin.name), str(pin.specifier)) for pin in PINS}
    missing = {(canonicalize_name(need.name), str(need.specifier)) for need in ASKED} - versions
    assert missing == {("torch", "==2.13.0")}, "run `make lock`"
    assert "://" not in LOCK, "an index or another place to fetch from"


def test_all_say_the_same_python():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["requires-python"] == ">=3.11"
    assert "Python 3.11 to 3.14" in (ROOT / "README.md").read_text()
    assert '(3, 11) <= sys.version_info < (3, 15) and "Python 3.11 to 3.14' in (ROOT / "Makefile").read_text()
