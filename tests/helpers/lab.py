"""A real JupyterLab, with its own settings and a copy of the book, which it may change."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import BrowserContext, Page

from helpers import ROOT

SETTINGS = {
    "apputils-extension/notification": {"fetchNews": "false"},
    "notebook-extension/tracker": {"windowingMode": "none"},  # all cells are there at once, to be looked at
}


@contextmanager
def jupyterlab(folder: Path) -> Iterator[str]:
    """The address of a JupyterLab that shows a copy of the repository's chapters, made in `folder`."""
    left_out = shutil.ignore_patterns(".*", "__pycache__")
    shutil.copytree(ROOT / "book", folder / "repo" / "book", ignore=left_out)
    shutil.copytree(ROOT / "benchmarks", folder / "repo" / "benchmarks")
    for name, values in SETTINGS.items():
        path = folder / "settings" / "@jupyterlab" / f"{name}.jupyterlab-settings"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(values))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    places = {"JUPYTER_CONFIG_DIR": "config", "JUPYTER_DATA_DIR": "data", "JUPYTER_RUNTIME_DIR": "run"}
    places |= {"JUPYTERLAB_SETTINGS_DIR": "settings", "JUPYTERLAB_WORKSPACES_DIR": "spaces"}
    places |= {"IPYTHONDIR": "ipython"}
    environment = {name: str(folder / place) for name, place in places.items()}
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    options = [
        "--no-browser",
        "--allow-root",
        f"--port={port}",
        "--ServerApp.port_retries=0",
        f"--ServerApp.root_dir={folder / 'repo'}",
        "--IdentityProvider.token=",
        "--expose-app-in-browser",
    ]
    with (folder / "log").open("w") as log:
        server = subprocess.Popen(
            [sys.executable, "-m", "jupyterlab", *options],
            stdout=log,
            stderr=log,
            cwd=folder,
            env={**os.environ, **environment, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"},
        )
        try:
            address = f"http://127.0.0.1:{port}/"
            wait_for(address, server, folder / "log")
            yield address
        finally:
            server.terminate()
            server.wait(30)


def wait_for(address: str, server: subprocess.Popen, log: Path) -> None:
    for _ in range(300):
        try:
            urllib.request.urlopen(address + "api", timeout=5).close()
            return
        except (urllib.error.URLError, OSError):
            assert server.poll() is None, f"JupyterLab stopped:\n{log.read_text()[-2000:]}"
            time.sleep(0.2)
    raise AssertionError(f"JupyterLab does not answer:\n{log.read_text()[-2000:]}")


def open_lab(context: BrowserContext, address: str) -> Page:
    page = context.new_page()
    page.set_default_timeout(120_000)
    page.route(lambda url: not url.startswith((address, "data:", "blob:")), lambda route: route.abort())
    page.goto(address + "lab")
    page.wait_for_function("() => window.jupyterapp?.restored")
    page.evaluate("() => window.jupyterapp.restored.then(() => {})")
    return page


class OpenChapter:
    """A chapter opened in JupyterLab, with nothing run yet."""

    def __init__(self, page: Page, name: str):
        self.page, self.name = page, name
        page.evaluate(OPEN, f"book/{name}.ipynb")
        self.notebook = page.locator(".jp-NotebookPanel:not(.lm-mod-hidden) .jp-Notebook")
        page.wait_for_function(RENDERED)
        self.settle()

    def settle(self) -> None:
        """Wait until nothing has been typeset or drawn for a while."""
        self.page.evaluate(QUIET)

    def look(self, what: str):
        """The value of a JavaScript function of the cells, which are {cell, node}, from first to last."""
        return self.page.evaluate(f"() => ({what})({CELLS})")

    def run_all(self) -> None:
        self.page.evaluate("() => jupyterapp.commands.execute('notebook:run-all-cells').then(() => {})")
        self.settle()

    def close(self) -> None:
        self.page.evaluate("() => jupyterapp.commands.execute('notebook:shutdown-kernel').catch(() => {})")
        self.page.evaluate("() => { jupyterapp.shell.currentWidget.context.model.dirty = false; }")
        self.page.evaluate("() => jupyterapp.commands.execute('application:close').then(() => {})")


OPEN = """async path => {
    const panel = await jupyterapp.commands.execute('docmanager:open', {path, factory: 'Notebook'});
    await panel.revealed; await panel.context.ready; await panel.sessionContext.ready; }"""
CELLS = """jupyterapp.shell.currentWidget.content.widgets.map(cell => ({
    cell, node: cell.node, tags: cell.model.getMetadata('tags') ?? [], kind: cell.model.type,
    shown: cell.node.checkVisibility() }))"""
RENDERED = """() => jupyterapp.shell.currentWidget.content.widgets.every(cell =>
    cell.model.type !== 'markdown' || cell.node.querySelector('.jp-MarkdownOutput')?.childElementCount
    || !cell.node.checkVisibility())"""
QUIET = """() => new Promise(done => {
    let timer = setTimeout(finish, 1200);
    const watch = new MutationObserver(() => { clearTimeout(timer); timer = setTimeout(finish, 600); });
    function finish() { watch.disconnect(); done(); }
    const changes = {childList: true, subtree: true, characterData: true};
    watch.observe(jupyterapp.shell.currentWidget.node, changes); })"""
