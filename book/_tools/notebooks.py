"""The Sphinx builder `notebook`: chapters for JupyterLab, GitHub and VS Code, which know no MyST.

Their text is what Sphinx has made of it, numbers and references resolved, in plain Markdown. Their code and
outputs are the stored ones. execute.py puts the files in place.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import nbformat
from contents import HINT, INDEX, METADATA, as_text, name_cells, with_outputs
from docutils import nodes
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from plain_markdown import Markdown, anchor
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.builders import Builder
from sphinx.config import Config

FOLDED = {"hide-input", "hide-cell", "remove-input", "remove-cell"}
COLLAPSED = "jp-MarkdownHeadingCollapsed"  # JupyterLab folds what follows such a heading
RUN = "*Run ▸ Run All Cells* brings the figures to life"
HOW = f"""The chapters in reading order. In a chapter, {RUN}. Code that is not the point is folded:
click on it. So are the solutions: a button below each heading opens one. Change a number, run its cell again,
and look."""
MIMES = ("text/plain", "text/html", "image/png", "image/svg+xml")


class NotebookBuilder(Builder):
    name = format = "notebook"

    def get_outdated_docs(self) -> Iterable[str]:
        return self.env.found_docs  # all: a number that has changed may be named in any of them

    def get_target_uri(self, docname: str, typ: str | None = None) -> str:
        return f"{docname}.ipynb"

    def prepare_writing(self, docnames: set[str]) -> None:
        self.relations = self.env.collect_relations()
        self.keys = {each.citation_id: each.key for each in self.env.get_domain("cite").citations}

    def write_doc(self, docname: str, doctree: nodes.document) -> None:
        name = Path(docname).name
        self.write_notebook(name, Chapter(self, docname).notebook(doctree, with_outputs(name)))

    def finish(self) -> None:
        root = self.config.root_doc
        index = Chapter(self, f"{Path(root).parent}/{INDEX}")
        lines = [f"# Start here: {index.title_of(root)}", "", HOW, "", f"- {index.link(root)}"]
        for part in self.env.get_doctree(root).findall(addnodes.toctree):
            lines += ["", f"**{part['caption']}**", ""] if part["caption"] else []
            for _, docname in part["entries"]:
                number = self.env.toc_secnumbers.get(docname, {}).get("")
                lines.append(f"- {f'{number[0]}. ' if number else ''}{index.link(docname)}")
        cell = new_markdown_cell("\n".join(lines), id="contents")
        self.write_notebook(INDEX, new_notebook(cells=[cell], metadata=METADATA))

    def write_notebook(self, name: str, notebook: nbformat.NotebookNode) -> None:
        (Path(self.outdir) / f"{name}.ipynb").write_text(as_text(notebook), encoding="utf-8")


class Chapter(Markdown):
    """The cells of one chapter."""

    cells: list[nbformat.NotebookNode]
    parts: list[str]  # of the cell of text that is being written

    def notebook(self, doctree: nodes.document, stored: nbformat.NotebookNode) -> nbformat.NotebookNode:
        self.cells, self.parts, self.after_solution = [], [], False
        self.code = [cell for cell in stored.cells if cell.cell_type == "code"]
        way = self.way() + (f" · {RUN}" if self.code else "")
        self.flow(doctree)
        self.cut()
        if self.code:
            raise ValueError(f"{self.docname}: {len(self.code)} code cells have no place in the text")
        self.cells[0].source = self.cells[0].source.replace("\n", f"\n\n{way}\n", 1)
        return name_cells(new_notebook(cells=self.cells, metadata=stored.metadata))

    def flow(self, content: Iterable[nodes.Element]) -> None:
        """Write nodes that may hold code; cut where JupyterLab is to fold: from a heading up to the next."""
        for node in content:
            kind = type(node).__name__
            if kind == "section":
                self.level, self.after_solution = self.level + 1, False
                self.parts.append(f"{'#' * self.level} {self.section_number(node)}{self.words(node[0])}")
                self.flow(node[1:])
                self.level -= 1
            elif kind == "solution_node":
                self.cut()
                exercise = node[0][1]
                self.parts.append(f"#### Solution to [{exercise[0].strip()}]({self.place(exercise)})")
                self.cut(**{COLLAPSED: True})
                self.flow(node[1])
                self.cut()
                self.after_solution = True
            elif kind == "exercise_enumerable_node":
                self.cut()
                title = " · ".join(filter(None, [self.named(node), self.words(node[0][1:-1])]))
                self.parts += [f"### {title}", self.box("exercise", "", node, node[1])]
                self.after_solution = False
            elif node.get("nb_element") == "cell_code":
                self.cut()
                self.code_cells(node)
            elif text := self.block(node):
                self.parts.append(self.after(node, text) if self.after_solution else text)

    def cut(self, **metadata: bool) -> None:
        if self.parts:
            self.cells.append(new_markdown_cell("\n\n".join(self.parts), metadata=metadata))
        self.parts = []

    def after(self, node: nodes.Element, text: str) -> str:
        """What follows a solution: with a heading, or it would be folded with it."""
        self.after_solution = isinstance(node, nodes.target)
        if isinstance(node, nodes.admonition):
            return f"## {self.words(node[0])}\n\n{self.box('admonition', '', node, node[1:])}"
        return text if self.after_solution else f"### …\n\n{text}"

    def code_cells(self, node: nodes.Element) -> None:
        """The cells up to this one, for the page joins folded cells in a row, and the caption of a figure."""
        while self.code and self.code[0].execution_count <= node["exec_count"]:
            cell = self.code.pop(0)
            tags = cell.metadata.get("tags", [])
            metadata = {"tags": tags} if tags else {}
            if FOLDED & set(tags):
                cell.source, metadata["jupyter"] = HINT + cell.source, {"source_hidden": True}
            self.cells.append(new_code_cell(**{**cell, "metadata": metadata}))
        for figure in node.findall(nodes.figure):
            (caption,) = figure.findall(nodes.caption)
            number = f"**Fig. {self.number('figure', figure)}**"
            self.parts += [anchor(figure["ids"][0]), f"{number} · {self.words(caption)}"]
            self.cut()


def take_any_output(app: Sphinx, config: Config) -> None:
    """myst-nb asks which form of an output a builder prefers; this one looks at none."""
    any_of_them = [("notebook", each, 1) for each in MIMES]
    config.nb_mime_priority_overrides = [*config.nb_mime_priority_overrides, *any_of_them]


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_builder(NotebookBuilder)
    app.connect("config-inited", take_any_output, priority=1)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
