"""Photograph live figures, or those named, into lsa/show/live/thumbnails: `python book/_tools/thumbnails.py`.

JupyterLab shows these pictures before a cell is run. They need a Chromium: they are made by hand when
a figure has changed its looks, and stored.
"""

from __future__ import annotations

import io
import os
import shutil
import sys

from contents import ROOT
from execute import small_png
from PIL import Image
from playwright.sync_api import Page, sync_playwright
from sphinx_live import FILES, place_of

import lsa
from lsa.show.live.widget import FIGURES, THUMBNAILS

WIDTH, TALLEST, SHARP = 720, 640, 1.25
PAPER = """<!doctype html><html data-theme="light"><style>
html { --pst-color-text-base: #222832; --pst-color-text-muted: #48566b; font-family: sans-serif; }
html { --pst-color-background: #fff; --pst-color-border: #c9ccd1; }
body { margin: 16px; }
</style>"""


def photograph(page: Page, name: str) -> bytes:
    widget = lsa.Playground() if name == "playground" else getattr(lsa.live, name)()
    page.set_content(PAPER + place_of(widget.given))
    page.add_style_tag(content=FILES["palette.css"])
    page.add_script_tag(content=FILES["live-figures.js"])
    page.add_script_tag(path=ROOT / "book" / "_static" / "live.js")
    page.locator("svg").first.wait_for()
    page.wait_for_timeout(300)
    picture = Image.open(io.BytesIO(page.locator(".lsa-live > div").screenshot())).convert("RGB")
    return small_png(picture.crop((0, 0, picture.width, min(picture.height, int(TALLEST * SHARP)))))


def main(names: list[str]) -> None:
    with sync_playwright() as playwright:
        chromium = os.environ.get("CHROMIUM") or shutil.which("chromium")  # or playwright's own
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": WIDTH, "height": 900}, device_scale_factor=SHARP)
        for name in names or FIGURES:
            picture = photograph(page, name)
            (THUMBNAILS / f"{name}.png").write_bytes(picture)
            print(f"{name}: {len(picture) / 1000:.0f} KB")
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1:])
