"""Live figures on the pages: one script for the whole book, and a place with its values for each figure.

Notebooks hold a live figure as a widget of anywidget, a kind that the pages' widget runtime cannot load. Here
such a widget becomes a <div class="lsa-live"> with its values, which book/_static/live.js fills. Without
other widgets a page then needs no widget runtime at all.
"""

from __future__ import annotations

import json
import re
from html import escape
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

from lsa.show.live.bundle import figure_names, script

STATE = "application/vnd.jupyter.widget-state+json"
VIEW = re.compile(r'<script type="application/vnd\.jupyter\.widget-view\+json">(.*?)</script>', re.S)
SCRIPT = "live-figures.js"


def write_script(app: Sphinx) -> None:
    if app.builder.format == "html":
        place = Path(app.outdir) / "_static" / SCRIPT
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(script(), encoding="utf-8")


def place_of(values: dict[str, Any]) -> str:
    """The place of a figure; what it shows stands there in words until it is drawn."""
    name, alt = values["figure"], values["alt"]
    if name not in figure_names():
        raise ValueError(f"figure = {name!r}: expected one of {figure_names()}; run `make notebooks`")
    known = {key: value for key, value in values.items() if not key.startswith("_")}
    data = json.dumps({key: known[key] for key in known if key not in ("layout", "tabbable", "tooltip")})
    data = data.replace("<", "\\u003c")  # no end of a script within one
    return (
        f'<div class="lsa-live" data-figure="{name}"><p class="lsa-live-alt">{escape(alt)}</p>'
        f'<script type="application/json">{data}</script></div>'
    )


def place_figures(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    scripts = context.get("script_files", [])
    found = [each for each in scripts if getattr(each, "attributes", {}).get("type") == STATE]
    if not found:
        return
    stored = json.loads(found[0].attributes["body"])
    models = stored["state"]
    live = {key: model for key, model in models.items() if model["model_name"] == "AnyModel"}
    if not live:
        return

    def put(match: re.Match[str]) -> str:
        key = json.loads(match[1])["model_id"]
        return place_of(live[key]["state"]) if key in live else match[0]

    context["body"] = VIEW.sub(put, context["body"])
    text = json.dumps(models)
    inside = [model["state"]["figure"] for key, model in live.items() if f'"IPY_MODEL_{key}"' in text]
    if inside:
        raise ValueError(f"{page}: the figures {inside} are inside other widgets; the page shows none there")
    for model in live.values():
        models.pop(model["state"].get("layout", "").removeprefix("IPY_MODEL_"), None)
    for key in live:
        del models[key]
    runtime = VIEW.search(context["body"])
    for each in list(scripts):
        path = str(getattr(each, "filename", "") or "")
        if not runtime and (each in found or "html-manager" in path or path.endswith("widgets.js")):
            scripts.remove(each)
    if runtime:
        found[0].attributes["body"] = json.dumps(stored)
    for name in (SCRIPT, "live.js"):
        app.add_js_file(name, defer="defer")


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("builder-inited", write_script)
    app.connect("html-page-context", place_figures, priority=800)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
