"""`lsa.explore` without a browser; tests/browser/test_pages.py has the widgets of the book in one."""

import base64
import copy
import io
import re
from xml.etree import ElementTree

import ipywidgets
import matplotlib as mpl
import numpy as np
import pytest
from PIL import Image

mpl.use("agg")
import matplotlib.pyplot as plt

from lsa import explore, figures
from lsa.show.svg import inline_svg, share_definitions
from lsa.show.thumbnail import thumbnail, with_thumbnail


@pytest.fixture(autouse=True)
def _clean(monkeypatch):
    monkeypatch.delenv("LSA_PUBLISH", raising=False)
    with mpl.rc_context():
        figures.use_style()
        yield
    assert plt.get_fignums() == [], "a figure left open is shown a second time, below the widget"
    ipywidgets.Widget.close_all()


class Drawing:
    """A function to draw with that writes down its calls."""

    __name__ = "drawing"
    __doc__ = "A line & its slope.\n\nMore words."

    def __init__(self):
        self.calls = []

    def __call__(self, **parameters):
        self.calls.append(parameters)
        figure, ax = plt.subplots()
        ax.plot([0, 1], [0, len(self.calls)], color="black")
        return figure, f"call {len(self.calls)} < 10"


def parts(widget, kind):
    """All widgets of a kind in a widget, in order."""
    found = [widget] if isinstance(widget, kind) else []
    return found + [part for child in getattr(widget, "children", ()) for part in parts(child, kind)]


def frames(widget):
    return [part.value for part in parts(widget, ipywidgets.HTML) if 'role="img"' in part.value]


def test_the_kind_of_values_decides_the_control():
    widget = explore(
        Drawing(), n=np.array([5, 10]), noise=[0.1, 0.25], kind=["a", "b"], labels={"noise": "σ²"}
    )
    n, noise, kind = parts(widget, (ipywidgets.SelectionSlider, ipywidgets.Dropdown))
    assert (type(n), n.description, n.options) == (ipywidgets.SelectionSlider, "n", ("5", "10"))
    assert (type(noise), noise.description, noise.options) == (
        ipywidgets.SelectionSlider,
        "σ²",
        ("0.1", "0.25"),
    )
    assert (type(kind), kind.description, kind.options) == (ipywidgets.Dropdown, "kind", ("a", "b"))
    assert parts(widget, ipywidgets.Play) == []


@pytest.mark.parametrize("values", [range(3), {0: "x", 10: "y", 100: "z"}])
def test_steps_can_be_played(values):
    widget = explore(Drawing(), step=values)
    (play,) = parts(widget, ipywidgets.Play)
    assert (play.min, play.max, play.value) == (0, 2, 0)
    assert len(parts(widget, ipywidgets.SelectionSlider)) == 1


def test_draw_gets_the_values_and_alt_what_is_shown():
    draw = Drawing()
    widget = explore(
        draw, f={"ReLU": max, "sign": min}, n=[5, 10], start={"f": "sign", "n": 10}, alt="{f} {n:03d}."
    )
    assert draw.calls == [{"f": min, "n": 10}]
    assert 'aria-label="sign 010. (f = sign, n = 10) call 1 &lt; 10"' in "".join(frames(widget))
    assert '<p class="lsa-caption" style="margin: 0">call 1 &lt; 10</p>' in "".join(frames(widget))


@pytest.mark.parametrize(
    ("alt", "says"),
    [(None, "A line &amp; its slope. (n = 5)"), (lambda n: f"n² is {n**2}.", "n² is 25. (n = 5)")],
)
def test_alt(alt, says):
    assert f'aria-label="{says}' in frames(explore(Drawing(), alt=alt, n=[5, 10]))[0]


def test_a_notebook_draws_a_frame_when_it_is_asked_for():
    draw = Drawing()
    widget = explore(draw, n=[5, 10], d=[2, 3])
    assert draw.calls == [{"n": 5, "d": 2}]
    n, d = parts(widget, ipywidgets.SelectionSlider)
    n.index = 1
    assert draw.calls[1:] == [{"n": 10, "d": 2}]
    d.index = 1
    assert draw.calls[2:] == [{"n": 10, "d": 3}]
    n.index = 0
    n.index = 1
    assert len(draw.calls) == 4, "a frame is drawn once"
    shown = frames(widget)
    assert [re.search(r"\((n = .*?)\)", frame)[1] for frame in shown[2:]] == [
        "n = 10, d = 2",
        "n = 10, d = 3",
    ]


