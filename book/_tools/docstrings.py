"""Show the docstrings of `lsa`, which are plain text with `code` in it, on the page about the package."""

from __future__ import annotations

import ast
import inspect
import re
from itertools import groupby
from textwrap import dedent, indent
from typing import Any

from sphinx.application import Sphinx

import lsa


def to_rst(text: str, parameters: set[str]) -> str:
    """Plain text as reStructuredText.

    `code` is set as code, and so is a paragraph set in by four spaces, a formula or a call; a line such as
    "n: the number of examples" becomes an entry of a list if n is among `parameters`; roles as in
    :doc:`notation` stay; every other sign means itself.
    """
    paragraphs = re.split(r"\n\s*\n", text.strip("\n"))
    blocks = []
    for is_code, group in groupby(paragraphs, key=lambda paragraph: paragraph.startswith("    ")):
        if is_code:
            code = dedent("\n\n".join(group))
            kind, code = (
                ("code-block:: python", code) if is_python(code) else ("parsed-literal::", inline(code))
            )
            blocks.append(f".. {kind}\n\n{indent(code, '   ')}")
        else:
            blocks += [paragraph_to_rst(paragraph, parameters) for paragraph in group]
    return "\n\n".join(blocks)


def is_python(code: str) -> bool:
    try:
        ast.parse(code)
    except SyntaxError:
        return False
    return True


def paragraph_to_rst(paragraph: str, parameters: set[str]) -> str:
    lines = inline(paragraph).split("\n")
    names = [line.partition(": ")[0] for line in paragraph.split("\n")]
    named = [name in parameters for name in names]
    listed = [
        f":param {name}: {line.partition(': ')[2]}" if name in parameters else line
        for name, line in zip(names, lines, strict=True)
    ]
    if True in named[1:] and not named[0]:  # the list starts amid the paragraph
        listed.insert(named.index(True), "")
    return "\n".join(listed)


def inline(text: str) -> str:
    parts = re.split(r"((?::[\w:]+:)?`[^`]+`)", text)  # plain, code, plain, ..., plain
    plain = [formulas(re.sub(r"([\\*|_`])", r"\\\1", part)) for part in parts[0::2]]
    # a role stays what it is; "\ " because letters may touch code here
    code = [part if part.startswith(":") else rf"\ `{part}`\ " for part in parts[1::2]]
    return "".join(part for pair in zip(plain, [*code, ""], strict=True) for part in pair)


def formulas(text: str) -> str:
    """x_q with q below the line, R^d with d above it; names of several letters are no formulas."""
    below = r"\{[^}]+\}|\([^)]+\)|heads|pairs|[A-Za-z0-9]{1,2}(?![A-Za-z0-9_])"
    for pattern, role in ((rf"(?<![^\W_])([^\W\d_]²?)\\_({below})", "sub"), (r"()\^(\([^)]+\)|\w)", "sup")):
        text = re.sub(pattern, lambda found, r=role: rf"{found[1]}\ :{r}:`{found[2].strip('{}()')}`\ ", text)
    return text


def process(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    try:
        parameters = set(inspect.signature(obj).parameters)
    except (TypeError, ValueError):
        parameters = set()
    lines[:] = [*to_rst("\n".join(lines), parameters).split("\n"), ""]


def find_public_name(app: Sphinx, env: Any, node: Any, text: Any) -> Any:
    """Let the text refer to `lsa.optimum`, which is documented where it is defined, in `lsa.theory`."""
    found = getattr(lsa, node.get("reftarget", "").removeprefix("lsa."), None)
    if node.get("refdomain") == "py" and hasattr(found, "__qualname__"):
        place = f"{found.__module__}.{found.__qualname__}"
        return env.get_domain("py").resolve_xref(env, node["refdoc"], app.builder, "obj", place, node, text)
    return None


def setup(app: Sphinx) -> dict[str, bool]:
    app.setup_extension("sphinx.ext.autodoc")
    app.connect("autodoc-process-docstring", process)
    app.connect("missing-reference", find_public_name)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
