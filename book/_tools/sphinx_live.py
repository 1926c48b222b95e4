"""Live figures on the pages: one script for the whole book, and a place with its values for each figure.

Notebooks hold a live figure as a widget of anywidget, a kind that the pages' widget runtime cannot load. Here
such a widget becomes a <div class="lsa-live"> with its values, which book/_static/live.js fills. Without
other widgets a page then needs no widget runtime at all.
"""

from __future__ import annotations

import json
from html import escape
from pathlib import Path
from typing import Any

import nbformat
from contents import WIDGET_STATE
from sphinx.application import Sphinx

from lsa.show.figures import PALETTE
from lsa.show.live.widget import FIGURES, SCRIPT

VIEW = "application/vnd.jupyter.widget-view+json"
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


def place_of(values: dict[str, Any]) -> str:
    """The place of a figure; what it shows stands there in words until it is drawn."""
    name, alt = values["figure"], values["alt"]
    if name not in FIGURES:
        raise ValueError(f"figure = {name!r}: expected one of {FIGURES}; run `make notebooks`")
    known = {key: value for key, value in values.items() if not key.startswith("_")}
    data = json.dumps({key: known[key] for key in known if key not in ("layout", "tabbable", "tooltip")})
    data = data.replace("<", "\\u003c")  # no end of a script within one
    return (
        f'{PLACE} data-figure="{name}"><p class="lsa-live-alt">{escape(alt)}</p>'
        f'<script type="application/json">{data}</script></div>'
    )


def place_figures(page: str, notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """`notebook` with a place in HTML for each live figure, and without the figures' models."""
    models = notebook.metadata.get("widgets", {}).get(WIDGET_STATE, {}).get("state", {})
    live = {key: model.state for key, model in models.items() if model.model_name == "AnyModel"}
    text = json.dumps(models)
    if inside := [state.figure for key, state in live.items() if f'"IPY_MODEL_{key}"' in text]:
        raise ValueError(f"{page}: the figures {inside} are inside other widgets; the page shows none there")
    for output in (each for cell in notebook.cells for each in cell.get("outputs", [])):
        key = output.get("data", {}).get(VIEW, {}).get("model_id")
        if key in live:
            output.data = nbformat.from_dict({"text/html": place_of(live[key])})
    for key, state in live.items():
        models.pop(state.get("layout", "").removeprefix("IPY_MODEL_"), None)
        del models[key]
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
