"""What the tools do when something fails: a few clear lines, nothing half-written, mended by the next run."""

from __future__ import annotations

import asyncio
import errno
import os
import signal
import subprocess
import sys
import time
import types
import urllib.request
from pathlib import Path

import execute
import npm
import pages
import pytest
import serve
import trouble
import weave
from trouble import Trouble, write_whole

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(execute.__file__).parent)}
FULL = errno.ENOSPC, "No space left on device"
READ_ONLY = errno.EROFS, "Read-only file system", "somewhere"


def failing_write(error: tuple):
    """A Path.write_bytes that writes half and fails, for files whose name holds "bad"."""

    def write_bytes(path: Path, content: bytes, real=Path.write_bytes) -> int:
        if "bad" not in path.name:
            return real(path, content)
        real(path, content[: len(content) // 2])
        raise OSError(*error)

    return write_bytes


def run_python(code: str) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=ENVIRONMENT)


# ---- files ----


@pytest.mark.parametrize("error", [FULL, READ_ONLY], ids=["full disk", "read-only"])
def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch, error):
    path = tmp_path / "bad.ipynb"
    path.write_text("old")
    monkeypatch.setattr(Path, "write_bytes", failing_write(error))
    with pytest.raises(OSError, match=error[1]) as raised:
        write_whole(path, "new and longer")
    assert [(each.name, each.read_text()) for each in tmp_path.iterdir()] == [("bad.ipynb", "old")]
    assert str(path) in trouble.in_words(raised.value)
    assert trouble.ADVICE[error[0]] in trouble.in_words(raised.value)


def test_a_kill_while_a_file_is_written_leaves_the_old_one(tmp_path):
    path = tmp_path / "x.ipynb"
    path.write_text("old")
    kill = "import os, pathlib, trouble; os.replace = lambda *_: os.kill(os.getpid(), 9)"
    done = run_python(f"{kill}; trouble.write_whole(pathlib.Path({str(path)!r}), 'new')")
    assert done.returncode == -signal.SIGKILL
    assert path.read_text() == "old"
    (left,) = tmp_path.glob(".*.part")
    os.utime(left, (0, 0))
    write_whole(path, "new")  # the next run mends it, and clears away what was left
    assert [(each.name, each.read_text()) for each in tmp_path.iterdir()] == [("x.ipynb", "new")]


@pytest.mark.parametrize(
    ("raises", "says"),
    [
        ("KeyboardInterrupt", "Interrupted."),
        ("OSError(28, 'No space left on device', 'x.html')", "x.html: the disk is full"),
        ("PermissionError(13, 'Permission denied', 'book')", "book: this may not be read or written by you"),
        ("trouble.Trouble('do this')", "do this"),
    ],
)
def test_a_command_ends_in_a_line(raises, says):
    done = run_python(f"import trouble; raise {raises}")
    assert done.returncode != 0
    assert "Traceback" not in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert says in done.stderr


def test_a_mistake_of_ours_keeps_its_traceback():
    assert "Traceback" in run_python("import trouble; 1 / 0").stderr


# ---- chapters ----


@pytest.fixture
def shelf(tmp_path, monkeypatch):
    """A folder with chapters of our own in place of the book's."""
    monkeypatch.setattr(execute, "source", lambda name: tmp_path / f"{name}.myst.md")
    monkeypatch.setattr(execute, "target", lambda name: tmp_path / f"{name}.ipynb")
    monkeypatch.setattr(execute, "for_the_notebook", lambda name, run: weave.write(run))
    monkeypatch.setattr(execute, "fingerprint", lambda name: f"of {name}")
    monkeypatch.setattr(execute, "RECORD", tmp_path / "_build" / "notebooks.json")
    return tmp_path


def chapter(shelf: Path, name: str, code: str) -> None:
    start = "---\nkernelspec: {name: python3, display_name: Python 3}\n---\n\n"
    (shelf / f"{name}.myst.md").write_text(f"{start}```{{code-cell}} ipython3\n{code}\n```\n")


def run_chapters(*names: str) -> list[str]:
    with asyncio.Runner(loop_factory=execute.Loop) as runner:
        return runner.run(execute.run(list(names)))


def test_a_dead_kernel_names_its_chapter_and_costs_no_other(shelf, capsys):
    chapter(shelf, "dead", "import os; os._exit(9)")
    chapter(shelf, "fine", "print(1 + 1)")
    (shelf / "dead.ipynb").write_text("old")
    assert run_chapters("dead", "fine") == ["dead"]
    assert "dead: its kernel died" in capsys.readouterr().err
    assert (shelf / "dead.ipynb").read_text() == "old"
    assert '"2\\n"' in (shelf / "fine.ipynb").read_text()
    assert execute.read_record() == {"fine": "of fine"}
    assert execute.stale(["dead", "fine"]) == ["dead"]


