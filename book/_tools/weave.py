"""Joins text and outputs: MyST with outputs for the pages, plain Markdown with outputs for the notebooks."""

from __future__ import annotations

import nbformat
from contents import METADATA, read_source, source, target
from nbformat.v4 import new_markdown_cell, new_notebook
from plain import HINT, Page, index


def give_outputs(notebook: nbformat.NotebookNode, run: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """`notebook` with the outputs of `run`, which must hold the same code."""
    new, old = ([cell for cell in each.cells if cell.cell_type == "code"] for each in (notebook, run))
    if [cell.source.removeprefix(HINT) for cell in new] != [cell.source.removeprefix(HINT) for cell in old]:
        raise ValueError("a stored notebook has other code than its source: run `make notebooks`")
    for cell, done in zip(new, old, strict=True):
        cell.outputs, cell.execution_count = done.outputs, done.execution_count
    notebook.metadata = run.metadata
    return notebook


def stored(name: str) -> nbformat.NotebookNode:
    """A chapter's notebook as it is stored."""
    try:
        return nbformat.read(target(name), as_version=4)
    except (FileNotFoundError, ValueError, KeyError, AttributeError, nbformat.ValidationError):
        raise ValueError(f"book/{name}.ipynb is missing or damaged: run `make notebooks`") from None


def for_the_page(name: str) -> nbformat.NotebookNode:
    """A chapter as written, with the stored outputs."""
    return give_outputs(read_source(source(name)), stored(name))


def join_folded(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """Folded cells in a row as one: a reader of the page meets one line, “Show the code”, not several."""
    joined: list[nbformat.NotebookNode] = []
    for cell in notebook.cells:
        if joined and _folded(joined[-1]) and not joined[-1].outputs and _folded(cell):
            cell.source = f"{joined.pop().source}\n\n{cell.source}"
        joined.append(cell)
    notebook.cells = joined
    return notebook


def _folded(cell: nbformat.NotebookNode) -> bool:
    return cell.cell_type == "code" and bool({"hide-input", "hide-cell"} & set(cell.metadata.get("tags", [])))


def for_the_notebook(name: str, run: nbformat.NotebookNode | None = None) -> str:
    """The file of a chapter's notebook, with the outputs of `run`, or else the stored ones."""
    return write(give_outputs(Page(name).notebook(read_source(source(name))), run or stored(name)))


def for_the_index() -> str:
    """The file of the notebook that lists all others."""
    return write(new_notebook(cells=[new_markdown_cell(index(), id="contents")], metadata=METADATA))


def write(notebook: nbformat.NotebookNode) -> str:
    return nbformat.writes(notebook) + "\n"
