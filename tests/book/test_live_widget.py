"""Live figures without a browser: their JavaScript, bundled, and the widgets that hold it."""

import base64
import subprocess

import ipywidgets
import pytest
from helpers import ROOT
from helpers.javascript import NODE, node

from lsa import live
from lsa.show.live.widget import FIGURES, MIME, SCRIPT, THUMBNAILS, Live


def test_the_bundle_is_up_to_date(tmp_path):
    """lsa/show/live/figures.js is what js/build.js makes of js/src."""
    made = tmp_path / "live.js"
    done = subprocess.run([NODE, "js/build.js", made], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, f"{done.stderr}\nesbuild comes by `npm ci`"
    assert made.read_text(encoding="utf-8") == SCRIPT, "run `make js`"


def test_every_figure_has_a_file_and_a_function():
    assert sorted(path.stem for path in (ROOT / "js/src/figures").glob("*.js")) == FIGURES
    assert {"Playground" if name == "playground" else name for name in FIGURES} | {"Live"} == {*live.__all__}


def test_no_line_is_too_long():
    """biome breaks code at 110 columns, but neither texts nor comments."""
    files = [*(ROOT / "js").rglob("*.*s"), *(ROOT / "book" / "_static").glob("*.js")]
    lines = [(path, line) for path in files for line in path.read_text(encoding="utf-8").splitlines()]
    assert len(lines) > 5000
    assert [(path.name, line) for path, line in lines if len(line) > 120] == []


def test_the_bundle_is_a_module_for_a_widget():
    code = "const made = await import('data:text/javascript,' + encodeURIComponent(given));"
    widget = live.units()
    assert node(f"{code} console.log(JSON.stringify(Object.keys(made.default)));", widget._esm) == ["render"]
    ipywidgets.Widget.close_all()


def test_the_bundle_is_a_script_for_a_page():
    names = "console.log(JSON.stringify(new Function(given + 'return Object.keys(lsaFigures)')()));"
    assert node(names, SCRIPT) == ["render"]


def test_values_are_attributes_that_the_browser_shares():
    widget = live.prompt(d=2)
    assert repr(widget) == "live.prompt()"
    assert widget.values["d"] == widget.d == 2
    widget.d = 1
    state = widget.get_state()
    assert state["d"] == 1
    assert state["figure"] == "prompt"
    assert state["_esm"].startswith(SCRIPT)
    assert len(state["alt"].split()) > 5
    ipywidgets.Widget.close_all()


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_has_a_thumbnail_for_those_who_have_not_run_it(name):
    assert (THUMBNAILS / f"{name}.png").exists(), f"run `python book/_tools/thumbnails.py {name}`"
    data, _ = Live(name, alt="A figure.")._repr_mimebundle_()
    assert base64.b64decode(data["image/png"]) == (THUMBNAILS / f"{name}.png").read_bytes()
    assert len(data["image/png"]) < 150_000
    ipywidgets.Widget.close_all()


def test_an_output_holds_what_the_page_needs():
    data, _ = Live("prompt", alt="A prompt.", d=2)._repr_mimebundle_()
    assert data[MIME] == {"figure": "prompt", "alt": "A prompt.", "d": 2}
    assert "application/vnd.jupyter.widget-view+json" in data
    ipywidgets.Widget.close_all()


def test_an_unknown_figure_is_refused():
    with pytest.raises(ValueError, match="figure = 'nothing'"):
        live.Live("nothing", alt="")
