"""Live figures on the pages: one script for the whole book, and a place with its values for each figure.

The output of a live figure holds what it begins with. Here that becomes a <div class="lsa-live">, which
book/_static/live.js fills.
"""

from __future__ import annotations

import json
from html import escape
from pathlib import Path
from typing import Any

import nbformat
from sphinx.application import Sphinx

from lsa.show.figures import PALETTE
from lsa.show.live.widget import FIGURES, MIME, SCRIPT

PLACE = '<div class="lsa-live"'


def palette() -> str:
    """A style sheet: the actors' colours, for light and dark, and the line that each has in the text."""
    rules = [
        f'html[data-theme="{shade}"] {{ --lsa-{actor}: {look[shade]}; }}'
        for actor, look in PALETTE.items()
        for shade in ("light", "dark")
        if shade in look
    ]
    lines = [
        f"span.lsa-{actor}::before {{ border-top-style: {look['line']}; }}"
        for actor, look in PALETTE.items()
        if "dash" in look
    ]
    return "\n".join([*rules, *lines, ""])


FILES = {"live-figures.js": SCRIPT, "palette.css": palette()}


def write_files(app: Sphinx) -> None:
    if app.builder.format == "html":
        place = Path(app.outdir) / "_static"
        place.mkdir(parents=True, exist_ok=True)
        for name, text in FILES.items():
            (place / name).write_text(text, encoding="utf-8")


def place_of(given: dict[str, Any]) -> str:
    """The place of a figure; what it shows stands there in words until it is drawn."""
    name, alt = given["figure"], given["alt"]
    if name not in FIGURES:
        raise ValueError(f"figure = {name!r}: expected one of {FIGURES}; run `make notebooks`")
    data = json.dumps(given).replace("<", "\\u003c")  # no end of a script within one
    return (
        f'{PLACE} data-figure="{name}"><p class="lsa-live-alt">{escape(alt)}</p>'
        f'<script type="application/json">{data}</script></div>'
    )


def place_figures(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """`notebook` with a place in HTML for each live figure."""
    for output in (each for cell in notebook.cells for each in cell.get("outputs", [])):
        if given := output.get("data", {}).get(MIME):
            output.data = nbformat.from_dict({"text/html": place_of(given)})
    return notebook


def add_scripts(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    if PLACE in context.get("body", ""):
        for name in ("live-figures.js", "live.js"):
            app.add_js_file(name, defer="defer")


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_css_file("palette.css")
    app.connect("builder-inited", write_files)
    app.connect("html-page-context", add_scripts)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
