"""Run the chapters: book/source/x.myst.md is the text, book/x.ipynb the same, plain, with its outputs.

    python book/_tools/execute.py [--check] [--force] [--adopt] [names ...]

The same sources give the same bytes on the same kind of machine. A chapter runs again when its code, `lsa` or
this tool has changed since its notebook was written; a record of that is kept in _build/notebooks.json,
nothing of it in the notebooks. Where the text alone has changed, the stored outputs are kept. A chapter that
fails costs no other its work, and its old notebook stays.
"""

from __future__ import annotations

import argparse
import asyncio
import atexit
import contextlib
import hashlib
import json
import os
import re
import sys
import time
from pathlib import Path

import nbformat
from contents import BOOK, METADATA, ROOT, chapters, read_source, source, target
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, DeadKernelError
from plain import INDEX
from trouble import Trouble, in_words, write_whole
from weave import for_the_index, for_the_notebook, for_the_page

from lsa.show.live.widget import STUB
from lsa.show.thumbnail import lighter

RECORD = ROOT / "_build" / "notebooks.json"
WIDGETS = "application/vnd.jupyter.widget-state+json"

# What the kernels see: widgets draw every frame (lsa.explore); one thread each and a fixed hash seed, because
# the order of a sum or of a set would show in the last digit of an output.
ENVIRONMENT = {"LSA_PUBLISH": "1", "OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0"}


class Loop(asyncio.SelectorEventLoop):
    """Leaves Ctrl-C to asyncio, which cancels all chapters; nbclient would end one kernel of two."""

    def add_signal_handler(self, *_: object) -> None:
        raise RuntimeError("not here")  # as in a thread: nbclient does without

    remove_signal_handler = add_signal_handler


async def execute(path: Path) -> nbformat.NotebookNode:
    """The chapter at `path` as written, with the outputs of its cells."""
    notebook = read_source(path)
    if all(cell.cell_type == "markdown" for cell in notebook.cells):
        return notebook
    client = NotebookClient(
        notebook,
        timeout=600,
        kernel_name="python3",
        resources={"metadata": {"path": str(BOOK)}},
        record_timing=False,
        coalesce_streams=True,
        extra_arguments=["--log-level=ERROR"],
        shutdown_kernel="immediate",  # interrupted gracefully, it would print where
    )
    try:
        await client.async_execute(env={**os.environ, **ENVIRONMENT})
    except DeadKernelError:
        if asyncio.current_task().cancelling():  # Ctrl-C, which nbclient takes for a death
            raise asyncio.CancelledError from None
        raise Trouble("its kernel died (is there too little memory?); run it again") from None
    finally:
        if client.km is None:  # the kernel is gone; after Ctrl-C nbclient may still want to end it at exit
            atexit.unregister(client._cleanup_kernel)
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            if "image/png" in output.get("data", {}):
                output.data["image/png"] = lighter(output.data["image/png"])
    widgets = notebook.metadata.get("widgets")  # the kernel also reports versions of its own: not kept
    models = widgets[WIDGETS]["state"] if widgets else {}
    for model in models.values():
        if "_esm" in model["state"]:  # the same for every figure, and for the page in a file of its own
            model["state"]["_esm"] = STUB
    notebook.metadata = nbformat.from_dict({**METADATA, **({"widgets": widgets} if widgets else {})})
    # widget models get ids in the order of their creation, which is nbclient's, instead of random ones
    ids = {old: f"{i:032x}" for i, old in enumerate(models)}
    text = re.sub("[0-9a-f]{32}", lambda match: ids.get(match[0], match[0]), json.dumps(notebook))
    return nbformat.reads(text, as_version=4)


