"""`explore`: one call, and a figure answers to sliders, in a notebook and on the published page.

The page has no kernel. So every figure is drawn beforehand, as a frame, and the controls choose among the
frames in the browser: each control is linked to stacks that show one of their children, nested one level for
each parameter. In a live notebook a frame is drawn when it is first asked for.
"""

import gzip
import itertools
import math
import re
from collections.abc import Callable, Mapping
from hashlib import sha256
from html import escape
from numbers import Real
from typing import NamedTuple

import ipywidgets
from ipywidgets import Box, Layout
from matplotlib.figure import Figure

from ..checks import fail
from .svg import inline_svg, share_definitions
from .thumbnail import publishing, thumbnail, with_thumbnail

MAX_FRAMES = 150
MAX_BYTES = 150_000  # of all frames of one widget, gzipped
HINTS = {
    "slider": "drag a slider or use the arrow keys",
    "play": "press ▶ or drag the slider",
    "menu": "choose from the menu",
}
# a handle that a finger can hold
STYLE = "<style>@media (pointer: coarse) {.lsa-explore {--jp-widgets-slider-handle-size: 26px}}</style>"


class Explorer(ipywidgets.VBox):
    """What `explore` makes: the controls, a line that says how to use them, and the frames."""

    def __repr__(self) -> str:
        # Notebooks store this text and nbval compares it: it must not depend on how many frames are drawn.
        return f"explore({', '.join(self.names)})"

    def _repr_mimebundle_(self, **options) -> dict | tuple | None:
        return with_thumbnail(super()._repr_mimebundle_(**options), self.thumbnail)


def explore(
    draw: Callable,
    *,
    alt: str | Callable[..., str] | None = None,
    labels: Mapping[str, str] | None = None,
    start: Mapping[str, object] | None = None,
    **values,
) -> Explorer:
    """Show `draw(**parameters)`, a matplotlib figure, for each choice of one to three parameters.

        lsa.explore(draw, n=[5, 10, 20], covariates=["Gaussian", "sphere"], alt="Loss for {n} examples.")

    The kind of the values decides the control. Numbers get a slider and strings a menu; a `range` gets a
    slider with play buttons. A mapping {shown: value} lets the values be anything: a menu if the keys are
    strings, play buttons if they are numbers. `draw` returns a figure, or a figure and a line of text to
    stand below it, for instance its main number. `alt` says what the figure shows to those who do not see it:
    a text in which {n} is the value of n, or a function of the parameters; if not given, the first line of
    draw's docstring. `labels` has names to show in place of Python's, as in {"noise_variance": "σ²"}, and
    `start` the values to begin with, if not the first ones.
    """
    if not callable(draw):
        fail("draw", draw, "a function that returns a matplotlib figure", TypeError)
    if not 1 <= len(values) <= 3:
        fail("values", list(values), "one to three parameters, such as n=[5, 10, 20]")
    labels, start = dict(labels or {}), dict(start or {})
    naming: dict[str, dict] = {"labels": labels, "start": start}
    for argument, given in naming.items():
        if given.keys() - values.keys():
            fail(argument, given, f"names among {list(values)}")
    parameters = [_parameter(name, values[name], labels.get(name, name), start) for name in values]
    sizes = [len(parameter.choices) for parameter in parameters]
    if (count := math.prod(sizes)) > MAX_FRAMES:
        fail("values", f"{' × '.join(map(str, sizes))} = {count} frames", f"at most {MAX_FRAMES} frames")

    begin = tuple(parameter.start for parameter in parameters)
    every = list(itertools.product(*map(range, sizes)))
    wanted = every if publishing() else [begin]
    pictures: list[bytes] = []
    frames = [_frame(draw, alt, parameters, at, pictures if at == begin else None) for at in wanted]
    shapes = ""
    if wanted is every:
        frames, shapes = share_definitions(frames)
    drawn = dict(zip(wanted, frames, strict=True))
    weight = len(gzip.compress((shapes + "".join(frames)).encode()))
    if weight > MAX_BYTES:
        fail("values", f"{len(drawn)} frames of {weight} bytes gzipped", f"at most {MAX_BYTES} bytes")

    # One layout and one style for all, since each is an object of its own on the page.
    shared = {"layout": Layout(width="100%", margin="0"), "style": ipywidgets.HTML().style}
    blank = re.sub(
        r'aria-label="[^"]*"(.*?>).*', r'\1<text x="9" y="20">drawing …</text></svg>', drawn[begin]
    )
    leaves = {at: ipywidgets.HTML(drawn.get(at, blank), **shared) for at in every}
    controls = [parameter.control() for parameter in parameters]

    def nest(at: tuple[int, ...]) -> ipywidgets.Widget:
        level = len(at)
        if level == len(sizes):
            return leaves[at]
        children = [nest((*at, i)) for i in range(sizes[level])]
        stack = ipywidgets.Stack(children, selected_index=begin[level], layout=shared["layout"])
        ipywidgets.jsdlink((controls[level], "index"), (stack, "selected_index"))
        return stack

    def draw_missing(_) -> None:
        at = tuple(control.index for control in controls)
        if at not in drawn:
            try:
                leaves[at].value = drawn[at] = _frame(draw, alt, parameters, at)
            except Exception as error:  # which would be seen nowhere else
                leaves[at].value = f"<pre>{escape(f'{type(error).__name__}: {error}')}</pre>"

    for control in controls:
        control.observe(draw_missing, "index")
    kinds = dict.fromkeys(parameter.kind for parameter in parameters)
    hint = f"{STYLE}{shapes}<small>{'; '.join(HINTS[kind] for kind in kinds)}</small>"
    hint = ipywidgets.HTML(hint, layout=Layout(flex="1 0 100%", margin="0")).add_class("lsa-hint")
    panel = [parameter.panel(control) for parameter, control in zip(parameters, controls, strict=True)]
    panel = Box([*panel, hint], layout=Layout(flex_flow="row wrap"))
    result = Explorer([panel, nest(())], layout=shared["layout"]).add_class("lsa-explore")
    result.names, result.thumbnail = list(values), pictures[0] if publishing() else None
    return result


