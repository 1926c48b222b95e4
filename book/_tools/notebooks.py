"""The Sphinx builder `notebook`: chapters in plain Markdown with a little HTML, for readers of notebooks.

JupyterLab, GitHub and VS Code know no MyST. So what Sphinx has made of it, numbers and references resolved,
is written down as what it means. Code and outputs are the stored ones. execute.py puts the files in place.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import nbformat
from contents import HINT, INDEX, METADATA, as_text, name_cells, with_outputs
from docutils import nodes
from formulas import ACTORS, display, expand
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.builders import Builder
from sphinx.config import Config
from sphinx.util.logging import getLogger

FOLDED = {"hide-input", "hide-cell", "remove-input", "remove-cell"}
COLLAPSED = "jp-MarkdownHeadingCollapsed"  # JupyterLab folds what follows such a heading
RUN = "*Run ▸ Run All Cells* brings the figures to life"
HOW = f"""The chapters in reading order. In a chapter, {RUN}. Code that is not the point is folded:
click on it. So are the solutions: a button below each heading opens one. Change a number, run its cell again,
and look."""
BOXES = {"remark": "#007ec6 solid", "experiment": "#8d65cb double", "exercise": "#c55900 dashed"}
BOX = "border-left: 4px {1} {0}; padding: 0.1em 1em; margin: 1em 0"
ASIDE = "font-size: 0.9em; padding-left: 1em; margin-left: 40%; border-left: 1px solid #777777"
MEANT = r"([\\`*$]|<(?=[\w/!])|(?<!\w)_|_(?!\w)|\](?=[(:]))"  # what Markdown would not take as it is
AROUND = {
    "emphasis": "*{}*",
    "strong": "**{}**",
    "literal_strong": "**`{}`**",
    "subscript": "<sub>{}</sub>",
    "superscript": "<sup>{}</sup>",
    "inline": "{}",
    "target": "{}",
}
MIMES = ("text/plain", "text/html", "image/png", "image/svg+xml", "application/vnd.jupyter.widget-view+json")


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
        lines = [f"# Start here: {index.title(root)}", "", HOW, "", f"- {index.link(root)}"]
        for part in self.env.get_doctree(root).findall(addnodes.toctree):
            lines += ["", f"**{part['caption']}**", ""]
            for _, docname in part["entries"]:
                number = self.env.toc_secnumbers.get(docname, {}).get("")
                lines.append(f"- {f'{number[0]}. ' if number else ''}{index.link(docname)}")
        cell = new_markdown_cell("\n".join(lines), id="contents")
        self.write_notebook(INDEX, new_notebook(cells=[cell], metadata=METADATA))

    def write_notebook(self, name: str, notebook: nbformat.NotebookNode) -> None:
        (Path(self.outdir) / f"{name}.ipynb").write_text(as_text(notebook), encoding="utf-8")


class Chapter:
    """One chapter. A method with the name of a node's class says what is written for it."""

    def __init__(self, builder: NotebookBuilder, docname: str):
        self.builder, self.env, self.docname = builder, builder.env, docname
        self.cells: list[nbformat.NotebookNode] = []
        self.parts: list[str] = []  # of the cell of text that is being written
        self.level, self.after_solution = 0, False

    def notebook(self, doctree: nodes.document, stored: nbformat.NotebookNode) -> nbformat.NotebookNode:
        self.code = [cell for cell in stored.cells if cell.cell_type == "code"]
        way = self.way() + (f" · {RUN}" if self.code else "")
        self.flow(doctree)
        self.cut()
        if self.code:
            raise ValueError(f"{self.docname}: {len(self.code)} code cells have no place in the text")
        self.cells[0].source = self.cells[0].source.replace("\n", f"\n\n{way}\n", 1)
        return name_cells(new_notebook(cells=self.cells, metadata=stored.metadata))

    # ---- cells ----

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

    # ---- numbers and places ----

    def number(self, kind: str, node: nodes.Element) -> str:
        numbers = self.env.toc_fignumbers.get(self.docname, {}).get(kind, {})
        return ".".join(map(str, numbers.get(node["ids"][0], ())))

    def section_number(self, node: nodes.section) -> str:
        place = "" if self.level == 1 else f"#{node['ids'][0]}"
        found = self.env.toc_secnumbers.get(self.docname, {}).get(place)
        return f"{'.'.join(map(str, found))}. " if found else ""

    def named(self, node: nodes.Element) -> str:
        kind = node.get("realtype", "exercise")
        return f"{kind.title()} {self.number(kind, node)}".strip()

    def place(self, node: nodes.Element) -> str:
        """Where a reference leads: to a label or the key of a citation, not to Sphinx's numbers for them."""
        file, sharp, label = node.get("refuri", f"#{node.get('refid')}").partition("#")
        return file + sharp + self.builder.keys.get(label, label.removeprefix("equation-"))

    def title(self, docname: str) -> str:
        return self.words(self.env.titles[docname])

    def link(self, docname: str) -> str:
        return f"[{self.title(docname)}]({self.builder.get_relative_uri(self.docname, docname)})"

    def way(self) -> str:
        """The line below a title: the chapter before, the contents, the chapter after."""
        _, before, after = self.builder.relations[self.docname]
        links = [f"← {self.link(before)}"] if before else []
        links += [f"[contents]({INDEX}.ipynb)", *([f"{self.link(after)} →"] if after else [])]
        return " · ".join(links)

    # ---- blocks ----

    def blocks(self, content: Iterable[nodes.Element], between: str = "\n\n") -> str:
        return between.join(filter(None, map(self.block, content)))

    def block(self, node: nodes.Element) -> str:
        if "countertype" in node:  # theorems and their like
            return self.box(node["realtype"], self.named(node) + self.words(node[0]), node, node[1])
        written = getattr(self, type(node).__name__, self.unknown)
        return written(node)

    def unknown(self, node: nodes.Element) -> str:
        kind = type(node).__name__
        getLogger(__name__).warning(
            "book/_tools/notebooks.py knows no plain form of <%s>", kind, location=node
        )
        return node.astext()

    def box(self, kind: str, title: str, node: nodes.Element, content: Iterable[nodes.Element]) -> str:
        """A quotation, which has a line at its left everywhere, even where its style is dropped."""
        style = BOX.format(*BOXES.get(kind, "#777777 solid").split())
        body = self.blocks(content)
        if "dropdown" in node["classes"]:
            body = f"<details><summary><b>{title}</b></summary>\n\n{body}\n\n</details>"
        elif title:
            body = f"**{title}**\n\n{body}"
        place = f' id="{node["label"]}"' if "label" in node else ""
        return f'<blockquote{place} class="lsa-{kind}" style="{style}">\n\n{body}\n\n</blockquote>'

    def proof_node(self, node: nodes.Element) -> str:
        (proof,) = node
        first = proof[0][0]  # sphinx-proof has put "Proof. " before the first word
        proof[0].replace(first, nodes.Text(first.removeprefix("Proof. ")))
        return self.box("proof", "Proof", proof, proof)

    def admonition(self, node: nodes.Element) -> str:
        return self.box("admonition", self.words(node[0]), node, node[1:])

    def sidebar(self, node: nodes.Element) -> str:
        return f'<aside style="{ASIDE}">\n\n{self.blocks(node[1:])}\n\n</aside>'

    def target(self, node: nodes.Element) -> str:
        label = node.get("refid", "equation-")
        return "" if label.startswith("equation-") else anchor(label)

    def paragraph(self, node: nodes.Element) -> str:
        return re.sub(r"^(\d+(?=[.)] )|(?=[-+#>] ))", r"\1\\", self.words(node), flags=re.M)  # it is no list

    def math_block(self, node: nodes.Element) -> str:
        if not node.get("label"):
            return display(node.astext(), "")
        return f"{anchor(node['label'])}\n\n{display(node.astext(), self.number('displaymath', node))}"

    def literal_block(self, node: nodes.Element) -> str:
        return f"```{node.get('language', '').replace('default', '')}\n{node.astext()}\n```"

    def bullet_list(self, node: nodes.Element) -> str:
        return self.items(node, ["-"] * len(node))

    def enumerated_list(self, node: nodes.Element) -> str:
        return self.items(node, [f"{i}." for i, _ in enumerate(node, node.get("start", 1))])

    def items(self, node: nodes.Element, marks: list[str]) -> str:
        texts = [f"{mark} {self.blocks(item)}" for mark, item in zip(marks, node, strict=True)]
        tight = all(len(item) == 1 for item in node)
        return ("\n" if tight else "\n\n").join(set_in(text, len(marks[0]) + 1) for text in texts)

    def table(self, node: nodes.Element) -> str:
        rows = [[self.blocks(entry).replace("|", r"\|") for entry in row] for row in node.findall(nodes.row)]
        head, *body = [f"| {' | '.join(row)} |" for row in rows]
        return "\n".join([head, "|" + "---|" * len(rows[0]), *body])

    def citation(self, node: nodes.Element) -> str:
        text = " ".join(self.blocks(node[1:]).split())
        return f'- <span id="{self.builder.keys[node["ids"][0]]}"></span>{text}'

    def container(self, node: nodes.Element) -> str:
        return self.blocks(node, "\n")  # the literature

    def compound(self, node: nodes.Element) -> str:
        return self.blocks(node)

    def desc(self, node: nodes.Element) -> str:  # of a function or a class
        signature, content = node
        place = f'<span id="{signature["ids"][0]}"></span>' if signature["ids"] else ""
        return set_in(f"- {place}**`{signature.astext()}`**\n\n{self.blocks(content)}".rstrip(), 2)

    def index(self, node: nodes.Element) -> str:
        return ""

    field_list = field = field_body = compound
    field_name = comment = index

    # ---- words ----

    def words(self, content: Iterable[nodes.Node]) -> str:
        return "".join(map(self.word, content))

    def word(self, node: nodes.Node) -> str:
        if isinstance(node, nodes.Text):
            return re.sub(MEANT, r"\\\1", node.astext())
        if isinstance(node, nodes.math):
            tex = re.sub(r"\s+", " ", expand(node.astext()).strip())
            return f"${tex} $" if tex.endswith("\\") else f"${tex}$"  # "\ " is a space
        if isinstance(node, nodes.literal):
            return f"`{node.astext()}`"
        said = self.words(node)
        if isinstance(node, nodes.reference | addnodes.number_reference):
            return f"[{said}]({self.place(node)})"
        for colour, line in [ACTORS[each[4:]] for each in node["classes"] if each.startswith("lsa-")]:
            style = f"border-bottom: 2px {line}" + (f" {colour}; color: {colour}" if colour else "")
            return f'<span style="{style}">{said}</span>'
        around = AROUND.get(type(node).__name__)
        return around.format(said) if around else self.unknown(node)


def anchor(label: str) -> str:
    return f'<div id="{label}"></div>'


def set_in(text: str, by: int) -> str:
    """All lines but the first."""
    return re.sub(r"\n(?!\n)", "\n" + " " * by, text)


def take_any_output(app: Sphinx, config: Config) -> None:
    """myst-nb asks which form of an output a builder prefers; this one looks at none."""
    config.nb_mime_priority_overrides = [
        *config.nb_mime_priority_overrides,
        *(("notebook", each, 1) for each in MIMES),
    ]


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_builder(NotebookBuilder)
    app.connect("config-inited", take_any_output, priority=1)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
