"""Write down the versions of what is installed, and the hashes of their files: `make lock`.

    python book/_tools/lock.py

constraints.txt has the versions: of this environment, and those with a marker, for other systems, as they
are. hashes.txt has the same with the SHA-256 of every file of that version, for all systems; not torch, whose
builds (CPU, CUDA) come from several indices and bring companions of their own.
"""

from __future__ import annotations

import importlib.metadata
import re
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from packaging.utils import InvalidSdistFilename, InvalidWheelFilename, canonicalize_name
from packaging.utils import parse_sdist_filename as parse_sdist
from packaging.utils import parse_wheel_filename as parse_wheel
from trouble import Trouble, write_whole

ROOT = Path(__file__).resolve().parents[2]
INDEX = "https://pypi.org/simple/"
NOT_PINNED = {"lsa", "pip"}
NOT_HASHED = {"torch"}


def pins() -> list[str]:
    """The lines of constraints.txt for what is installed, and what it has for other systems."""
    found = {each.metadata["Name"]: each.version for each in importlib.metadata.distributions()}
    names = sorted(found.keys() - NOT_PINNED, key=str.lower)
    here = [f"{name}=={found[name].partition('+')[0]}" for name in names]  # +cpu: the same version
    old = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    return here + [line for line in old if ";" in line]


def version_of(file: str) -> str | None:
    try:
        return str((parse_wheel if file.endswith(".whl") else parse_sdist)(file)[1])
    except (InvalidWheelFilename, InvalidSdistFilename):
        return None


def hashed(pin: str) -> str:
    """A pin with the hashes of its files, as pip reads it."""
    name, version = re.match(r"([\w.-]+)==([^\s;]+)", pin).groups()
    with urllib.request.urlopen(f"{INDEX}{canonicalize_name(name)}/") as page:
        files = dict(re.findall(r"/([^/#\"]+)#sha256=([0-9a-f]{64})", page.read().decode()))
    found = sorted({files[file] for file in files if version_of(file) == version})
    if not found:
        raise Trouble(f"{pin}: the index has no file of this version")
    return " \\\n".join([pin, *(f"    --hash=sha256:{each}" for each in found)])


def main() -> None:
    lines = pins()
    wanted = [pin for pin in lines if pin.partition("==")[0] not in NOT_HASHED]
    with ThreadPoolExecutor(8) as several:
        blocks = list(several.map(hashed, wanted))
    write_whole(ROOT / "constraints.txt", "\n".join(lines) + "\n")
    head = "# Written by `make lock`: constraints.txt without torch, with hashes of each version's files.\n"
    write_whole(ROOT / "hashes.txt", head + "\n".join(blocks) + "\n")


if __name__ == "__main__":
    main()
