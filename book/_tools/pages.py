"""Build the pages into _build/html: `python book/_tools/pages.py`. Warnings are errors.

Jupyter Book writes a draft into _build/draft; what it finished without a warning is put in place file by
file, so pages are whole at any moment, and one that was damaged is mended. A draft that failed or was
interrupted is not used again: the next build begins anew.
"""

from __future__ import annotations

import contextlib
import io
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from npm import node_modules
from trouble import Trouble, in_words, write_whole

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "_build"


@contextlib.contextmanager
def alone(folder: Path) -> Iterator[None]:
    """One build at a time: a second one waits for the first."""
    try:
        import fcntl
    except ImportError:  # Windows
        yield
        return
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("Another build is running; this one waits for it.", flush=True)
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def draft(folder: Path) -> Path:
    """Let Jupyter Book build into `folder`, upon its last good draft; returns where the pages are."""
    unfinished = folder / "unfinished"
    if unfinished.exists():
        shutil.rmtree(folder)
    folder.mkdir(exist_ok=True)
    unfinished.touch()
    said = io.StringIO()
    arguments = ["build", str(ROOT), "-n", "-W", "--keep-going", "--quiet", "--path-output", str(folder)]
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        try:
            from jupyter_book.cli.main import main as jupyter_book

            jupyter_book(arguments, standalone_mode=False)
            problem = None
        except (Exception, SystemExit) as error:
            problem = error
    if problem is not None:
        raise reason(problem, said.getvalue())
    unfinished.unlink()
    return folder / "_build" / "html"


def reason(error: BaseException, said: str) -> BaseException:
    """Why the build failed; Sphinx and Jupyter Book wrap the error, or end with it as their exit code."""
    if isinstance(error, SystemExit):
        if isinstance(error.code, BaseException):  # Ctrl-C
            return error.code
        return Trouble(error.code if isinstance(error.code, str) else said)
    while error.__cause__:
        error = error.__cause__
    if isinstance(error, KeyboardInterrupt):
        return error
    return Trouble(in_words(error)) if isinstance(error, OSError) else Trouble(f"{said}\n{in_words(error)}")


def put_in_place(made: Path, pages: Path) -> None:
    """Make `pages` equal to `made`, file by file, what pages ask for before the pages."""
    wanted = [path.relative_to(made) for path in made.rglob("*") if path.is_file()]
    for name in sorted(wanted, key=lambda name: name.suffix == ".html"):
        content = (made / name).read_bytes()
        if not (pages / name).is_file() or (pages / name).read_bytes() != content:
            (pages / name).parent.mkdir(parents=True, exist_ok=True)
            write_whole(pages / name, content)
    for path in [path for path in pages.rglob("*") if path.is_file()]:
        if path.relative_to(pages) not in wanted:
            path.unlink()


def main() -> None:
    BUILD.mkdir(exist_ok=True)
    with alone(BUILD):
        node_modules()  # before all else: without a network that is over soon
        put_in_place(draft(BUILD / "draft"), BUILD / "html")
    print(f"The book: {(BUILD / 'html' / 'index.html').as_uri()}")


if __name__ == "__main__":
    sys.exit(main())
