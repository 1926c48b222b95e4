"""The chapters: where they are, what is written in them, and the outputs of their last run."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from pathlib import Path

import jupytext
import nbformat

ROOT = Path(__file__).resolve().parents[2]
BOOK, BUILD = ROOT / "book", ROOT / "_build"
RUNS = BUILD / "runs"  # chapters that have run, until their notebooks are written
INDEX = "0-START-HERE"
HINT = "# Show the code\n"  # JupyterLab shows the first line of a folded cell
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python", "pygments_lexer": "ipython3"},
}


def source(name: str) -> Path:
    return BOOK / "source" / f"{name}.myst.md"


def target(name: str) -> Path:
    return BOOK / f"{name}.ipynb"


def chapters() -> list[str]:
    return sorted(path.name.removesuffix(".myst.md") for path in (BOOK / "source").glob("*.myst.md"))


def read_source(path: Path) -> nbformat.NotebookNode:
    """The cells of a chapter as written, without outputs."""
    notebook = jupytext.reads(path.read_text(encoding="utf-8"), fmt="md:myst")
    notebook.metadata = nbformat.from_dict(METADATA)
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    return name_cells(notebook)


def name_cells(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """Give cells ids that depend on nothing but their text: one put in does not rename those after it."""
    seen: Counter[str] = Counter()
    for cell in notebook.cells:
        digest = hashlib.sha256(cell.source.encode()).hexdigest()[:8]
        seen[digest] += 1
        cell["id"] = digest if seen[digest] == 1 else f"{digest}-{seen[digest]}"
    return notebook


def read_run(name: str) -> nbformat.NotebookNode:
    """A chapter's last run: the one whose notebook is not written yet, or else the notebook."""
    run = RUNS / f"{name}.ipynb"
    try:
        return nbformat.read(run if run.exists() else target(name), as_version=4)
    except (FileNotFoundError, ValueError, KeyError, AttributeError, nbformat.ValidationError):
        raise ValueError(f"book/{name}.ipynb is missing or damaged: run `make notebooks`") from None


def merge_outputs(notebook: nbformat.NotebookNode, run: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """`notebook` with the outputs of `run`, which must hold the same code."""
    new, old = ([cell for cell in each.cells if cell.cell_type == "code"] for each in (notebook, run))
    if [cell.source.removeprefix(HINT) for cell in new] != [cell.source.removeprefix(HINT) for cell in old]:
        raise ValueError("a stored notebook has other code than its source: run `make notebooks`")
    for cell, done in zip(new, old, strict=True):
        cell.outputs, cell.execution_count = done.outputs, done.execution_count
    return notebook


def with_outputs(name: str) -> nbformat.NotebookNode:
    """A chapter as written, with the outputs of its last run."""
    return merge_outputs(read_source(source(name)), read_run(name))


def as_text(notebook: nbformat.NotebookNode) -> str:
    return nbformat.writes(notebook) + "\n"


def write_whole(path: Path, text: str) -> None:
    """Write a file beside and put it in place: it is the old one or the new one, never half of it."""
    beside = path.with_name(f".{path.name}.part")
    try:
        beside.write_text(text, encoding="utf-8")
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)
