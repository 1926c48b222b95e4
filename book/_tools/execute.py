"""Run the chapters: book/x.myst.md is the text, book/x.ipynb the text with its outputs.

    python book/_tools/execute.py [--check] [--force] [names ...]

The same sources give the same bytes. A chapter runs again when its text, `lsa` or this tool has changed since
its notebook was written; a record of that is kept in _build/notebooks.json, nothing of it in the notebooks.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import os
import re
import sys
import time
from pathlib import Path

import jupytext
import nbformat
import yaml
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

ROOT = Path(__file__).resolve().parents[2]
BOOK = ROOT / "book"
RECORD = ROOT / "_build" / "notebooks.json"
WIDGETS = "application/vnd.jupyter.widget-state+json"

# What the kernels see: widgets draw every frame (lsa.explore); one thread each and a fixed hash seed, because
# the order of a sum or of a set would show in the last digit of an output.
ENVIRONMENT = {"LSA_PUBLISH": "1", "OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0"}


def chapters() -> list[str]:
    return sorted(path.name.removesuffix(".myst.md") for path in BOOK.glob("*.myst.md"))


def source(name: str) -> Path:
    return BOOK / f"{name}.myst.md"


def target(name: str) -> Path:
    return BOOK / f"{name}.ipynb"


def macros() -> str:
    """The macros of _config.yml for JupyterLab, which does not read it; sphinx_book.py drops them again."""
    config = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    found = config["sphinx"]["config"]["mathjax3_config"]["tex"]["macros"]
    lines = []
    for name, meaning in found.items():
        text, count = meaning if isinstance(meaning, list) else (meaning, 0)
        lines.append(rf"\newcommand{{\{name}}}{f'[{count}]' if count else ''}{{{text}}}")
    return f"<div hidden>${' '.join(lines)}$</div>\n\n"  # one line: a block of HTML, not of text


def read_source(path: Path) -> nbformat.NotebookNode:
    """The cells of a chapter as written, without outputs, with ids that depend on nothing but their text."""
    notebook = jupytext.reads(path.read_text(encoding="utf-8"), fmt="md:myst")
    notebook.metadata = nbformat.from_dict({
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python", "pygments_lexer": "ipython3"},
    })
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    if notebook.cells and notebook.cells[0].cell_type == "markdown":
        notebook.cells[0].source = macros() + notebook.cells[0].source
    seen: dict[str, int] = {}
    for cell in notebook.cells:
        # a hash rather than a number: a cell put in does not rename those after it
        digest = hashlib.sha256(cell.source.encode()).hexdigest()[:8]
        seen[digest] = seen.get(digest, 0) + 1
        cell["id"] = digest if seen[digest] == 1 else f"{digest}-{seen[digest]}"
    return notebook


async def execute(path: Path) -> str:
    """The text of the executed notebook of the chapter at `path`."""
    notebook = read_source(path)
    metadata = notebook.metadata.copy()
    client = NotebookClient(
        notebook, timeout=600, kernel_name="python3", resources={"metadata": {"path": str(path.parent)}},
        record_timing=False, coalesce_streams=True, extra_arguments=["--log-level=ERROR"],
    )
    await client.async_execute(env={**os.environ, **ENVIRONMENT})
    widgets = notebook.metadata.get("widgets")  # the kernel also reports versions of its own: not kept
    notebook.metadata = nbformat.from_dict({**metadata, **({"widgets": widgets} if widgets else {})})
    # widget models get ids in the order of their creation, which is nbclient's, instead of random ones
    models = widgets[WIDGETS]["state"] if widgets else {}
    ids = {old: f"{i:032x}" for i, old in enumerate(models)}
    text = re.sub("[0-9a-f]{32}", lambda match: ids.get(match[0], match[0]), json.dumps(notebook))
    return nbformat.writes(nbformat.reads(text, as_version=4)) + "\n"


def fingerprint(name: str) -> str:
    """A hash of everything that decides what a chapter's notebook should be, and of the notebook as it is."""
    package = sorted((ROOT / "lsa").rglob("*.py"))
    text = source(name).read_text(encoding="utf-8")
    data = [path for path in (ROOT / "benchmarks").glob("*.json") if path.name in text]
    digest = hashlib.sha256()
    settings = [ROOT / "constraints.txt", ROOT / "_config.yml"]
    for part in [source(name), target(name), Path(__file__), *settings, *package, *data]:
        content = part.read_bytes() if part.exists() else b""
        digest.update(f"{part.relative_to(ROOT)} {len(content)}\n".encode() + content)
    return digest.hexdigest()


def read_record() -> dict[str, str]:
    return json.loads(RECORD.read_text()) if RECORD.exists() else {}


def write_record(name: str) -> None:
    RECORD.parent.mkdir(exist_ok=True)
    RECORD.write_text(json.dumps({**read_record(), name: fingerprint(name)}, indent=1, sort_keys=True) + "\n")


def stale(names: list[str]) -> list[str]:
    record = read_record()
    return [name for name in names if record.get(name) != fingerprint(name)]


async def run(names: list[str], check: bool = False) -> list[str]:
    """Execute chapters, two at a time, and store them, or compare with what is stored; returns the failed."""
    two = asyncio.Semaphore(2)
    failed: list[str] = []

    async def one(name: str) -> None:
        async with two:
            start = time.perf_counter()
            try:
                text = await execute(source(name))
            except CellExecutionError as error:
                print(f"{name}: a cell failed\n{error}", file=sys.stderr)
                failed.append(name)
                return
        seconds = f"{time.perf_counter() - start:.1f} s"
        same = target(name).exists() and target(name).read_text(encoding="utf-8") == text
        if check and not same:
            failed.append(name)
        elif not check:
            if not same:
                target(name).write_text(text, encoding="utf-8")
            write_record(name)
        print(f"{name}: {'the same' if same else 'DIFFERS' if check else 'written'}, {seconds}", flush=True)

    await asyncio.gather(*map(one, names))
    return failed


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Run the chapters and store their outputs.")
    parser.add_argument("names", nargs="*", help="chapters, such as setup; all of them if none is named")
    parser.add_argument("--check", action="store_true", help="run all and compare to the byte; write nothing")
    parser.add_argument("--force", action="store_true", help="run even what has not changed")
    options = parser.parse_args(arguments)
    names = options.names or chapters()
    if unknown := sorted(set(names) - set(chapters())):
        parser.error(f"no such chapter: {', '.join(unknown)}; there are {', '.join(chapters())}")
    todo = names if options.check or options.force else stale(names)
    failed = asyncio.run(run(todo, check=options.check))
    print(f"{len(names) - len(todo)} unchanged, {len(todo) - len(failed)} fine, {len(failed)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
