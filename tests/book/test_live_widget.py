"""Live figures without a browser: their JavaScript, joined, and the widgets that hold it."""

import base64
import re

import ipywidgets
import pytest
from helpers.javascript import node

from lsa import live
from lsa.show.live import bundle
from lsa.show.live.widget import STILLS, Live


@pytest.mark.parametrize("name", bundle.figure_names())
def test_a_figure_is_one_module(name):
    text = bundle.module(name)
    assert not re.search(r"^\s*import\b", text, re.M)
    code = "const made = await import('data:text/javascript,' + encodeURIComponent(given));"
    assert node(f"{code} console.log(JSON.stringify(Object.keys(made.default)));", text) == ["render"]


def test_the_book_has_one_script_with_every_figure():
    names = "console.log(JSON.stringify(Object.keys(globalThis.lsaFigures)));"
    text = bundle.script().replace("window.", "globalThis.")
    assert node(f"new Function(given)(); {names}", text) == bundle.figure_names()


def test_a_module_comes_once_and_after_those_it_needs():
    order = re.findall(r'^modules\["([\w-]+)"\] = ', bundle.script(), re.M)
    assert len(order) == len(set(order))
    for name in order:
        needed = bundle._IMPORT.findall((bundle.HERE / f"{name}.js").read_text(encoding="utf-8"))
        assert all(order.index(other) < order.index(name) for _, other in needed)


def test_values_are_attributes_that_the_browser_shares():
    widget = live.prompt(d=2)
    assert repr(widget) == "live.prompt()"
    assert widget.values["d"] == widget.d == 2
    widget.d = 1
    state = widget.get_state()
    assert state["d"] == 1
    assert state["figure"] == "prompt"
    assert state["_esm"] == bundle.module("prompt")
    assert len(state["alt"].split()) > 5
    ipywidgets.Widget.close_all()


@pytest.mark.parametrize("name", bundle.figure_names())
def test_a_figure_has_a_picture_for_those_who_have_not_run_it(name, monkeypatch):
    assert (STILLS / f"{name}.png").exists(), f"run `python book/_tools/stills.py {name}`"
    monkeypatch.setenv("LSA_PUBLISH", "1")
    widget = Live(name, alt="A figure.")
    data, _ = widget._repr_mimebundle_()
    assert base64.b64decode(data["image/png"]) == (STILLS / f"{name}.png").read_bytes()
    assert len(data["image/png"]) < 150_000
    monkeypatch.delenv("LSA_PUBLISH")
    assert "image/png" not in widget._repr_mimebundle_()[0]
    ipywidgets.Widget.close_all()


def test_an_unknown_figure_is_refused():
    with pytest.raises(ValueError, match="figure = 'nothing'"):
        live.Live("nothing", alt="")