@pytest.mark.parametrize("error", [FULL, READ_ONLY], ids=["full disk", "read-only"])
def test_a_chapter_that_cannot_be_stored_is_named(shelf, monkeypatch, capsys, error):
    for name in ("bad", "fine"):
        chapter(shelf, name, "print(1 + 1)")
    monkeypatch.setattr(Path, "write_bytes", failing_write(error))
    assert run_chapters("bad", "fine") == ["bad"]
    said = capsys.readouterr().err
    assert f"bad: {shelf / 'bad.ipynb'}: {trouble.ADVICE[error[0]]}" in said
    assert len(said.strip().splitlines()) == 1
    assert execute.stale(["bad", "fine"]) == ["bad"]
    assert sorted(path.name for path in shelf.glob("*.ipynb")) == ["fine.ipynb"]


@pytest.mark.parametrize("damage", ["", '{"setup": "of se', "[1]", "null"])
def test_a_damaged_record_is_written_anew(shelf, damage):
    execute.RECORD.parent.mkdir()
    execute.RECORD.write_text(damage)
    assert execute.stale(["setup"]) == ["setup"]
    execute.write_record("setup")
    assert execute.stale(["setup"]) == []


@pytest.mark.parametrize("damage", [None, "", '{"cells": [', "[]", "{}"])
def test_a_damaged_notebook_is_named(tmp_path, monkeypatch, damage):
    monkeypatch.setattr(weave, "target", lambda name: tmp_path / f"{name}.ipynb")
    if damage is not None:
        (tmp_path / "setup.ipynb").write_text(damage)
    with pytest.raises(ValueError, match=r"book/setup\.ipynb is missing or damaged: run `make notebooks`"):
        weave.for_the_page("setup")


def test_serving_begins_with_the_stored_notebooks(shelf, monkeypatch):
    """Only what disagrees with its source is run at the start, with no record too."""

    def for_the_page(name: str) -> None:
        if name == "changed":
            raise ValueError("a stored notebook has other code than its source")

    monkeypatch.setattr(execute, "for_the_page", for_the_page)
    execute.adopt(["setup", "changed"])
    assert execute.stale(["setup", "changed"]) == ["changed"]
    monkeypatch.setattr(execute, "fingerprint", lambda name: f"a new one of {name}")
    execute.adopt(["setup"])  # what is recorded, and has changed since, is run
    assert execute.stale(["setup"]) == ["setup"]


CTRL_C = """
import sys, pathlib, execute, weave
shelf = pathlib.Path(sys.argv[1])
execute.chapters = lambda: ["fine", "slow", "slower"]
execute.source = lambda name: shelf / f"{name}.myst.md"
execute.target = lambda name: shelf / f"{name}.ipynb"
execute.for_the_notebook = lambda name, run: weave.write(run)
execute.fingerprint = lambda name: name
execute.RECORD = shelf / "notebooks.json"
sys.exit(execute.main([]))
"""


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT to send")
def test_ctrl_c_ends_all_kernels_and_keeps_what_is_done(shelf):
    wait = "import os, pathlib, time; pathlib.Path({!r}).write_text(str(os.getpid())); time.sleep(300)"
    chapter(shelf, "fine", "print(1 + 1)")
    chapter(shelf, "slow", wait.format(str(shelf / "slow.pid")))
    chapter(shelf, "slower", wait.format(str(shelf / "slower.pid")))
    command = [sys.executable, "-c", CTRL_C, str(shelf)]
    running = subprocess.Popen(command, env=ENVIRONMENT, stderr=subprocess.PIPE, text=True)
    pids = [shelf / "slow.pid", shelf / "slower.pid"]
    wait_for(lambda: all(path.exists() and path.read_text() for path in pids))
    running.send_signal(signal.SIGINT)
    _, said = running.communicate(timeout=60)
    assert running.returncode == -signal.SIGINT
    assert said.strip() == "Interrupted. What was finished is kept: run the same command to go on."
    assert (shelf / "fine.ipynb").exists()
    assert not (shelf / "slow.ipynb").exists()
    wait_for(lambda: not any(Path(f"/proc/{path.read_text()}").exists() for path in pids), seconds=20)


def wait_for(condition, seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.05)


# ---- pages ----


@pytest.fixture
def press(tmp_path, monkeypatch):
    """Stands in for Jupyter Book: writes `content`, then does what `end` does."""

    class Press:
        content, began_anew = "whole", None

        def end(self) -> None:
            pass

        def __call__(self, arguments: list[str], standalone_mode: bool) -> None:
            made = Path(arguments[arguments.index("--path-output") + 1]) / "_build" / "html"
            self.began_anew = not made.exists()
            made.mkdir(parents=True, exist_ok=True)
            for name in ("index.html", "style.css"):
                (made / name).write_text(self.content)
            print("WARNING: a warning", file=sys.stderr)
            self.end()

    held = Press()
    monkeypatch.setitem(sys.modules, "jupyter_book.cli.main", types.SimpleNamespace(main=held))
    monkeypatch.setattr(pages, "BUILD", tmp_path / "_build")
    return held


def raiser(error: BaseException, cause: BaseException | None = None):
    def end():
        raise error from cause

    return end


