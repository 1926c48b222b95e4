"""A real browser that is allowed to see the book and nothing else."""

from __future__ import annotations

import functools
import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from playwright.sync_api import Browser, BrowserContext, Page, Playwright

from helpers import ROOT

HOW = (
    "no Chromium: install one (`apt install chromium`, or `python -m playwright install chromium`) or name "
    "it in the environment variable CHROMIUM, then run `pytest tests/browser`"
)


def launch(playwright: Playwright) -> Browser | None:
    """Chromium: the one named by CHROMIUM, or the system's, or playwright's own; None if there is none."""
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    own = playwright.chromium.executable_path
    path = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, names)), own)
    if not Path(path).exists():
        return None
    # no sandbox: in a container there is often none to be had, and the only pages seen are the book's
    return playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_) -> None:
        pass


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address at which a folder is served."""
    with ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Quiet, directory=str(folder))) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


class Visit:
    """A page of the book, opened; what it asked for and what it complained of is written down."""

    def __init__(self, context: BrowserContext, base: str, name: str):
        self.base, self.name = base, name
        self.requests: list[str] = []
        self.failed: list[str] = []
        self.complaints: list[str] = []
        self.page: Page = context.new_page()
        self.page.set_default_timeout(10_000)
        self.page.route(lambda url: not self.is_ours(url), lambda route: route.abort())
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("requestfailed", lambda request: self.failed.append(request.url))
        self.page.on("response", lambda got: self.failed.append(got.url) if got.status >= 400 else None)
        self.page.on("console", lambda said: said.type == "error" and self.complaints.append(said.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.goto(base + name, wait_until="load")

    def is_ours(self, url: str) -> bool:
        return url.startswith((self.base, "data:", "blob:"))

    def settle(self) -> Visit:
        """Wait for the formulas, which come after the text."""
        self.page.wait_for_function(SET)
        return self

    def look(self, *, theme: str = "light", width: int = 1280) -> Page:
        """The page as seen by a reader with a light or dark screen of this width."""
        self.page.set_viewport_size({"width": width, "height": 900})
        self.page.emulate_media(color_scheme=theme, reduced_motion="reduce")
        self.page.wait_for_function("theme => document.documentElement.dataset.theme === theme", arg=theme)
        # a change of width reaches the page, its formulas, its layout and its pictures one after the other
        self.page.wait_for_function("width => innerWidth === width", arg=width)
        self.page.wait_for_function(SET)
        for _ in range(3):
            self.page.evaluate("() => new Promise(drawn => requestAnimationFrame(() => setTimeout(drawn)))")
        return self.page

    def __enter__(self) -> Visit:
        return self

    def __exit__(self, *_) -> None:
        self.page.close()


AXE = ROOT / "node_modules" / "axe-core" / "axe.min.js"
# The formulas of a page of the book have been set for its width; other pages have none.
SET = """() => !document.querySelector('script[src*="page.js"]')
  || document.documentElement.dataset.setFor === String(innerWidth)"""
