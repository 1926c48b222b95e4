"""A content-security policy in every page: only scripts of the book's own folder run, and a few known lines.

A page's own text may hold no script that runs: such a page is not built. What the theme writes into pages is
let through by its hash, so a line that gets into a page later, by whatever way, does not run.
"""

from __future__ import annotations

import base64
import hashlib
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

# file: is for a page opened as a file, to which 'self' is nothing by the standard; Chromium does without
OWN = "'self' file:"
POLICY = {
    "default-src": "'none'",
    "script-src": OWN,  # and what `policy` adds
    "style-src": f"{OWN} 'unsafe-inline'",  # MathJax writes its style sheet as it goes, tables align cells
    "img-src": f"{OWN} data:",
    "font-src": f"{OWN} data:",
    "connect-src": OWN,  # the search reads the pages that it found
    "form-action": OWN,  # the search field
    "base-uri": "'none'",
}
HANDLERS = ["window.print()", "toggleFullScreen()"]  # of the theme's buttons
CHARSET = '<meta charset="utf-8" />'
META = '<meta http-equiv="Content-Security-Policy" content="'


class Scripts(HTMLParser):
    """What runs in a text of HTML: inline scripts, event handlers, and the files of the other scripts."""

    def __init__(self, text: str):
        super().__init__()
        self.inline: list[str] = []
        self.handlers: list[str] = []
        self.files: list[str] = []
        self.inside = False
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        known = dict(attributes)
        self.handlers += [value or "" for name, value in attributes if name.startswith("on")]
        if tag == "script":
            self.inside = "src" not in known and not (known.get("type") or "").endswith("json")
            self.files += [known["src"] or ""] if "src" in known else []
            self.inline += [""] if self.inside else []

    def handle_data(self, data: str) -> None:
        if self.inside:
            self.inline[-1] += data

    def handle_endtag(self, tag: str) -> None:
        self.inside = self.inside and tag != "script"


def refuse_scripts(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    found = Scripts(context.get("body") or "")
    if running := found.inline + found.handlers + found.files:
        raise SystemExit(f"{page}: its text holds a script, which no page may: {running[0][:200]!r}")


def digest(script: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"


def policy(page: str) -> str:
    """The policy for a page, given its HTML."""
    found = Scripts(page)
    if unknown := set(found.handlers) - set(HANDLERS):
        raise ValueError(f"event handlers that are not known to be the theme's: {sorted(unknown)}")
    # 'unsafe-hashes': they count for event handlers, too; a result of the search is parsed with its buttons
    allowed = [*sorted({digest(script) for script in [*found.inline, *HANDLERS]}), "'unsafe-hashes'"]
    rules = POLICY | {"script-src": " ".join([OWN, *allowed])}
    return "; ".join(f"{name} {value}" for name, value in rules.items())


def write_policies(app: Sphinx, error: Exception | None) -> None:
    if error is not None or app.builder.format != "html" or not app.config.content_security_policy:
        return
    for path in Path(app.outdir).rglob("*.html"):
        page = path.read_text(encoding="utf-8")
        if "_static" in path.parts or META in page:
            continue
        try:
            meta = f'{META}{policy(page)}">\n'
        except ValueError as problem:
            raise SystemExit(f"{path}: {problem}") from None
        before, found, after = page.partition(CHARSET)  # which must stay among the first bytes
        path.write_text(f"{before}{found}\n{meta}{after}" if found else meta + page, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_config_value("content_security_policy", True, "html")  # not in `make serve`, which adds a script
    app.connect("html-page-context", refuse_scripts, priority=950)
    app.connect("build-finished", write_policies, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
