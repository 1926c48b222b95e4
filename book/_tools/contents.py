"""What the book holds: its chapters in reading order, and the name and number of everything with a label.

A number is that of the page (tests compare the two): counted by kind, in each numbered chapter anew, and
through all chapters without a number together.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import jupytext
import nbformat
import yaml

ROOT = Path(__file__).resolve().parents[2]
BOOK = ROOT / "book"
PROVEN = "prf:"  # what sphinx-proof's directives begin with
UNNUMBERED = {"prf:proof"}
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python", "pygments_lexer": "ipython3"},
}


class Chapter(NamedTuple):
    name: str
    number: int | None  # None where the part is not numbered
    title: str
    part: str


class Label(NamedTuple):
    chapter: str
    text: str  # how a reference names it: "Theorem 2.1"; "(2.1)" for an equation
    title: str = ""


class Block(NamedTuple):
    """A piece of MyST: "text", "code" (a fence, verbatim), or a directive by its name."""

    kind: str
    text: str
    argument: str = ""
    options: dict[str, str] = {}  # noqa: RUF012


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


def parse(text: str) -> Iterator[Block]:
    """The pieces of a text in MyST; the body of a directive is a text again."""
    lines, plain = text.split("\n"), []
    while lines:
        line = lines.pop(0)
        fence = re.fullmatch(r"(:{3,}|`{3,})(?:\{([\w:-]+)\})? *(.*)", line)
        if not fence:
            plain.append(line)
            continue
        yield Block("text", "\n".join(plain))
        mark, name, argument = fence.groups()
        ends = [i for i, each in enumerate(lines) if re.fullmatch(rf"{mark}{mark[0]}* *", each)]
        if not ends:
            raise ValueError(f"not closed: {line}")
        plain, body, lines = [], lines[: ends[0]], lines[ends[0] + 1 :]
        if name is None:
            yield Block("code", "\n".join([line, *body, mark]))
            continue
        options = {}
        while body and (option := re.fullmatch(r":([\w-]+): *(.*)", body[0])):
            options[option[1]] = option[2]
            del body[0]
        yield Block(name, "\n".join(body).strip("\n"), argument, options)
    yield Block("text", "\n".join(plain))


FORMULA = re.compile(r"^\$\$(.+?)\$\$[ \t]*(?:\(([\w:-]+)\))?[ \t]*$", flags=re.M | re.S)


@cache
def contents() -> list[Chapter]:
    """The chapters of _toc.yml, in order."""
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    found, number = [], 0
    for part in [{"chapters": [{"file": toc["root"]}]}, *toc["parts"]]:
        for entry in part["chapters"]:
            name = Path(entry["file"]).stem
            numbered = part.get("numbered", False)
            number += numbered
            title = re.search(r"^# (.*)$", source(name).read_text(encoding="utf-8"), flags=re.M)[1]
            found.append(Chapter(name, number if numbered else None, title, part.get("caption", "")))
    return found


@cache
def labels() -> dict[str, Label]:
    """Everything that has a label, in any chapter."""
    found: dict[str, Label] = {}
    counts: Counter[tuple] = Counter()
    for chapter in contents():
        for kind, label, title in _labelled(chapter.name):
            number = ""
            if kind != "section" and title is not None:
                counts[kind, chapter.number] += 1
                number = ".".join(str(n) for n in (chapter.number, counts[kind, chapter.number]) if n)
            shown = f"({number})" if kind == "equation" else f"{kind.capitalize()} {number}".strip()
            shown = f"Fig. {number}" if kind == "figure" else title if kind == "section" else shown
            if label:
                if label in found:
                    raise ValueError(f"{chapter.name} and {found[label].chapter} have the same label {label}")
                found[label] = Label(chapter.name, shown, title or "")
    return found


def _labelled(name: str) -> Iterator[tuple[str, str | None, str | None]]:
    """Kind, label and title of what is numbered; the title is None where the author wants no number."""
    for cell in read_source(source(name)).cells:
        if cell.cell_type == "markdown":
            yield from _labelled_blocks(cell.source)
        elif figure := cell.metadata.get("mystnb", {}).get("figure"):
            yield "figure", figure.get("name"), ""


def _labelled_blocks(text: str) -> Iterator[tuple[str, str | None, str | None]]:
    for block in parse(text):
        if block.kind == "text":
            yield from (("equation", found[2], "") for found in FORMULA.finditer(block.text) if found[2])
            sections = re.finditer(r"^\(([\w:-]+)\)=\n+#+ (.*)$", block.text, flags=re.M)
            yield from (("section", *found.groups()) for found in sections)
        elif block.kind != "code":
            if (block.kind.startswith(PROVEN) or block.kind == "exercise") and block.kind not in UNNUMBERED:
                title = None if "nonumber" in block.options else block.argument
                yield block.kind.removeprefix(PROVEN), block.options.get("label"), title
            yield from _labelled_blocks(block.text)
