"""Photograph the live figures: `python book/_tools/stills.py [names ...]` writes lsa/show/live/stills/*.png.

JupyterLab shows these pictures before a cell is run. They need a Chromium: they are made by hand when
a figure has changed its looks, and stored.
"""

from __future__ import annotations

import io
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests")]
from helpers.browser import launch  # noqa: E402
from helpers.live_gallery import HOST, write_gallery  # noqa: E402

from lsa.show.live.bundle import figure_names  # noqa: E402
from lsa.show.live.widget import STILLS  # noqa: E402
from lsa.show.still import small_png  # noqa: E402

WIDTH, TALLEST, SHARP = 720, 640, 1.25


def main(names: list[str]) -> int:
    STILLS.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        pages, browser = write_gallery(Path(folder)), launch(playwright)
        if browser is None:
            print("no Chromium to be found", file=sys.stderr)
            return 1
        page = browser.new_page(viewport={"width": WIDTH, "height": 900}, device_scale_factor=SHARP)
        for name in names or figure_names():
            page.goto((pages / f"{name}.html").as_uri())
            page.locator(f"{HOST} svg").first.wait_for()
            page.wait_for_timeout(300)
            picture = Image.open(io.BytesIO(page.locator(HOST).screenshot())).convert("RGB")
            picture = picture.crop((0, 0, picture.width, min(picture.height, int(TALLEST * SHARP))))
            (STILLS / f"{name}.png").write_bytes(small_png(picture))
            print(f"{name}: {(STILLS / f'{name}.png').stat().st_size / 1000:.0f} KB")
        browser.close()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