def fingerprint(name: str) -> str:
    """A hash of everything that decides what a chapter's outputs should be, and of the notebook as it is."""
    package = sorted(path for path in (ROOT / "lsa").rglob("*") if path.suffix in (".py", ".js", ".json"))
    code = [cell.source for cell in read_source(source(name)).cells if cell.cell_type == "code"]
    data = [path for path in (ROOT / "benchmarks").glob("*.json") if path.name in "".join(code)]
    digest = hashlib.sha256(json.dumps(code).encode())
    for part in [target(name), Path(__file__), ROOT / "constraints.txt", *package, *data]:
        content = part.read_bytes() if part.exists() else b""
        digest.update(f"{part.relative_to(ROOT)} {len(content)}\n".encode() + content)
    return digest.hexdigest()


def read_record() -> dict[str, str]:
    """The fingerprints of the stored notebooks; of none, if the record is missing or was cut short."""
    try:
        return dict(json.loads(RECORD.read_text(encoding="utf-8")))
    except (FileNotFoundError, ValueError, TypeError):
        return {}


def write_record(name: str) -> None:
    RECORD.parent.mkdir(exist_ok=True)
    record = {**read_record(), name: fingerprint(name)}
    write_whole(RECORD, json.dumps(record, indent=1, sort_keys=True) + "\n")


def adopt(names: list[str]) -> None:
    """Take a stored notebook with the code of its source for up to date, if nothing is recorded of it."""
    for name in set(names) - set(read_record()):
        with contextlib.suppress(ValueError):
            for_the_page(name)
            write_record(name)


def stale(names: list[str]) -> list[str]:
    record = read_record()
    return [name for name in names if record.get(name) != fingerprint(name)]


async def run(names: list[str], check: bool = False) -> list[str]:
    """Execute chapters, two at a time, and store them, or compare with what is stored; returns the failed."""
    two = asyncio.Semaphore(2)
    failed: list[str] = []

    async def one(name: str) -> None:
        try:
            async with two:
                start = time.perf_counter()
                text = for_the_notebook(name, await execute(source(name)))
                seconds = time.perf_counter() - start
            same = is_stored(target(name), text)
            if check and not same:
                failed.append(name)
            elif not check:
                write_whole(target(name), text)
                write_record(name)
            result = "the same" if same else "DIFFERS" if check else "written"
            print(f"{name}: {result}, {seconds:.1f} s", flush=True)
        except (CellExecutionError, Trouble, RuntimeError, OSError, ValueError) as error:
            print(f"{name}: {in_words(error)}", file=sys.stderr, flush=True)
            failed.append(name)

    await asyncio.gather(*map(one, names))
    return failed


def is_stored(path: Path, text: str) -> bool:
    return path.exists() and path.read_text(encoding="utf-8") == text


def write_texts(names: list[str]) -> None:
    """Bring the text of chapters up to date that need not run, and the index."""
    for name in names:
        text = for_the_notebook(name)
        if not is_stored(target(name), text):
            write_whole(target(name), text)
            write_record(name)
            print(f"{name}: its text written")
    write_whole(BOOK / f"{INDEX}.ipynb", for_the_index())


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Run the chapters and store their outputs.")
    parser.add_argument("names", nargs="*", help="chapters, such as setup; all of them if none is named")
    parser.add_argument("--check", action="store_true", help="run all and compare to the byte; write nothing")
    parser.add_argument("--force", action="store_true", help="run even what has not changed")
    parser.add_argument("--adopt", action="store_true", help="trust stored outputs of the same code (serve)")
    options = parser.parse_args(arguments)
    names = options.names or chapters()
    if unknown := sorted(set(names) - set(chapters())):
        parser.error(f"no such chapter: {', '.join(unknown)}; there are {', '.join(chapters())}")
    if options.adopt:
        adopt(names)
    todo = names if options.check or options.force else stale(names)
    with asyncio.Runner(loop_factory=Loop) as runner:
        failed = runner.run(run(todo, check=options.check))
    if not options.check:
        write_texts([name for name in names if name not in todo])
    print(f"{len(names) - len(todo)} unchanged, {len(todo) - len(failed)} fine, {len(failed)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
