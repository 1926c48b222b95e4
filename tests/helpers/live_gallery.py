"""Pages made of live figures, one page per figure, and a browser's hand on them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Locator, Page
from sphinx_live import FILES, place_of

import lsa
from helpers import ROOT
from helpers.browser import Visit
from lsa.show.live.widget import FIGURES

STATIC = ROOT / "book" / "_static"
# What the theme gives the pages: without it the figures take the browser's own colours.
THEME = """
html[data-theme=light] { --pst-color-text-base: #222832; --pst-color-background: #fff; }
html[data-theme=light] { --pst-color-border: #c9ccd1; --pst-color-text-muted: #48566b; }
html[data-theme=dark] { --pst-color-text-base: #ced6dd; --pst-color-background: #14181e; }
html[data-theme=dark] { --pst-color-border: #48566b; --pst-color-text-muted: #9ca4af; }
body { background: var(--pst-color-background); color: var(--pst-color-text-base); margin: 16px; }
body { font-family: sans-serif; }
"""
PAGE = """<!doctype html><html lang="en" data-theme="light"><meta charset="utf-8"><title>{name}</title>
<meta name="viewport" content="width=device-width"><link rel="icon" href="data:,">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<link rel="stylesheet" href="palette.css"><link rel="stylesheet" href="custom.css">
<link rel="stylesheet" href="theme.css">
<script defer src="live-figures.js"></script><script defer src="live.js"></script>
<script defer src="theme.js"></script>
<main class="bd-article"><h1>{name}</h1>{place}</main></html>"""
# As the theme does: light or dark by the reader's system.
THEME_SCRIPT = """
const dark = matchMedia('(prefers-color-scheme: dark)');
const follow = () => { document.documentElement.dataset.theme = dark.matches ? 'dark' : 'light'; };
dark.addEventListener('change', follow); follow();
"""
POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:"
HOST = ".lsa-live > div"
# All that a figure shows, without its controls.
SHOWN = """host => [...host.shadowRoot.querySelectorAll('svg, .says, .grids, .answers')]
    .map(each => each.outerHTML.replaceAll(' held', '')).join('')"""

# All in it, and what controls stand at; not where the hand is, nor the height kept for the sentence.
ALL = """host => {
    const live = host.shadowRoot.querySelector('.live'), copy = live.cloneNode(true);
    for (const says of copy.querySelectorAll('.says')) says.removeAttribute('style');
    for (const spoken of copy.querySelectorAll('.spoken')) spoken.remove(); // it is told a little later
    const at = [...live.querySelectorAll('input, select')].map(each => [each.value, each.checked]);
    return copy.outerHTML.replaceAll(' held', '') + JSON.stringify(at); }"""


def widget_of(name: str) -> lsa.live.Live:
    """The figure as a chapter would call it."""
    return lsa.Playground() if name == "playground" else getattr(lsa.live, name)()


def write_page(folder: Path, file: str, state: dict) -> None:
    """A page with one figure that begins with `state`."""
    text = PAGE.format(name=state["figure"], place=place_of(state), policy=POLICY)
    (folder / f"{file}.html").write_text(text, encoding="utf-8")


def write_gallery(folder: Path) -> Path:
    """A page for every figure, and what the pages need."""
    for name in ("custom.css", "live.js"):
        (folder / name).write_text((STATIC / name).read_text(encoding="utf-8"))
    for name, text in FILES.items():
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "theme.css").write_text(THEME)
    (folder / "theme.js").write_text(THEME_SCRIPT)
    for name in FIGURES:
        write_page(folder, name, widget_of(name).given)
    return folder


@contextmanager
def visited(browser, base, name, **options):
    """A figure in a browser; it must keep quiet and ask no other host."""
    options = {"viewport": {"width": 1000, "height": 900}} | options
    with browser.new_context(**options) as context, Visit(context, base, f"{name}.html") as visit:
        visit.page.locator(HOST).wait_for()
        rest(visit.page)
        yield visit
        assert visit.complaints == []
        assert visit.failed == []
        assert all(visit.is_ours(url) for url in visit.requests)


def rest(page: Page) -> None:
    """Until the figure has been drawn and has told what it shows."""
    page.wait_for_timeout(60)


def shown(page: Page) -> str:
    return page.locator(HOST).evaluate(SHOWN)


def painted(page: Page) -> str:
    """All that a figure shows, once what is under way has been drawn."""
    page.evaluate("() => new Promise(drawn => requestAnimationFrame(() => setTimeout(drawn)))")
    return page.locator(HOST).evaluate(ALL)


def paint_again(page: Page) -> None:
    """Make it draw everything anew: its width changes, and changes back."""
    for width in ("97%", ""):
        page.locator(HOST).evaluate("(host, width) => { host.style.width = width; }", width)
        for _ in range(2):
            page.evaluate("() => new Promise(drawn => requestAnimationFrame(() => setTimeout(drawn)))")


def state(page: Page) -> dict:
    return json.loads(page.locator(HOST).get_attribute("data-state"))


def controls(page: Page, kind: str) -> Iterator[Locator]:
    """Those that are visible when their turn comes: one control may hide another."""
    for each in page.locator(f"{HOST} {kind}").all():
        if each.is_visible():
            yield each


def name_of(control: Locator) -> str:
    words = "e => e.labels?.[0]?.textContent ?? e.getAttribute('aria-label') ?? e.textContent"
    return control.evaluate(words)


def data(page: Page) -> dict:
    """The numbers of the figure and, once it rests, its state."""
    page.wait_for_timeout(400)
    found = page.locator(HOST).evaluate("host => ({...host.dataset})")
    return {key: json.loads(value) for key, value in found.items()}


def finger(page: Page, start: tuple[float, float], by: tuple[float, float], moves: int = 20) -> None:
    """A finger put down, moved in small steps and lifted: what Chromium makes of it is up to Chromium."""
    session = page.context.new_cdp_session(page)
    for k in range(moves + 1):
        point = {"x": start[0] + by[0] * k / moves, "y": start[1] + by[1] * k / moves}
        kind = "touchMove" if k else "touchStart"
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [point]})
    session.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})


def middle(control: Locator) -> tuple[float, float]:
    box = control.bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def drag(page: Page, control: Locator, by: tuple[float, float]) -> None:
    control.scroll_into_view_if_needed()
    x, y = middle(control)
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + by[0], y + by[1], steps=4)
    page.mouse.up()
