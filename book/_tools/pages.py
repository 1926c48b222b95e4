"""Build the pages into _build/html: `python book/_tools/pages.py`. Warnings are errors.

Jupyter Book writes a draft upon its last good one; only a draft without a warning takes the place of the
pages, and one that failed or was interrupted is not used again.
"""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from contents import BUILD, ROOT
from npm import node_modules


@contextlib.contextmanager
def alone() -> Iterator[None]:
    """One build at a time: a second one waits for the first."""
    BUILD.mkdir(exist_ok=True)
    with (BUILD / "lock").open("w") as lock:
        with contextlib.suppress(ImportError):  # Windows has no fcntl
            import fcntl

            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def build(builder: str = "html") -> Path:
    """Let Jupyter Book build with one of Sphinx's builders; returns where the files are.

    Each builder has doctrees of its own: Sphinx takes a page for up to date whose chapter it has read before.
    """
    draft, unfinished = BUILD / f"draft-{builder}", BUILD / f"unfinished-{builder}"
    kind = ["--builder", "custom", "--custom-builder", builder] if builder != "html" else []
    program = Path(sys.executable).with_name("jupyter-book")
    command = [program, "build", ROOT, "-nW", "--keep-going", "--quiet", "--path-output", unfinished, *kind]
    shutil.rmtree(unfinished, ignore_errors=True)
    if draft.exists():
        draft.rename(unfinished)
    # what went wrong is said on the other stream; here it would name the draft as the place of the pages
    if subprocess.run(command, cwd=ROOT, stdout=subprocess.DEVNULL).returncode:
        raise SystemExit("\nThe build failed, see above; the last good one is still in place.")
    unfinished.rename(draft)
    return draft / "_build" / builder


def main() -> None:
    pages, new, old = BUILD / "html", BUILD / "new", BUILD / "old"
    node_modules()  # before all else: without a network that is over soon
    with alone():
        made = build()
        for folder in (new, old):
            shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(made, new)
        if pages.exists():
            pages.rename(old)
        new.rename(pages)
    print(f"The book: {(pages / 'index.html').as_uri()}")


if __name__ == "__main__":
    sys.exit(main())
