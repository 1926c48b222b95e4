"""When something outside of the book fails: files stay whole, and an error is a line or two, not a traceback.

Who imports this ends so: on Ctrl-C, a full disk, a folder that may not be written, and on `Trouble`.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sys
import time
from pathlib import Path
from types import TracebackType

ADVICE = {
    errno.ENOSPC: "the disk is full; make room, then run the same command again",
    errno.EROFS: "this folder is read-only; work in a copy that you may write to",
    errno.EACCES: "this may not be read or written by you; look at its permissions and owner",
    errno.EPERM: "this may not be read or written by you; look at its permissions and owner",
    errno.EADDRINUSE: "this port is in use; name another one",
}


class Trouble(Exception):
    """Something that the reader of the message can mend: it says what, and how."""


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file beside and put it in place: it is the old one or the new one, never half of it."""
    for left in path.parent.glob(f".{path.name}.*.part"):
        if time.time() - left.stat().st_mtime > 60:  # of a process that was killed while it wrote
            left.unlink(missing_ok=True)
    beside = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        beside.write_bytes(content.encode() if isinstance(content, str) else content)
        os.replace(beside, path)
    except BaseException as error:
        with contextlib.suppress(OSError):
            beside.unlink(missing_ok=True)
        if isinstance(error, OSError):
            error.filename = str(path)  # a full disk is reported without one
        raise


def in_words(error: BaseException) -> str:
    """What happened and what to do, where we know; else the error's kind and its own words."""
    if isinstance(error, OSError) and error.errno in ADVICE:
        return f"{error.filename or 'somewhere'}: {ADVICE[error.errno]}"
    return str(error) if isinstance(error, Trouble) else f"{type(error).__name__}: {error}"


def end(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """What Python calls at the end, in place of its own."""
    if issubclass(kind, KeyboardInterrupt):
        print("\nInterrupted. What was finished is kept: run the same command to go on.", file=sys.stderr)
    elif issubclass(kind, OSError | Trouble):
        print(f"\n{in_words(error)}", file=sys.stderr)
    else:
        sys.__excepthook__(kind, error, trace)


sys.excepthook = end