def test_an_error_of_draw_is_shown_in_the_frame():
    def draw(n):
        if n > 5:
            raise ZeroDivisionError("too <large>")
        return plt.figure()

    widget = explore(draw, n=[5, 10])
    parts(widget, ipywidgets.SelectionSlider)[0].index = 1
    assert any(
        "ZeroDivisionError: too &lt;large&gt;" in part.value for part in parts(widget, ipywidgets.HTML)
    )


def test_publishing_draws_every_frame_once_and_the_same_each_time(monkeypatch):
    monkeypatch.setenv("LSA_PUBLISH", "1")
    draw = Drawing()
    widget = explore(draw, n=[5, 10], d=[2, 3], start={"n": 10})
    assert draw.calls == [{"n": n, "d": d} for n in (5, 10) for d in (2, 3)]
    assert len(frames(widget)) == 4
    assert frames(widget) == frames(explore(Drawing(), n=[5, 10], d=[2, 3], start={"n": 10}))
    outer, *inner = parts(widget, ipywidgets.Stack)
    assert outer.selected_index == 1
    assert [stack.selected_index for stack in inner] == [0, 0]
    # what the frames use is there, in the part that is always shown
    everything = "".join(part.value for part in parts(widget, ipywidgets.HTML))
    used = set(re.findall(r'(?:href="|url\()#([^")]+)', everything))
    ids = re.findall(r' id="([^"]*)"', everything)
    assert used == set(ids)
    assert len(ids) == len(set(ids))


def test_what_notebooks_store_does_not_depend_on_publishing(monkeypatch):
    lazy = repr(explore(Drawing(), n=[5, 10], d=[2, 3]))
    monkeypatch.setenv("LSA_PUBLISH", "1")
    assert repr(explore(Drawing(), n=[5, 10], d=[2, 3])) == lazy == "explore(n, d)"


def test_before_a_kernel_there_is_a_picture_of_the_first_frame(monkeypatch):
    view, options = "application/vnd.jupyter.widget-view+json", {"n": [5, 10], "start": {"n": 10}}
    assert explore(Drawing(), **options)._repr_mimebundle_().keys() == {"text/plain", view}
    monkeypatch.setenv("LSA_PUBLISH", "1")
    bundle = explore(Drawing(), **options)._repr_mimebundle_()
    assert bundle.keys() == {"text/plain", view, "image/png"}
    picture = Image.open(io.BytesIO(base64.b64decode(bundle["image/png"])))
    assert picture.size == (720, 408)
    # the second call of `Drawing` draws y = 2x, so the line ends at twice the height of the first
    other = explore(Drawing(), n=[5, 10])._repr_mimebundle_()["image/png"]
    assert bundle["image/png"] != other
    assert len(bundle["image/png"]) < 20_000


@pytest.mark.parametrize("layout", ["none", "constrained"])
def test_the_picture_leaves_the_figure_as_it_was(layout):
    def frame(shoot):
        figure = plt.figure(layout=layout)
        figure.subplots().plot([0, 1], color="black")  # axes placed by hand would make the layout warn
        if shoot:
            thumbnail(figure)
        return inline_svg(figure, "A line.", "w-")

    assert frame(True) == frame(False)


@pytest.mark.parametrize("bundle", [{"text/plain": "live"}, ({"text/plain": "live"}, {"metadata": {}})])
def test_any_widget_can_have_a_picture(bundle):
    again = with_thumbnail(copy.deepcopy(bundle), b"png")
    data = again[0] if isinstance(bundle, tuple) else again
    assert data == {"text/plain": "live", "image/png": "cG5n"}
    assert with_thumbnail(copy.deepcopy(bundle), None) == bundle
    assert with_thumbnail(None, b"png") is None


