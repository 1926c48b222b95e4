"""A matplotlib figure as SVG inside a page: small, the same bytes every time, in the colours of the page."""

import io
import re
from collections import Counter
from functools import partial
from html import escape

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from .figures import BAYES, GD, LAYER

# The page decides, light or dark: its ink, its paper, and the actors' colours, which the book's style sheet
# shades for both. In JupyterLab, which has no such sheet, they are as drawn.
COLOURS = {
    "#000000": "currentColor",
    "#ffffff": "var(--pst-color-background, var(--jp-layout-color0, white))",
    LAYER["color"].lower(): f"var(--lsa-layer, {LAYER['color']})",
    GD["color"].lower(): f"var(--lsa-gd, {GD['color']})",
    BAYES["color"].lower(): f"var(--lsa-bayes, {BAYES['color']})",
}


def inline_svg(figure: Figure, label: str, prefix: str) -> str:
    """The figure as an `<svg>` element that says `label` to a screen reader; closes the figure.

    Ids begin with `prefix`, since all drawings on a page share one name space.
    """
    # Letters as paths: no reader's font can be too wide for its place.
    with plt.rc_context({"svg.hashsalt": "lsa", "svg.fonttype": "path"}), io.StringIO() as file:
        figure.savefig(file, format="svg", transparent=True, metadata={"Date": None})
        svg = file.getvalue()
    plt.close(figure)
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>|<style.*?</style>|<!--.*?-->", "", svg, flags=re.S)
    svg = re.sub(r"\s+", " ", svg.replace("base64,\n", "base64,")).replace("> <", "><")
    svg = re.sub(r"-?\d+\.\d{3,}", lambda match: _rounded(float(match[0])), svg)
    svg = re.sub(r' xmlns(:xlink)?="[^"]*"| version="1.1"', "", svg).replace("xlink:href", "href")
    used = set(re.findall(r'(?:href="|url\()#([^")]+)', svg))
    svg = re.sub(r' id="([^"]*)"', lambda match: f' id="{prefix}{match[1]}"' if match[1] in used else "", svg)
    svg = re.sub(r'(href="|url\()#', rf"\1#{prefix}", svg)
    svg = re.sub("|".join(COLOURS), lambda match: COLOURS[match[0]], svg)
    style = "width: 100%; max-width: 46rem; height: auto; fill: currentColor; stroke-linejoin: round"
    return svg.replace("<svg", f'<svg role="img" aria-label="{escape(label)}" style="{style}"', 1)


def share_definitions(frames: list[str]) -> tuple[list[str], str]:
    """The frames without what they share, and one invisible drawing that has it all.

    The shapes of letters and markers, and every mark or label that is drawn again as it is (ticks, names of
    axes), are by far the most of a frame, and most are the same in all frames of a widget.
    """
    shapes: dict[str, None] = {}
    for frame in frames:
        for block in re.findall(r"<defs>(.*?)</defs>", frame):
            shapes |= dict.fromkeys(re.findall(r"<path [^>]*/>|<clipPath .*?</clipPath>", block))
    frames = [re.sub(r"<defs>.*?</defs>|<g/>", "", frame) for frame in frames]
    prefix = re.search(r"#(\w+-)", "".join(frames))
    leaf = re.compile(r"<g[^>]*>(?:<(?:use|path) [^>]*/>)+</g>")
    names: dict[str, str] = {}
    while prefix:  # what holds nothing but shared parts may be shared itself
        count = Counter(part for frame in frames for part in leaf.findall(frame))
        again = [part for part, times in count.items() if times > 1]
        if not again:
            break
        names |= {part: f"{prefix[1]}s{len(names) + i}" for i, part in enumerate(again)}
        frames = [leaf.sub(partial(_use, names), frame) for frame in frames]
    shared = "".join([*shapes, *(part.replace("<g", f'<g id="{name}"', 1) for part, name in names.items())])
    hidden = 'width="0" height="0" style="position: absolute" aria-hidden="true"'
    return frames, f"<svg {hidden}><defs>{shared}</defs></svg>"


def _use(names: dict[str, str], part: re.Match) -> str:
    return f'<use href="#{names[part[0]]}"/>' if part[0] in names else part[0]


def _rounded(x: float) -> str:
    """Hundredths of a point for places, three digits for the small factors of a scale."""
    return f"{x:.2f}".rstrip("0").rstrip(".") if abs(x) >= 1 else f"{x:.3g}"
