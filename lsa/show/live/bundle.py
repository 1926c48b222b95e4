"""Joins the figures' JavaScript into one text: a page opened from a file may load no separate modules.

Each file is an ES module of its own, which node tests as it is. Here it becomes a function, called once, with
its imports taken from those before it: names cannot clash, and one text serves anywidget and the page.
"""

import re
from functools import cache
from pathlib import Path

from ...checks import fail

HERE = Path(__file__).parent
_IMPORT = re.compile(r'^import \{([^}]*)\} from "\./([\w-]+)\.js";\n', re.M)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:const|function|class) (\w+))", re.M)
_RENDER = "export default { render };\n"
_COMMENT = re.compile(r"^\s*(?://.*|/\*\*.*\*/)\n", re.M)  # whole lines only


def figure_names() -> list[str]:
    """The files that are figures: those with something to render."""
    return sorted(path.stem for path in HERE.glob("*.js") if _RENDER in _text(path.stem))


@cache
def _text(name: str) -> str:
    path = HERE / f"{name}.js"
    if not path.is_file():
        fail("figure", name, f"the name of a file in {HERE.name}/, without .js")
    return path.read_text(encoding="utf-8")


def _modules(names: list[str], done: dict[str, str]) -> dict[str, str]:
    """The given modules and all that they import, each after those it needs."""
    for name in names:
        if name not in done:
            text = _text(name)
            _modules([match[2] for match in _IMPORT.finditer(text)], done)
            exports = [match[1] for match in _EXPORT.finditer(text)] + ["render"] * (_RENDER in text)
            text = _IMPORT.sub(lambda match: f'const {{{match[1]}}} = modules["{match[2]}"];\n', text)
            text = _EXPORT.sub("", text).replace(_RENDER, "")
            if left := re.search(r"^(?:import|export)\b.*", text, re.M):
                fail(f"{name}.js", left[0], 'import { … } from "./x.js"; or export const/function/class')
            text = _COMMENT.sub("", text)
            given = ", ".join(exports)
            done[name] = f'modules["{name}"] = (() => {{\n{text}return {{ {given} }};\n}})();\n'
    return done


def module(name: str) -> str:
    """An ES module whose default export is what anywidget wants: the figure of that name and all it needs."""
    parts = "".join(_modules([name], {}).values())
    return f'const modules = {{}};\n{parts}export default {{ render: modules["{name}"].render }};\n'


def script() -> str:
    """A classic script for the book: every figure, by name, in window.lsaFigures."""
    names = figure_names()
    parts = "".join(_modules(names, {}).values())
    table = ", ".join(f'{name}: modules["{name}"].render' for name in names)
    head = '(() => {\n"use strict";\nconst modules = {};\n'
    return f"{head}{parts}window.lsaFigures = {{ {table} }};\n}})();\n"
