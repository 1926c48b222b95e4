"""A chapter as plain Markdown with a little HTML, for readers of notebooks: JupyterLab, GitHub, VS Code.

None of them knows MyST. So the notebooks hold what it means: boxes with their titles and numbers, references
by name with a link, formulas without macros. The pages are made from the MyST itself.
"""

from __future__ import annotations

import re

import nbformat
from contents import FORMULA, PROVEN, UNNUMBERED, Block, Label, contents, labels, name_cells, parse
from formulas import ACTORS, PALETTE, display, expand
from lookup import bibliography, cite, defined_in, overview
from nbformat.v4 import new_code_cell, new_markdown_cell

INDEX = "0-START-HERE"
FOLDED = {"hide-input", "hide-cell", "remove-input", "remove-cell"}
HINT = "# Show the code\n"  # JupyterLab shows the first line of a folded cell
COLLAPSED = "jp-MarkdownHeadingCollapsed"  # JupyterLab folds what follows such a heading
RUN = "*Run ▸ Run All Cells* brings the figures to life"
GREY = "#777777 solid"
BOXES = {
    kind: f"{PALETTE[name]['both']} {PALETTE[name]['line']}"
    for kind, name in {"remark": "layer", "experiment": "experiment", "exercise": "gd"}.items()
}
HOW = f"""The chapters in reading order. In a chapter, {RUN}. Code that is not the point is folded:
click on it. So are the solutions: a button below each heading opens one. Change a number, run its cell again,
and look."""
NOTES = ("admonition", "note", "tip", "important", "warning", "dropdown")
INLINE = re.compile(
    r"\{(?P<role>[\w:-]+)\}(?P<tick>`+)(?P<said>.+?)(?P=tick)"
    r"|(?P<mark>`+).+?(?<!`)(?P=mark)(?!`)"
    r"|(?<![\\$])\$(?P<math>[^\s$](?:[^$]*[^\s$\\])?)\$(?!\$)",
    flags=re.S,
)


