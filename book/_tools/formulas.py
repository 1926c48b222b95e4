"""Formulas for readers of notebooks: without the macros of _config.yml, which only the pages know."""

from __future__ import annotations

import re
from functools import cache

import yaml
from contents import ROOT

from lsa.show.figures import PALETTE

# The colour and line of each actor. One colour for light and dark: 4.3 : 1 or more against either.
ACTORS = {name: (look.get("both", ""), look["line"]) for name, look in PALETTE.items() if "dash" in look}


@cache
def macros() -> dict[str, tuple[str, int]]:
    r"""The macros and how many arguments each has; an actor's is its colour itself, not a \class."""
    config = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    found = config["sphinx"]["config"]["mathjax3_config"]["tex"]["macros"]
    pairs = {name: tuple(each) if isinstance(each, list) else (each, 0) for name, each in found.items()}
    for name, (colour, _) in ACTORS.items():
        pairs[name] = (rf"\textcolor{{{colour}}}{{#1}}" if colour else "{#1}", 1)
    return pairs


def expand(tex: str) -> str:
    """A formula without the book's macros."""
    for name, (meaning, count) in macros().items():
        while found := re.search(rf"\\{name}(?![A-Za-z])", tex):
            rest, text = tex[found.end() :], meaning
            for i in range(1, count + 1):
                given, rest = _argument(rest)
                text = text.replace(f"#{i}", given)
            tex = tex[: found.start()] + text + rest
    return tex


def _argument(tex: str) -> tuple[str, str]:
    """The first argument in a formula, without its braces, and what follows it."""
    tex = tex.lstrip()
    if not tex.startswith("{"):
        return tex[:1], tex[1:]
    depth = 0
    for i, sign in enumerate(tex):
        if i == 0 or tex[i - 1] != "\\":
            depth += {"{": 1, "}": -1}.get(sign, 0)
        if depth == 0:
            return tex[1:i], tex[i + 1 :]
    raise ValueError(f"a brace is not closed in the formula {tex}")


def display(formula: str, number: str) -> str:
    """A formula on lines of its own, with its number."""
    body = expand(formula).strip()
    if r"\\" in body and not body.startswith(r"\begin{"):
        body = f"\\begin{{aligned}}\n{body}\n\\end{{aligned}}"  # Sphinx does the same
    return f"$$\n{body} \\tag{{{number}}}\n$$" if number else f"$$\n{body}\n$$"
