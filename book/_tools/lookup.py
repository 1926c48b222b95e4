"""What a chapter refers to outside the chapters: the literature, and the package."""

from __future__ import annotations

import importlib
import inspect
from functools import cache
from pathlib import Path

from contents import BOOK
from pybtex.backends.markdown import Backend
from pybtex.database import BibliographyData, parse_file
from pybtex.style.formatting.unsrt import Style


@cache
def works() -> BibliographyData:
    return parse_file(BOOK / "source" / "references.bib")


def cite(keys: str, role: str) -> str:
    """Citations in the style of the pages, {cite:t} or {cite:p}."""
    cited = []
    for key in map(str.strip, keys.split(",")):
        entry = works().entries[key]
        names = [
            " ".join(map(str, person.rich_prelast_names + person.rich_last_names))
            for person in entry.persons["author"]
        ]
        who = f"{names[0]} *et al.*" if len(names) > 2 else " and ".join(names)
        year, place = entry.fields["year"], f"references.ipynb#{key}"
        cited.append(f"{who} [[{year}]({place})]" if role == "cite:t" else f"[{who}, {year}]({place})")
    return ", ".join(cited) if role == "cite:t" else f"[{', '.join(cited)}]"


def bibliography() -> str:
    entries = Style().format_entries(works().entries.values())
    texts = {entry.key: entry.text.render(Backend()) for entry in entries}
    return "\n".join(f'- <span id="{key}"></span>{" ".join(text.split())}' for key, text in texts.items())


def defined_in(name: str) -> str:
    """The file, seen from the folder of the notebooks, in which a name of `lsa` is defined."""
    found = importlib.import_module("lsa")
    for part in name.split(".")[1:]:
        found = getattr(found, part)
    return file_of(inspect.getmodule(found).__name__)


def file_of(module: str) -> str:
    path = Path(importlib.import_module(module).__file__)
    return f"../{path.relative_to(Path(importlib.import_module('lsa').__file__).parents[1]).as_posix()}"


def overview(module: str) -> str:
    """What a module offers, one line each; the page has it in full."""
    rows = []
    for name, each in vars(importlib.import_module(module)).items():
        if not name.startswith("_") and getattr(each, "__module__", None) == module:
            line = (inspect.getdoc(each) or "").partition("\n")[0].replace("|", r"\|")
            rows.append(f"| `{name}` | {line} |")
    return "\n".join([f"| [`{module}`]({file_of(module)}) | |", "|---|---|", *rows])
