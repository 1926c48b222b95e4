"""One look for every figure and table of the book: colours by actor, labels at the lines, numbers in columns.

An actor is a dictionary of line properties: `ax.plot(x, y, **LAYER)`, or with another label
`ax.plot(x, y, **LAYER | {"label": "after 10 steps"})`. Each has its own line style and marker besides its
colour (from the colour-blind-safe palette of Okabe and Ito), so that nothing depends on colour alone.
Theory is drawn in ink. What is none of the actors takes OTHER, or ink.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, to_rgba
from matplotlib.image import AxesImage
from matplotlib.lines import Line2D

from ..checks import fail
from .tables import check, table, written

__all__ = [
    "BAYES",
    "DIVERGING",
    "GD",
    "INK",
    "LAYER",
    "OTHER",
    "STYLE",
    "THEORY",
    "band",
    "check",
    "heatmap",
    "label_lines",
    "spread",
    "table",
    "use_style",
]

INK = "black"
# The actors' colours and dashes, for JavaScript and pages, too. Shades: "figure" here, "light" and "dark" on
# the pages, "lab" in JupyterLab's live figures; "both" and "logo" have to show on light and on dark paper.
PALETTE = json.loads((Path(__file__).parent / "palette.json").read_text(encoding="utf-8"))


def _actor(name: str, marker: str, label: str) -> dict[str, Any]:
    look = PALETTE[name]
    line = (0, tuple(look["dash"])) if look["dash"] else "-"
    return {"color": look.get("figure", INK), "linestyle": line, "marker": marker, "label": label}


LAYER = _actor("layer", "o", "trained layer")
GD = _actor("gd", "s", "one GD step")
BAYES = _actor("bayes", "^", "ridge (Bayes)")
THEORY = _actor("theory", "x", "theory")

OTHER = {"color": PALETTE["positive"]["figure"], "linestyle": (0, (3.5, 1.5)), "marker": "D"}

# Negative grey, positive violet, zero transparent: zero has the colour of the page, dark or light. None of
# these is an actor's colour. The ends stay translucent, so that numbers written over them can be read.
_NEGATIVE, _POSITIVE = (PALETTE[sign]["figure"] for sign in ("negative", "positive"))
_STOPS = [(0, _NEGATIVE, 0.85), (0.5, _NEGATIVE, 0), (0.5, _POSITIVE, 0), (1, _POSITIVE, 0.85)]
DIVERGING = LinearSegmentedColormap.from_list("diverging", [(at, to_rgba(*colour)) for at, *colour in _STOPS])

STYLE = {
    "figure.figsize": (6.0, 3.4),  # text of 11 pt is then readable on a phone 390 px wide
    "figure.dpi": 144,
    "figure.constrained_layout.use": True,
    "font.size": 11,
    "axes.titlesize": 11,
    "axes.titlelocation": "left",
    "xtick.labelsize": 10,
    "ytick.labelsize": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": INK,
    "grid.alpha": 0.15,
    "axes.prop_cycle": mpl.cycler(color=[OTHER["color"], "#CC79A7", "#808080"]),  # no actor's
    "lines.linewidth": 2,
    "lines.markersize": 5,
    "legend.frameon": False,  # a frame would be a white box on a dark page
    "image.interpolation": "none",  # one pixel a cell: crisp, and small in an SVG
}


def use_style() -> None:
    """Give the book's look to every matplotlib figure made from now on."""
    mpl.rcParams.update(STYLE)


def label_lines(ax: Axes, gap: float = 1.25) -> None:
    """Write each line's label beside its right end, in its colour, at least `gap` line heights apart.

    It takes the place of a legend. Call it last, when the limits and scales of `ax` are settled.
    """
    ax.get_xlim(), ax.get_ylim()  # settles limits that were left to matplotlib
    lines = [line for line in ax.get_lines() if not line.get_label().startswith("_")]
    size = mpl.rcParams["xtick.labelsize"]
    ends = []  # heights as fractions of the axes, which later changes of the layout leave alone
    for line in lines:
        points = line.get_xydata()
        points = points[np.isfinite(points).all(1)]
        last = points[points[:, 0].argmax()]
        ends.append(ax.transAxes.inverted().transform(ax.transData.transform(last))[1])
    heights = spread(np.clip(ends, 0, 1), gap * size / 72 * ax.figure.dpi / ax.bbox.height)
    for line, height in zip(lines, heights, strict=True):
        look = {"color": line.get_color(), "size": size, "weight": "bold", "va": "center"}
        ax.annotate(line.get_label(), (1, height), (6, 0), "axes fraction", "offset points", **look)


def spread(heights: Sequence[float], gap: float) -> np.ndarray:
    """The heights nearest to those given, between 0 and 1 and in the same order, at least `gap` apart."""
    order = np.argsort(heights, kind="stable")
    blocks: list[tuple[float, int]] = []  # (centre, size): labels that touch move together
    for centre in np.asarray(heights, dtype=float)[order]:
        size = 1
        while True:
            half = gap * (size - 1) / 2
            centre = min(max(centre, half), max(1 - half, half))
            if not blocks or centre - blocks[-1][0] >= gap * (size + blocks[-1][1]) / 2:
                break
            other, others = blocks.pop()
            centre, size = (centre * size + other * others) / (size + others), size + others
        blocks.append((centre, size))
    result = np.empty(len(order))
    result[order] = [centre + gap * (k - (size - 1) / 2) for centre, size in blocks for k in range(size)]
    return result


def band(ax: Axes, x: Sequence[float], runs, quantiles=(0.1, 0.9), **line) -> Line2D:
    """The median over runs (runs, len(x)) and a band between two quantiles; `line` is an actor: `**LAYER`."""
    runs = np.asarray(runs, dtype=float)
    if runs.ndim != 2 or runs.shape[1] != len(x):
        fail("runs", runs.shape, f"an array of shape (any, {len(x)}); this is its shape")
    low, middle, high = np.quantile(runs, [quantiles[0], 0.5, quantiles[1]], axis=0)
    (drawn,) = ax.plot(x, middle, **line)
    ax.fill_between(x, low, high, color=drawn.get_color(), alpha=0.2, linewidth=0)
    return drawn


def heatmap(ax: Axes, matrix, *, limit=None, numbers: str | None = ".2f", rows=(), columns=()) -> AxesImage:
    """A matrix as cells coloured from -limit to limit, zero transparent, with its numbers written in.

    `limit` is the largest entry unless given. `numbers` is a format, or None where cells are too small to
    be read. `rows` and `columns` are names for the edges.
    """
    matrix = np.asarray(matrix, dtype=float)
    if matrix.ndim != 2:
        fail("matrix", matrix.shape, "a two-dimensional array; this is its shape")
    limit = limit or np.abs(matrix).max() or 1.0
    image = ax.imshow(matrix, cmap=DIVERGING, vmin=-limit, vmax=limit)
    ax.grid(False)
    ax.spines[:].set_visible(True)
    ax.set_xticks(range(len(columns)), columns)
    ax.set_yticks(range(len(rows)), rows)
    ax.tick_params(length=0)
    if numbers:
        for (i, j), value in np.ndenumerate(matrix):
            ax.text(j, i, written(value, numbers), ha="center", va="center", size=9)
    return image