def test_frames_follow_the_page():
    def draw(n):
        figure, ax = plt.subplots()
        ax.plot([0, 1], [0, 1], **figures.LAYER)
        ax.scatter([0], [1], color="black", edgecolor="white")
        figures.heatmap(ax.inset_axes([0.5, 0, 0.5, 0.5]), np.eye(2))
        return figure

    (frame,) = [frame for frame in frames(explore(draw, alt="All kinds.", n=[1, 2])) if "All kinds" in frame][
        :1
    ]
    ElementTree.fromstring(frame)
    assert "#000000" not in frame
    assert "#ffffff" not in frame
    assert "currentColor" in frame
    assert "var(--lsa-layer, #0072B2)" in frame
    assert "<image " in frame
    assert len(frame) < 60_000


def test_budgets(monkeypatch):
    with pytest.raises(ValueError, match=r"13 × 12 = 156 frames.*at most 150"):
        explore(Drawing(), n=range(13), d=range(12))
    monkeypatch.setitem(explore.__globals__, "MAX_BYTES", 1000)
    with pytest.raises(ValueError, match=r"1 frames of \d+ bytes gzipped.*at most 1000 bytes"):
        explore(Drawing(), n=[1, 2])


@pytest.mark.parametrize(
    ("error", "words", "draw", "arguments"),
    [
        (TypeError, "draw = 5: expected a function", 5, {"n": [1, 2]}),
        (ValueError, r"values = \[\]: expected one to three", Drawing(), {}),
        (ValueError, "one to three", Drawing(), {name: [1, 2] for name in "abcd"}),
        (TypeError, r"n = \[\]: expected numbers", Drawing(), {"n": []}),
        (ValueError, r"n = \[1\]: expected two or more", Drawing(), {"n": [1]}),
        (
            ValueError,
            r"n = \[0.1, 0.10000000001\]: .* look different",
            Drawing(),
            {"n": [0.1, 0.10000000001]},
        ),
        (TypeError, "n = 5: expected a list", Drawing(), {"n": 5}),
        (TypeError, "n = 'ab': expected a list", Drawing(), {"n": "ab"}),
        (TypeError, r"n = \[1, 'a'\]: expected numbers, or strings", Drawing(), {"n": [1, "a"]}),
        (TypeError, r"n = \[None, None\]: .* a mapping", Drawing(), {"n": [None, None]}),
        (
            ValueError,
            r"start = \{'m': 1\}: expected names among \['n'\]",
            Drawing(),
            {"n": [1, 2], "start": {"m": 1}},
        ),
        (
            ValueError,
            r"start\['n'\] = 3: expected one of \[1, 2\]",
            Drawing(),
            {"n": [1, 2], "start": {"n": 3}},
        ),
        (ValueError, r"labels = \{'m': 'µ'\}", Drawing(), {"n": [1, 2], "labels": {"m": "µ"}}),
        (
            TypeError,
            "draw = 'no figure': expected .* matplotlib figure",
            lambda n: "no figure",
            {"n": [1, 2]},
        ),
        (TypeError, "draw = None: expected .* matplotlib figure", lambda n: None, {"n": [1, 2]}),
    ],
)
def test_bad_input(error, words, draw, arguments):
    with pytest.raises(error, match=words):
        explore(draw, **arguments)


def test_what_frames_share_is_stored_once():
    def frame(height):
        figure, ax = plt.subplots()
        ax.plot([0, 1], [0, height])
        ax.set(xlabel="the same in both", ylim=(0, 3))
        return inline_svg(figure, "A line.", "w-")

    before = [frame(1), frame(2)]
    after, shared = share_definitions(before)
    parts = dict(re.findall(r'<g id="(w-s\d+)"(.*?</g>)', shared))
    for old, new in zip(before, after, strict=True):
        ElementTree.fromstring(new)
        assert len(new) < 0.3 * len(old)
        while found := re.search(r'<use href="#(w-s\d+)"/>', new):
            new = new.replace(found[0], f"<g{parts[found[1]]}")
        assert new == re.sub(r"<defs>.*?</defs>|<g/>", "", old)
    assert {*re.findall(r'href="#(w-[^"]*)"', "".join(after))} <= {*re.findall(r'id="(w-[^"]*)"', shared)}
