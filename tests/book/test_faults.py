"""What the tools do when something fails: nothing half-written, the last good kept, mended by the next run.

A chapter that fails, and text that Sphinx complains of, are in test_plain.py: there they need a small book.
"""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import contents
import execute
import npm
import pages
import pytest

TOOLS = Path(execute.__file__).parent
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(TOOLS)}


def wait_for(condition, seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.05)


# ---- files ----


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    def write_half(path: Path, text: str, encoding: str, real=Path.write_text) -> None:
        real(path, text[: len(text) // 2], encoding=encoding)
        raise OSError(errno.ENOSPC, "No space left on device")

    path = tmp_path / "x.ipynb"
    path.write_text("old")
    monkeypatch.setattr(Path, "write_text", write_half)
    with pytest.raises(OSError, match="No space left"):
        contents.write_whole(path, "new and longer")
    assert [(each.name, each.read_text()) for each in tmp_path.iterdir()] == [("x.ipynb", "old")]


def test_a_kill_while_a_file_is_written_leaves_the_old_one(tmp_path):
    path = tmp_path / "x.ipynb"
    path.write_text("old")
    kill = "import os, pathlib, contents; os.replace = lambda *_: os.kill(os.getpid(), 9)"
    command = [sys.executable, "-c", f"{kill}; contents.write_whole(pathlib.Path({str(path)!r}), 'new')"]
    assert subprocess.run(command, env=ENVIRONMENT).returncode == -signal.SIGKILL
    assert path.read_text() == "old"
    contents.write_whole(path, "new")  # the next run mends it, and clears away what was left
    assert [(each.name, each.read_text()) for each in tmp_path.iterdir()] == [("x.ipynb", "new")]


# ---- chapters ----


@pytest.fixture
def record(tmp_path, monkeypatch) -> Path:
    monkeypatch.setattr(execute, "fingerprint", lambda name: f"of {name}")
    monkeypatch.setattr(execute, "RECORD", tmp_path / "_build" / "notebooks.json")
    return execute.RECORD


@pytest.mark.parametrize("damage", ["", '{"setup": "of se', "[1]", "null"])
def test_a_damaged_record_is_written_anew(record, damage):
    record.parent.mkdir()
    record.write_text(damage)
    assert execute.stale(["setup"]) == ["setup"]
    execute.write_record("setup")
    assert execute.stale(["setup"]) == []


@pytest.mark.parametrize("damage", [None, "", '{"cells": [', "[]", "{}"])
def test_a_damaged_notebook_is_named(tmp_path, monkeypatch, damage):
    monkeypatch.setattr(contents, "target", lambda name: tmp_path / f"{name}.ipynb")
    if damage is not None:
        (tmp_path / "setup.ipynb").write_text(damage)
    with pytest.raises(ValueError, match=r"book/setup\.ipynb is missing or damaged: run `make notebooks`"):
        contents.with_outputs("setup")


def test_a_preview_begins_with_the_stored_notebooks(record, monkeypatch):
    """Only what disagrees with its source is run at the start, with no record too."""

    def with_outputs(name: str) -> None:
        if name == "changed":
            raise ValueError("a stored notebook has other code than its source")

    monkeypatch.setattr(contents, "with_outputs", with_outputs)
    execute.adopt(["setup", "changed"])
    assert execute.stale(["setup", "changed"]) == ["changed"]
    monkeypatch.setattr(execute, "fingerprint", lambda name: f"a new one of {name}")
    execute.adopt(["setup"])  # what is recorded, and has changed since, is run
    assert execute.stale(["setup"]) == ["setup"]


CTRL_C = """
import sys, pathlib, contents, execute
shelf = pathlib.Path(sys.argv[1])
contents.source = execute.source = lambda name: shelf / f"{name}.myst.md"
execute.fingerprint = lambda name: name
execute.RUNS, execute.RECORD = shelf / "runs", shelf / "notebooks.json"
execute.run(["fine", "slow", "slower"])
"""


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT to send")
def test_ctrl_c_ends_all_kernels_and_keeps_what_is_done(tmp_path):
    wait = "import os, pathlib, time; pathlib.Path({!r}).write_text(str(os.getpid())); time.sleep(300)"
    pids = [tmp_path / "slow.pid", tmp_path / "slower.pid"]
    for name, code in {
        "fine": "print(1 + 1)",
        "slow": wait.format(str(pids[0])),
        "slower": wait.format(str(pids[1])),
    }.items():
        start = "---\nkernelspec: {name: python3, display_name: Python 3}\n---\n\n"
        (tmp_path / f"{name}.myst.md").write_text(f"{start}```{{code-cell}} ipython3\n{code}\n```\n")
    command = [sys.executable, "-c", CTRL_C, str(tmp_path)]
    running = subprocess.Popen(command, env=ENVIRONMENT, stderr=subprocess.PIPE, text=True)
    wait_for(lambda: all(path.exists() and path.read_text() for path in pids))
    running.send_signal(signal.SIGINT)
    _, said = running.communicate(timeout=60)
    assert running.returncode == 130
    assert said.strip() == "Interrupted. The chapters that are finished need not run again."
    assert [path.name for path in (tmp_path / "runs").iterdir()] == ["fine.ipynb"]
    wait_for(lambda: not any(Path(f"/proc/{path.read_text()}").exists() for path in pids), seconds=20)


# ---- pages ----


@pytest.fixture
def press(tmp_path, monkeypatch):
    """Stands in for Jupyter Book: writes `content`, and ends with `code`."""

    class Press:
        content, code, began_anew = "whole", 0, None

        def run(self, command: list, **_) -> SimpleNamespace:
            made = Path(command[command.index("--path-output") + 1]) / "_build" / "html"
            self.began_anew = not made.exists()
            made.mkdir(parents=True, exist_ok=True)
            for name in ("index.html", "style.css"):
                (made / name).write_text(self.content)
            return SimpleNamespace(returncode=self.code)

    held = Press()
    monkeypatch.setattr(pages, "subprocess", SimpleNamespace(run=held.run, DEVNULL=None))
    monkeypatch.setattr(pages, "node_modules", lambda: None)
    monkeypatch.setattr(pages, "BUILD", tmp_path / "_build")
    return held


def test_a_damaged_page_is_mended(press):
    pages.main()
    html = pages.BUILD / "html"
    (html / "index.html").write_text("wh")
    (html / "gone.html").write_text("of a chapter that is no more")
    pages.main()
    assert not press.began_anew
    assert {path.name: path.read_text() for path in html.iterdir()} == {
        "index.html": "whole",
        "style.css": "whole",
    }


def test_a_failed_build_leaves_the_last_good_pages(press):
    pages.main()
    press.content, press.code = "half", 1
    with pytest.raises(SystemExit, match="The build failed, see above"):
        pages.main()
    assert {path.read_text() for path in (pages.BUILD / "html").iterdir()} == {"whole"}
    press.content, press.code = "new", 0
    pages.main()
    assert press.began_anew, "the draft of a failed build was used again"
    assert {path.read_text() for path in (pages.BUILD / "html").iterdir()} == {"new"}


REAL = """
import pathlib, sys, pages
pages.ROOT = pathlib.Path(sys.argv[1])
pages.BUILD, pages.node_modules = pages.ROOT / "_build", lambda: None
pages.main()
"""


def test_a_killed_build_does_not_break_the_next(tmp_path):
    """A real one, of a small book, killed while its pages are written."""
    (tmp_path / "_config.yml").write_text("title: A small book\n")
    (tmp_path / "_toc.yml").write_text("format: jb-book\nroot: a\nchapters: [{file: b}, {file: c}]\n")
    for name in "abc":
        (tmp_path / f"{name}.md").write_text(f"# Page {name}\n\nText.\n")
    command = [sys.executable, "-c", REAL, str(tmp_path)]
    running = subprocess.Popen(command, env=ENVIRONMENT, start_new_session=True)
    made = tmp_path / "_build" / "unfinished-html" / "_build"
    wait_for(lambda: (made / "html" / "a.html").exists() or running.poll() is not None)
    os.killpg(running.pid, signal.SIGKILL)
    running.wait()
    assert made.exists()
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
    with pytest.raises(SystemExit, match=r"Connect and try again\. npm says: nothing for") as raised:
        npm.node_modules()
    assert len(str(raised.value).splitlines()) <= 6
    assert not (tmp_path / "node_modules").exists()