class Page:
    """The plain form of one chapter."""

    def __init__(self, name: str):
        self.name = name
        self.number = {chapter.name: chapter.number for chapter in contents()}.get(name)
        self.sections = [0, 0, 0]
        self.after_solution = False

    def notebook(self, source: nbformat.NotebookNode) -> nbformat.NotebookNode:
        """The notebook of the chapter, without outputs: its code as it is, its text plain."""
        plain = nbformat.from_dict({**source, "cells": []})
        for cell in source.cells:
            if cell.cell_type == "markdown":
                plain.cells += self.text_cells(cell.source)
                continue
            plain.cells.append(code_cell(cell))
            if figure := cell.metadata.get("mystnb", {}).get("figure"):
                plain.cells.append(new_markdown_cell(self.caption(figure)))
        alive = " · " + RUN if any(cell.cell_type == "code" for cell in plain.cells) else ""
        plain.cells[0].source = plain.cells[0].source.replace("\n", f"\n\n{way(self.name)}{alive}\n", 1)
        return name_cells(plain)

    def text_cells(self, text: str) -> list[nbformat.NotebookNode]:
        """A text, cut where JupyterLab is to fold: it hides the cells below a heading, up to the next."""
        cells: list[nbformat.NotebookNode] = []
        parts: list[str] = []

        def cut(**metadata: bool) -> None:
            if written := "\n\n".join(filter(None, parts)):
                cells.append(new_markdown_cell(written, metadata=metadata))
            parts.clear()

        for block in parse(text):
            if block.kind == "solution-start":
                cut()
                parts.append(f"#### Solution to {self.refer(block.argument.strip())}")
                cut(**{COLLAPSED: True})
            elif block.kind == "solution-end":
                cut()
                self.after_solution = True
            elif block.kind == "exercise":
                cut()
                parts += [f"### {self.title(block)}", self.box("exercise", "", block)]
                self.after_solution = False
            elif block.kind != "text" or block.text.strip():
                parts.append(self.after(block) if self.after_solution else self.block(block))
        cut()
        return cells

    def after(self, block: Block) -> str:
        """What follows a solution: with a heading, or it would be folded with it."""
        self.after_solution = False
        if block.kind == "admonition":
            return f"## {self.inline(block.argument)}\n\n{self.box('admonition', '', block)}"
        return self.block(block) if block.text.lstrip().startswith("#") else f"### …\n\n{self.block(block)}"

    def blocks(self, text: str) -> str:
        return "\n\n".join(filter(None, map(self.block, parse(text))))

    def block(self, block: Block) -> str:
        kind = block.kind
        if kind == "code":
            return block.text
        if kind == "text":
            return self.text(block.text)
        if kind in UNNUMBERED:
            return self.box("proof", self.title(block), block)
        if kind.startswith(PROVEN):
            return self.box(kind.removeprefix(PROVEN), self.title(block), block)
        if kind in NOTES:
            return self.box(kind, self.inline(block.argument) or kind.capitalize(), block)
        if kind == "margin":
            style = "font-size: 0.9em; padding-left: 1em; margin-left: 40%; border-left: 1px solid #777777"
            return f'<aside style="{style}">\n\n{self.blocks(block.text)}\n\n</aside>'
        if kind == "grid":
            return "\n".join(map(self.block, parse(block.text)))
        if kind == "grid-item-card":
            place = f"[{self.inline(block.argument)}]({block.options['link']}.ipynb)"
            return f"- **{place}**: {' '.join(self.blocks(block.text).split())}"
        if kind == "bibliography":
            return bibliography()
        if kind == "eval-rst" and (module := re.fullmatch(r"\.\. automodule:: ([\w.]+)", block.text)):
            return overview(module[1])
        raise ValueError(f"{self.name}: book/_tools/plain.py knows no plain form of the directive {{{kind}}}")

    def text(self, text: str) -> str:
        text = re.sub(r"^\(([\w:-]+)\)=$", r'<div id="\1"></div>\n', text, flags=re.M)
        if indented := re.search(r"^[ \t]+\$\$", text, flags=re.M):
            raise ValueError(f"{self.name}: a formula that is set in: {text[indented.start() :][:60]!r}")
        text, *rest = FORMULA.split(text)  # then formula, label, text, formula, ...
        shown = [self.inline(self.number_headings(text))]
        for formula, label, text in zip(*[iter(rest)] * 3, strict=True):
            shown += [display(formula, label), self.inline(self.number_headings(text))]
        return "".join(shown).strip("\n")

    def number_headings(self, text: str) -> str:
        def number(found: re.Match) -> str:
            level = len(found[1]) - 1
            if level:
                self.sections[level - 1 :] = [self.sections[level - 1] + 1, *[0] * (3 - level)]
            numbers = [self.number, *self.sections[:level]]
            return f"{found[1]} {'.'.join(map(str, numbers))}. {found[2]}"

        return text if self.number is None else re.sub(r"^(#{1,4}) (.*)$", number, text, flags=re.M)

    def title(self, block: Block) -> str:
        """The title of a theorem or an exercise, with its number."""
        label = block.options.get("label")
        name = self.look_up(label).text if label else block.kind.removeprefix(PROVEN).capitalize()
        return " · ".join(filter(None, [name, self.inline(block.argument)]))

    def box(self, kind: str, title: str, block: Block) -> str:
        """A quotation, which has a line at its left everywhere, even where its style is dropped."""
        colour, line = BOXES.get(kind, GREY).split()
        style = f"border-left: 4px {line} {colour}; padding: 0.1em 1em; margin: 1em 0"
        label = block.options.get("label")
        body = self.blocks(block.text)
        if kind == "dropdown" or "dropdown" in block.options.get("class", ""):
            body = f"<details><summary><b>{title}</b></summary>\n\n{body}\n\n</details>"
        elif title:
            body = f"**{title}**\n\n{body}"
        place = f' id="{label}"' if label else ""
        return f'<blockquote{place} class="lsa-{kind}" style="{style}">\n\n{body}\n\n</blockquote>'

    def caption(self, figure: dict[str, str]) -> str:
        number = self.look_up(figure["name"]).text
        return f'<div id="{figure["name"]}"></div>\n\n**{number}** · {self.text(figure["caption"])}'

    def inline(self, text: str) -> str:
        def plain(found: re.Match) -> str:
            if found["role"]:
                return self.role(found["role"], found["said"])
            return f"${' '.join(expand(found['math']).split())}$" if found["math"] else found[0]

        return INLINE.sub(plain, text)

    def role(self, role: str, said: str) -> str:
        if role in ACTORS:
            colour, line = ACTORS[role]
            style = f"border-bottom: 2px {line}" + (f" {colour}; color: {colour}" if colour else "")
            return f'<span style="{style}">{self.inline(said)}</span>'
        explicit = re.fullmatch(r"(.*?)\s*<(.+)>", said, flags=re.S)
        shown, place = explicit.groups() if explicit else ("", said)
        if role == "doc":
            titles = {chapter.name: chapter.title for chapter in contents()}
            return f"[{shown or titles[place]}]({place}.ipynb)"
        if role in ("eq", "prf:ref", "numref", "ref"):
            return self.refer(place, shown)
        if role in ("cite:t", "cite:p"):
            return cite(said, role)
        if role.startswith("py:"):
            place = place.removeprefix("~")
            return f"[`{shown or place}`]({defined_in(place)})"
        raise ValueError(f"{self.name}: book/_tools/plain.py knows no plain form of {{{role}}}`{said}`")

    def refer(self, label: str, shown: str = "") -> str:
        found = self.look_up(label)
        place = "" if found.chapter == self.name else f"{found.chapter}.ipynb"
        return f"[{shown or found.text}]({place}#{label})"

    def look_up(self, label: str) -> Label:
        if label not in labels():
            raise ValueError(f"{self.name} names the label {label}, which no chapter in _toc.yml has")
        return labels()[label]


def code_cell(cell: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """A cell of code, folded where the page folds it."""
    tags = cell.metadata.get("tags", [])
    metadata = {"tags": tags} if tags else {}
    if not FOLDED & set(tags):
        return new_code_cell(cell.source, metadata=metadata)
    return new_code_cell(HINT + cell.source, metadata=metadata | {"jupyter": {"source_hidden": True}})


def way(name: str) -> str:
    """The line below a title: the chapter before, the contents, the chapter after."""
    names = [chapter.name for chapter in contents()]
    at = names.index(name) if name in names else None
    links = [f"[contents]({INDEX}.ipynb)"]
    if at:
        before = contents()[at - 1]
        links.insert(0, f"← [{before.title}]({before.name}.ipynb)")
    if at is not None and at + 1 < len(names):
        after = contents()[at + 1]
        links.append(f"[{after.title}]({after.name}.ipynb) →")
    return " · ".join(links)


def index() -> str:
    """The list of all chapters in reading order, which a file browser does not show."""
    lines = [f"# Start here: {contents()[0].title}", "", HOW, ""]
    for chapter in contents():
        if chapter.part and f"**{chapter.part}**" not in lines:
            lines += ["", f"**{chapter.part}**", ""]
        number = f"{chapter.number}. " if chapter.number else ""
        lines.append(f"- {number}[{chapter.title}]({chapter.name}.ipynb)")
    return "\n".join(lines)
