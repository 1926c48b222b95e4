"""What the pages weigh, gzipped as a server sends them: `python book/_tools/weights.py [folder]`."""

from __future__ import annotations

import gzip
import re
import sys
from functools import cache
from pathlib import Path
from urllib.parse import unquote, urlsplit

HTML = Path(__file__).resolve().parents[2] / "_build" / "html"
PAGE_BUDGET = 600_000  # a page and the pictures that are its own
SHARED_BUDGET = 1_500_000  # scripts, styles and fonts, fetched once for the whole book


@cache
def gzipped(path: Path) -> int:
    data = path.read_bytes()
    return min(len(data), len(gzip.compress(data)))  # pictures and fonts are compressed already


def pages(html: Path) -> list[Path]:
    return sorted(path for path in html.rglob("*.html") if "_static" not in path.relative_to(html).parts)


def assets(page: Path) -> set[Path]:
    """The files of the book that a page names: scripts, styles and pictures."""
    text = page.read_text(encoding="utf-8")
    tags = re.findall(r"<(?:script|img|link)\b[^>]*>", text)
    named = {place for tag in tags for place in re.findall(r'\b(?:src|href)="([^"]+)"', tag)}
    files = {local(page, place) for place in named}
    return {path for path in files if path and path.suffix != ".html"}  # links to other pages are no assets


def local(page: Path, place: str) -> Path | None:
    """The file that an address on a page stands for, if it is one of the book's."""
    parts = urlsplit(place)
    if parts.scheme or parts.netloc or not parts.path:
        return None
    path = (page.parent / unquote(parts.path)).resolve()
    return path if path.is_file() else None


def weigh(html: Path = HTML) -> tuple[dict[str, int], dict[str, int]]:
    """The bytes of each page with the pictures that are its own, and of each file that pages share.

    Fonts are not counted, since a browser fetches only those it needs; test_pages.py counts these.
    """
    html = html.resolve()
    own, shared = {}, {}
    for page in pages(html):
        named = assets(page)
        common = {path for path in named if html / "_static" in path.parents or path.parent == html}
        own[page.relative_to(html).as_posix()] = gzipped(page) + sum(map(gzipped, named - common))
        shared |= {path.relative_to(html).as_posix(): gzipped(path) for path in common}
    return own, shared


def main() -> int:
    html = Path(sys.argv[1]) if len(sys.argv) > 1 else HTML
    own, shared = weigh(html)
    if not own:
        print(f"there are no pages in {html}; build them with `make book`", file=sys.stderr)
        return 1
    heavy = [item for item in sorted(shared.items(), key=lambda item: -item[1]) if item[1] > 20_000]
    rows = [(name, size, PAGE_BUDGET) for name, size in own.items()]
    rows += [(name, size, None) for name, size in heavy]
    rows += [("all scripts and styles", sum(shared.values()), SHARED_BUDGET)]
    width = max(len(name) for name, *_ in rows)
    for name, size, budget in rows:
        of = f"  of {budget / 1000:6.0f}" if budget else ""
        print(f"{name:{width}}  {size / 1000:8.1f} KB{of}{'  TOO HEAVY' if budget and size > budget else ''}")
    return int(any(budget and size > budget for _, size, budget in rows))


if __name__ == "__main__":
    sys.exit(main())
