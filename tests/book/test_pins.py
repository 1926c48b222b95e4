"""The pinned versions hold for every Python and every system that the README names."""

import importlib.metadata
import re
import tomllib

import pytest
from helpers import ROOT
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

PYTHONS = ["3.11.0", "3.11.2", "3.12.0", "3.13.0", "3.14.0"]  # Debian 12 has 3.11.2
SYSTEMS = {
    "Linux": {"sys_platform": "linux", "platform_system": "Linux", "os_name": "posix"},
    "macOS": {"sys_platform": "darwin", "platform_system": "Darwin", "os_name": "posix"},
    "Windows": {"sys_platform": "win32", "platform_system": "Windows", "os_name": "nt"},
}


def requirements(name: str) -> list[Requirement]:
    lines = [line.partition("#")[0].strip() for line in (ROOT / name).read_text().splitlines()]
    return [Requirement(line) for line in lines if line and not line.startswith("-")]


PINS = {(pin.name.lower().replace("_", "-"), str(pin.marker)): pin for pin in requirements("constraints.txt")}


def installed(name: str) -> importlib.metadata.Distribution | None:
    try:
        return importlib.metadata.distribution(name)
    except importlib.metadata.PackageNotFoundError:
        return None


@pytest.mark.parametrize("pin", PINS.values(), ids=[pin.name for pin in PINS.values()])
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
    names = {name for name, _ in PINS}
    seen, todo = set(), [(r.name, "") for r in requirements("requirements.txt")]
    while todo:
        name, extra = todo.pop()
        name = name.lower().replace("_", "-").replace(".", "-")
        if (name, extra) in seen:
            continue
        seen.add((name, extra))
        for line in (found.requires or []) if (found := installed(name)) else []:
            need = Requirement(line)
            if need.marker is None or need.marker.evaluate(environment | {"extra": extra}):
                todo += [(need.name, each) for each in ("", *need.extras)]
    seen = {name for name, _ in seen}
    seen -= {r.name.lower() for r in requirements("requirements.txt")} | UNPINNED
    assert sorted(seen - {name.replace(".", "-") for name in names}) == []


# torch's companions on Linux, which the CPU build does without
UNPINNED = {"triton", "cuda-toolkit", "cuda-bindings"}


def test_everything_but_torch_is_hashed():
    """pip refuses what has no hash: hashes.txt must hold all that constraints.txt does."""
    text = (ROOT / "hashes.txt").read_text().replace(" \\\n    --hash=sha256:", " # ")
    pins = [line.partition(" # ")[0] for line in text.splitlines() if not line.startswith("#")]
    hashes = [line.split(" # ")[1:] for line in text.splitlines() if not line.startswith("#")]
    wanted = (ROOT / "constraints.txt").read_text().splitlines()
    assert pins == [line for line in wanted if not line.startswith("torch==")]
    assert all(each and all(re.fullmatch("[0-9a-f]{64}", hash) for hash in each) for each in hashes)


def test_all_say_the_same_python():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["requires-python"] == ">=3.11"
    assert "Python 3.11 or newer" in (ROOT / "README.md").read_text()
    assert re.search(r"version_info < \(3, 11\) and \"Python 3\.11 or newer", (ROOT / "Makefile").read_text())