def test_a_damaged_page_is_mended(press):
    pages.main()
    html = pages.BUILD / "html"
    kept = (html / "style.css").stat().st_mtime_ns
    (html / "index.html").write_text("wh")
    (html / "gone.html").write_text("of a chapter that is no more")
    pages.main()
    assert not press.began_anew
    assert sorted(path.name for path in html.iterdir()) == ["index.html", "style.css"]
    assert {path.read_text() for path in html.iterdir()} == {"whole"}
    assert (html / "style.css").stat().st_mtime_ns == kept, "written although nothing had changed"


@pytest.mark.parametrize(
    ("error", "kind", "says"),
    [
        (raiser(SystemExit(1)), Trouble, "WARNING: a warning\n"),
        (raiser(SystemExit("npm: no network")), Trouble, "npm: no network"),
        (raiser(RuntimeError("look above"), OSError(*FULL)), Trouble, "somewhere: the disk is full"),
        (raiser(OSError(errno.EROFS, "read-only", "_build")), Trouble, "_build: this folder is read-only"),
        (raiser(RuntimeError("look above"), KeyError("x")), Trouble, "WARNING: a warning\n\nKeyError: 'x'"),
        (raiser(SystemExit(KeyboardInterrupt())), KeyboardInterrupt, ""),
        (raiser(KeyboardInterrupt()), KeyboardInterrupt, ""),
        (raiser(RuntimeError("Aborted!"), KeyboardInterrupt()), KeyboardInterrupt, ""),
    ],
)
def test_a_failed_build_leaves_the_last_good_pages(press, error, kind, says):
    pages.main()
    press.content, press.end = "half", error
    with pytest.raises(kind) as raised:
        pages.main()
    assert str(raised.value).startswith(says)
    assert {path.read_text() for path in (pages.BUILD / "html").iterdir()} == {"whole"}
    press.content, press.end = "new", lambda: None
    pages.main()
    assert press.began_anew, "the draft of a failed build was used again"
    assert {path.read_text() for path in (pages.BUILD / "html").iterdir()} == {"new"}


REAL = """
import pathlib, sys, pages
pages.ROOT = pathlib.Path(sys.argv[1])
pages.BUILD = pages.ROOT / "_build"
pages.main()
"""


def test_a_killed_build_does_not_break_the_next(tmp_path):
    """A real one, of a small book, killed while its pages are written."""
    (tmp_path / "_config.yml").write_text("title: A small book\n")
    (tmp_path / "_toc.yml").write_text("format: jb-book\nroot: a\nchapters: [{file: b}, {file: c}]\n")
    for name in "abc":
        (tmp_path / f"{name}.md").write_text(f"# Page {name}\n\nText.\n")
    command = [sys.executable, "-c", REAL, str(tmp_path)]
    running = subprocess.Popen(command, env=ENVIRONMENT)
    made = tmp_path / "_build" / "draft" / "_build"
    wait_for(lambda: (made / "html" / "a.html").exists() or running.poll() is not None)
    running.kill()
    running.wait()
    assert (tmp_path / "_build" / "draft" / "unfinished").exists()
    assert not (tmp_path / "_build" / "html").exists()
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for name in "abc":
        assert (tmp_path / "_build" / "html" / f"{name}.html").read_text().rstrip().endswith("</html>")


def test_without_a_network_a_build_ends_soon(tmp_path, monkeypatch):
    """npm says nothing; the message comes after the patience for one question, not for a download."""
    (tmp_path / "npm").write_text("#!/bin/sh\nexec sleep 60\n")
    (tmp_path / "npm").chmod(0o755)
    monkeypatch.setattr(npm.sys, "executable", str(tmp_path / "python"))
    assert npm.PATIENCE + 2 <= 12
    monkeypatch.setattr(npm, "PATIENCE", 0.0)
    monkeypatch.setattr(npm, "ROOT", tmp_path)
    (tmp_path / "package-lock.json").write_text('{"packages": {"node_modules/a": {"integrity": "1"}}}')
    with pytest.raises(Trouble, match=r"Connect and try again\. npm says: nothing for") as raised:
        npm.node_modules()
    assert len(str(raised.value).splitlines()) <= 6
    assert not (tmp_path / "node_modules").exists()


def test_nothing_is_served_before_the_first_pages(tmp_path, monkeypatch, capsys):
    builds, turns = [], []

    def build(*options: str) -> None:
        builds.append(options)
        if len(builds) == 2:
            (tmp_path / "index.html").write_text("the book")

    def state() -> dict[Path, int]:
        turns.append(None)
        if len(turns) == 4:
            address = capsys.readouterr().out.split()[2]
            assert urllib.request.urlopen(address, timeout=10).read() == b"the book"
            raise KeyboardInterrupt
        return {tmp_path: min(len(turns), 2)}

    started = []
    monkeypatch.setattr(
        serve.threading.Thread,
        "start",
        lambda self, real=serve.threading.Thread.start: (
            started.append((tmp_path / "index.html").exists()),
            real(self),
        ),
    )
    for name, value in {"PAGES": tmp_path, "build": build, "state": state}.items():
        monkeypatch.setattr(serve, name, value)
    with pytest.raises(KeyboardInterrupt):
        serve.main(["0"])
    assert builds == [("--adopt",), ()]
    assert started[0]