class _Choice(NamedTuple):
    text: str  # on the control
    shown: object  # in alt
    value: object  # for draw


class _Parameter(NamedTuple):
    name: str
    label: str
    kind: str  # "slider", "play" or "menu"
    choices: list[_Choice]
    start: int

    def control(self) -> ipywidgets.Widget:
        widget = ipywidgets.Dropdown if self.kind == "menu" else ipywidgets.SelectionSlider
        texts = [choice.text for choice in self.choices]
        layout = Layout(flex="1 1 14em", width="auto", max_width="26em")
        style = {"description_width": "initial"}
        return widget(options=texts, index=self.start, description=self.label, layout=layout, style=style)

    def panel(self, control: ipywidgets.Widget) -> ipywidgets.Widget:
        if self.kind != "play":
            return control
        play = ipywidgets.Play(value=self.start, max=len(self.choices) - 1, interval=500, show_repeat=False)
        ipywidgets.jslink((play, "value"), (control, "index"))
        return Box([play, control], layout=Layout(flex="1 1 100%", flex_flow="row wrap"))


def _parameter(name: str, values, label: str, start: dict) -> _Parameter:
    if isinstance(values, str) or not hasattr(values, "__iter__"):
        fail(name, values, "a list of values, a range or a mapping {shown: value}", TypeError)
    values = values.tolist() if hasattr(values, "tolist") else values  # an array or a tensor
    pairs = list(values.items()) if isinstance(values, Mapping) else [(value, value) for value in values]
    shown = [pair[0] for pair in pairs]
    kinds = {str if isinstance(each, str) else Real if isinstance(each, Real) else None for each in shown}
    if kinds not in ({str}, {Real}):
        fail(name, values, "numbers, or strings, or a mapping {shown: value} with such keys", TypeError)
    texts = [f"{each:g}" if isinstance(each, float) else str(each) for each in shown]
    if len(set(texts)) < max(2, len(texts)):
        fail(name, values, f"two or more values that look different, not {texts}")
    first = start.get(name, shown[0])
    if first not in shown:
        fail(f"start[{name!r}]", first, f"one of {shown}")
    kind = "menu" if kinds == {str} else "play" if isinstance(values, Mapping | range) else "slider"
    choices = [_Choice(text, *pair) for text, pair in zip(texts, pairs, strict=True)]
    return _Parameter(name, label, kind, choices, shown.index(first))


def _frame(draw: Callable, alt, parameters: list[_Parameter], at: tuple[int, ...], thumbnails=None) -> str:
    """One drawing as HTML: a picture that says what it shows, text below it; its PNG in `thumbnails`."""
    chosen = [(parameter, parameter.choices[i]) for parameter, i in zip(parameters, at, strict=True)]
    given = {parameter.name: choice.value for parameter, choice in chosen}
    result = draw(**given)
    figure, text = result if isinstance(result, tuple) and len(result) == 2 else (result, "")
    if not isinstance(figure, Figure):
        fail("draw", figure, "a function that returns a matplotlib figure, or a figure and a text", TypeError)
    if callable(alt):
        says = alt(**given)
    elif alt is not None:
        says = alt.format(**{parameter.name: choice.shown for parameter, choice in chosen})
    else:
        says = (draw.__doc__ or "").strip().partition("\n")[0]
    values = ", ".join(f"{parameter.label} = {choice.text}" for parameter, choice in chosen)
    label = " ".join(filter(None, [says, f"({values})", text]))
    below = f'<p class="lsa-caption" style="margin: 0">{escape(text)}</p>' if text else ""
    texts = [[choice.text for choice in parameter.choices] for parameter in parameters]
    widget = sha256(f"{draw.__name__} {texts}".encode()).hexdigest()[:5]
    if thumbnails is not None and publishing():
        thumbnails.append(thumbnail(figure))
    return inline_svg(figure, label, prefix=f"w{widget}-") + below
