"""Every page of the book in a real browser that may see the book alone: quiet, alive, readable, light enough.

A page is opened once from a server and looked at by every test, light and dark, wide and narrow; and once
from a file.
"""

from __future__ import annotations

import gzip
import io
import itertools
import re
from functools import cache
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlsplit

import contents
import nbformat
import numpy as np
import pytest
from helpers import ROOT
from helpers.browser import AXE, Visit, served
from PIL import Image
from playwright.sync_api import Page
from sphinx_live import place_of

import lsa

# The pages in the order of the book, and those that Sphinx adds.
BOOK = [
    Path(name).with_suffix(".html").as_posix()
    for name in re.findall(r"(?:root|file): *(\S+)", (ROOT / "_toc.yml").read_text(encoding="utf-8"))
]
PAGES = [*BOOK, "genindex.html", "search.html"]
PAGE_BUDGET = 600_000  # bytes, gzipped: a page and the pictures that are its own
SHARED_BUDGET = 1_500_000  # scripts, styles and fonts, fetched once for the whole book


def pages_of(html: Path) -> list[Path]:
    return sorted(path for path in html.rglob("*.html") if "_static" not in path.relative_to(html).parts)


@cache
def gzipped(path: Path) -> int:
    data = path.read_bytes()
    return min(len(data), len(gzip.compress(data)))  # pictures and fonts are compressed already


@pytest.fixture(scope="module")
def address(html):
    with served(html) as base:
        yield base


@pytest.fixture(scope="module")
def reader(browser):
    """A reader, whose browser keeps what pages share from one page to the next."""
    with browser.new_context(viewport={"width": 1280, "height": 900}) as context:
        yield context


@pytest.fixture(scope="module", params=PAGES)
def visit(request, reader, address):
    with Visit(reader, address, request.param) as visit:
        yield visit.settle()


@pytest.fixture(scope="module")
def from_files(reader, html) -> dict[str, Visit]:
    """What every page asked for and complained of when it was opened from a file."""
    visits = {}
    for name in PAGES:
        with Visit(reader, html.as_uri() + "/", name) as visit:
            visit.settle()
            visit.untypeset = visit.page.locator(".math:not(:has(mjx-container))").count()
            visits[name] = visit
    return visits


# ---- what a reader sees ----


def test_mathematics_is_typeset(visit):
    page = visit.look()
    raw = page.evaluate(
        "() => [...document.querySelectorAll('.math')].filter(e => !e.querySelector('mjx-container'))"
        ".map(e => e.textContent)"
    )
    assert raw == [], "not typeset"
    assert page.locator("mjx-merror, [data-mjx-error]").all_text_contents() == [], "errors of MathJax"
    # a formula that the page shows as the text it was written in
    text = page.evaluate("""() => {
        const copy = document.querySelector('main').cloneNode(true);
        copy.querySelectorAll('pre, code, script, style, mjx-container').forEach(e => e.remove());
        return copy.textContent; }""")
    assert re.findall(r"\$[^$\n]{1,80}\$|\\\(|\\\[|\\[a-z]{3,}|\{(?:prf:ref|numref|cite)[^}]*\}", text) == []


def test_headings_are_in_order(visit):
    levels = visit.look().evaluate(
        "() => [...document.querySelectorAll('main :is(h1, h2, h3, h4, h5, h6)')]"
        ".filter(e => e.checkVisibility()).map(e => +e.tagName[1])"
    )
    assert levels[:1] == [1]
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels)), levels


def test_pictures_say_what_they_show(visit):
    silent = visit.look().evaluate(r"""() =>
        [...document.querySelectorAll('.bd-article img, .bd-article svg[role=img]')]
        .filter(e => !e.closest('button, a.headerlink, mjx-container'))
        .map(e => e.tagName === 'IMG' ? e.alt : e.getAttribute('aria-label'))
        .filter(said => !said || said.replace(/\([^()]* = [^()]*\)/, '').trim().split(/\s+/).length < 3)""")
    assert silent == []


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_accessible(visit, theme):
    page = visit.look(theme=theme)
    if not page.evaluate("() => 'axe' in window"):
        page.evaluate(AXE.read_text(encoding="utf-8"))
    rules = "{runOnly: ['color-contrast']}" if theme == "dark" else "{}"  # the theme changes colours alone
    found = page.evaluate(f"() => axe.run(document, {{resultTypes: ['violations'], ...{rules}}})")
    bad = [
        f"{violation['id']}: {node['html'][:200]}\n    {node['failureSummary']}"
        for violation in found["violations"]
        if violation["impact"] in ("serious", "critical")
        for node in violation["nodes"][:5]
    ]
    assert bad == [], "\n".join(bad)


def test_no_white_boxes_in_the_dark(visit):
    assert white_boxes(visit.look(theme="dark")) == []


def white_boxes(page: Page) -> list:
    """The places (down, across) of light squares."""
    picture = page.screenshot(full_page=True, type="jpeg", quality=80)
    pixels = np.asarray(Image.open(io.BytesIO(picture)).convert("L"))
    side = 24  # more than a letter or the handle of a slider
    tall, wide = (size // side * side for size in pixels.shape)
    blocks = pixels[:tall, :wide].reshape(tall // side, side, wide // side, side).min(axis=(1, 3))
    return (np.argwhere(blocks > 190) * side).tolist()


def test_code_leaves_room_for_the_story(visit):
    """What is folded does not count."""
    share = visit.look().evaluate("""() => {
        const height = e => e.getBoundingClientRect().height;
        const code = [...document.querySelectorAll('article .cell_input')];
        const open = code.filter(e => e.checkVisibility({ contentVisibilityAuto: true }));
        return open.reduce((sum, e) => sum + height(e), 0) / height(document.querySelector('main')); }""")
    assert share <= 0.15


def test_figures_are_whole(visit):
    page = visit.look()
    for _ in range(20):  # a page that was narrow a moment ago may still be moving
        if not cut_off(page):
            break
        page.wait_for_timeout(50)
    assert cut_off(page) == []


# ---- what a reader does ----


@pytest.mark.parametrize("scheme", ["http", "file"])
def test_search_finds_a_word(reader, address, html, scheme):
    base = address if scheme == "http" else html.as_uri() + "/"
    with Visit(reader, base, "search.html?q=attention") as visit:
        found = visit.page.locator("#search-results li a").first
        found.wait_for()
        visit.page.wait_for_load_state("networkidle")
        if scheme == "http":  # a file may not look into other files for the lines below a result
            assert_quiet(visit)
        found.click()
        visit.page.locator(".bd-article h1").first.wait_for()
        assert "attention" in visit.page.locator(".bd-article").inner_text().lower()
        assert [url for url in visit.requests if not visit.is_ours(url)] == []


# ---- on other screens: last, for a page sets its formulas anew for every width ----

NIGHTLY = [pytest.param(width, marks=pytest.mark.nightly) for width in (1920, 1199, 1100, 768)]


@pytest.mark.parametrize("width", [1280, *NIGHTLY, 1000, 390])
def test_fits(visit, width):
    page = visit.look(width=width)
    wide = page.evaluate("() => document.documentElement.scrollWidth")
    assert wide <= width, "the page scrolls sideways"
    assert cut_off(page) == []
    notes = page.evaluate("""() => [...document.querySelectorAll('aside.margin')].filter(e => {
        const { left, right } = e.getBoundingClientRect();
        return left < 0 || right > innerWidth; }).map(e => e.textContent)""")
    assert notes == [], "margin notes out of the window"
    assert orphans(page) == [], "punctuation that begins a line, behind its formula"


def orphans(page: Page) -> list[str]:
    return page.evaluate("""() => [...document.querySelectorAll('article span.math')].filter(formula => {
        const after = formula.nextSibling;
        const last = [...formula.querySelectorAll('mjx-math')].pop();
        if (after?.nodeType !== 3 || !/^[.,;:!?)]/.test(after.data) || !last?.checkVisibility()) return false;
        const sign = document.createRange();
        sign.setStart(after, 0);
        sign.setEnd(after, 1);
        return sign.getBoundingClientRect().top > last.getBoundingClientRect().bottom - 3;
    }).map(formula => formula.textContent + formula.nextSibling.data.slice(0, 9))""")


def test_few_formulas_scroll_on_a_phone(visit):
    formulas, cut = visit.look(width=390).evaluate("""() => {
        const seen = e => e.checkVisibility({ contentVisibilityAuto: true });
        const formulas = [...document.querySelectorAll('article div.math')].filter(seen);
        const cut = formulas.filter(box => [...box.querySelectorAll('mjx-math')].some(e =>
            e.getBoundingClientRect().right > box.getBoundingClientRect().right + 1));
        return [formulas.length, cut.map(box => box.id || box.textContent.slice(0, 60))]; }""")
    assert len(cut) <= 0.15 * formulas, cut


def test_no_white_boxes_in_the_dark_on_a_phone(visit):
    assert white_boxes(visit.look(theme="dark", width=390)) == []


def cut_off(page: Page) -> list:
    """Figures that reach out of the window or of a box around them."""
    return page.evaluate("""() => {
        const found = [];
        const figures = document.querySelectorAll('.bd-article img, .bd-article svg[role=img]');
        for (const figure of [...figures].filter(e => e.checkVisibility() && !e.closest('mjx-container'))) {
            const name = figure.getAttribute('aria-label') ?? figure.alt;
            const inside = (box, frame) => box.left >= frame.left - 1 && box.right <= frame.right + 1;
            const box = figure.getBoundingClientRect();
            if (!inside(box, {left: 0, right: innerWidth})) found.push(['out of the window', name]);
            for (let around = figure.parentElement; around.tagName !== 'MAIN'; around = around.parentElement)
                if (getComputedStyle(around).overflowX !== 'visible'
                    && !inside(box, around.getBoundingClientRect()))
                    found.push(['out of ' + around.className, name]);
        }
        return found; }""")


# ---- what the browser says ----


def test_quiet_over_http(visit):
    assert_quiet(visit)


def test_quiet_as_files(from_files, subtests):
    for name, visit in from_files.items():
        with subtests.test(name):
            assert visit.untypeset == 0
            assert_quiet(visit)


def assert_quiet(visit: Visit) -> None:
    assert [url for url in visit.requests if not visit.is_ours(url)] == [], "asked of another host"
    assert visit.failed == [], "could not be had"
    assert visit.complaints == [], "errors on the console"


def test_text_needs_no_scripts(browser, address):
    with browser.new_context(java_script_enabled=False) as context:
        for name in BOOK:
            with Visit(context, address, name) as visit:
                assert visit.page.locator(".bd-article h1").is_visible(), name
                assert len(visit.page.locator(".bd-article").inner_text()) > 100, name


# ---- what the files are ----


class _Links(HTMLParser):
    def __init__(self, path: Path):
        super().__init__()
        self.ids, self.links, self.next = set(), [], None
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.ids |= {attributes.get("id"), attributes.get("name") if tag == "a" else None}
        if tag == "a" and (href := attributes.get("href")):
            self.links.append(href)
            if "right-next" in (attributes.get("class") or ""):
                self.next = href


def test_no_page_is_left_out(html):
    found = {page.relative_to(html).as_posix() for page in pages_of(html)}
    assert found - {"index.html"} == set(PAGES)  # index.html only leads to the first page


def test_links_lead_somewhere(html):
    parsed = {page: _Links(page) for page in pages_of(html)}
    broken = []
    for page, links in parsed.items():
        for link in links.links:
            place, anchor = urldefrag(link)
            if urlsplit(link).scheme or urlsplit(link).netloc:
                continue
            target = (page.parent / unquote(place)).resolve() if place else page
            if not target.is_file() or (
                anchor and target in parsed and unquote(anchor) not in parsed[target].ids
            ):
                broken.append(f"{page.relative_to(html)}: {link}")
    assert broken == []


def test_pages_follow_each_other(html):
    found = [BOOK[0]]
    while len(found) <= len(BOOK) and (following := _Links(html / found[-1]).next):
        found.append((html / found[-1]).parent.joinpath(following).resolve().relative_to(html).as_posix())
    assert found == BOOK


def test_pages_are_light(html):
    for page in pages_of(html):
        named = re.findall(
            r'<(?:img|script|link)\b[^>]*\b(?:src|href)="([^":?#]+)', page.read_text(encoding="utf-8")
        )
        files = {(page.parent / unquote(name)).resolve() for name in named}
        own = [path for path in files if path.parent != html and html / "_static" not in path.parents]
        size = gzipped(page) + sum(gzipped(path) for path in own if path.is_file() and path.suffix != ".html")
        assert size <= PAGE_BUDGET, page.name


def test_what_pages_share_is_light(from_files, html):
    """Everything that a reader of the whole book fetches besides the pages and their pictures."""
    book = html.as_uri() + "/"
    urls = {url for name in BOOK for url in from_files[name].requests if url.startswith(book)}
    fetched = {unquote(urlsplit(url.removeprefix(book)).path) for url in urls}
    sizes = {name: gzipped(html / name) for name in fetched if not name.startswith(("book/", "_images/"))}
    heavy = sorted(sizes.items(), key=lambda item: -item[1])[:8]
    assert sum(sizes.values()) <= SHARED_BUDGET, f"the heaviest: {heavy}"


# ---- what the page and the notebook have in common ----


NUMBERED = re.compile(  # a label, and the number that the notebook gives: of an exercise, an equation, others
    r"### (?P<exercise>Exercise [\d.]+)[^\n]*\n\n<blockquote id=\"(?P<its_label>[\w-]+)"
    r"|id=\"(?P<label>[\w-]+)\"[^>]*>(?:</div>)?\n\n"
    r"(?:\$\$\n[^$]* \\tag\{(?P<equation>[\d.]+)\}|\*\*(?P<other>(?:[A-Z][a-z]+|Fig\.) [\d.]*\d))"
)


@pytest.mark.parametrize("name", contents.chapters())
def test_notebooks_have_the_numbers_of_the_pages(html, name):
    page = (html / "book" / f"{name}.html").read_text(encoding="utf-8")
    source = contents.source(name).read_text(encoding="utf-8")
    cells = nbformat.read(contents.target(name), as_version=4).cells
    text = "\n\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    theirs = {
        found["its_label"] or found["label"]: found["exercise"] or found["other"] or f"({found['equation']})"
        for found in NUMBERED.finditer(text)
    }
    label = r"^\$\$ \(([\w-]+)\)|^:label: *([\w-]+)\n(?!:nonumber:)|^ +name: *(fig-[\w-]+)"
    assert {a or b or c for a, b, c in re.findall(label, source, flags=re.M)} == set(theirs)
    for label, number in theirs.items():
        at = re.search(rf'id="(?:equation-)?{label}"', page)
        shown = re.search(r'class="(?:caption-number|eqno)">([^<]*)<', page[at.end() :])
        assert shown[1].strip() == number, label


@pytest.mark.parametrize("name", [Path(name).stem for name in BOOK])
def test_notebooks_have_the_headings_and_names_of_the_pages(html, name):
    page = (html / "book" / f"{name}.html").read_text(encoding="utf-8")
    cells = nbformat.read(contents.target(name), as_version=4).cells
    text = "\n\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    text = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)

    def words(shown: str) -> str:
        return re.sub(r"<[a-z/][^>]*>|\\[()*]|[`*$\s’']|^#+ ", "", unescape(shown))

    heading = r"<h[123]>((?:(?!</h).)*?)<a class=\"headerlink"
    headings = [words(each) for each in re.findall(heading, page, flags=re.S)]
    theirs = [words(each) for each in re.findall(r"^#{1,3} .*", text, flags=re.M)]
    own = re.compile(r"Exercise\d|Take-aways|Whatisknown|…")  # headings that JupyterLab needs to fold by
    assert [each for each in theirs if not own.match(each)] == headings
    titles = re.findall(r'class="caption-number">([A-Z]\w+ [\d.]+) </span>', page)
    assert [each for each in titles if each not in text] == []
    cited = re.findall(r'<span class="bibtex-citation"[^>]*>(.*?)</span>', page, flags=re.S)
    written = words(re.sub(r"\[([^\[\]]*)\]\([^)]*\)", r"\1", text))  # links without their places
    assert [each for each in map(words, cited) if each not in written] == []


# ---- what a page may do ----


NASTY = "</SCRIPT><script>window.evil = 1</script><img src=x onerror='window.evil = 2'><!--<script>"


def test_every_page_has_a_policy(html):
    for page in pages_of(html):
        text = page.read_text(encoding="utf-8")
        (policy,) = re.findall(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">', text)
        rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
        assert rules["default-src"] == "'none'"
        assert "'unsafe-inline'" not in rules["script-src"]
        assert "'unsafe-eval'" not in rules["script-src"]
        assert not re.search(r"https?:|\*", policy), "another host"


def test_no_page_violates_its_policy(visit):
    assert [said for said in visit.complaints if "Content Security Policy" in said] == []


@pytest.mark.parametrize("scheme", ["http", "file"])
@pytest.mark.parametrize("name", [BOOK[0], "search.html"])  # with live figures and formulas; without
def test_a_script_that_gets_into_a_page_does_not_run(reader, address, html, scheme, name):
    base = address if scheme == "http" else html.as_uri() + "/"
    with Visit(reader, base, name) as visit:
        page = visit.settle().page
        page.evaluate("""() => {
            const script = document.createElement('script');
            script.textContent = 'window.evil = 1';
            const link = Object.assign(document.createElement('a'), {href: 'javascript:window.evil = 2'});
            const frame = document.createElement('iframe');
            frame.srcdoc = '<script>parent.evil = 3</script>';
            document.body.append(script, link, frame);
            document.body.insertAdjacentHTML('beforeend', '<img src="x:" onerror="window.evil = 4">');
            link.click(); }""")
        page.wait_for_timeout(300)
        assert page.evaluate("() => window.evil") is None
        assert len([said for said in visit.complaints if "Content Security Policy" in said]) >= 3


def test_no_label_is_markup(browser, html, tmp_path):
    """Live figures and tables on a page without a policy: what they show is text all the same."""
    given = {"figure": "prompt", "alt": NASTY, "d": 2, "noise_variance": 0.1, "other": NASTY}
    body = lsa.figures.table([(NASTY, 1.0)], {NASTY: "", "x": ".1f"})._repr_html_() + place_of(given)
    static = (html / "_static").as_uri()
    scripts = "".join(f'<script src="{static}/{name}"></script>' for name in ("live-figures.js", "live.js"))
    (tmp_path / "page.html").write_text(f'<meta charset="utf-8"><main>{body}</main>{scripts}')
    page = browser.new_page()
    page.goto((tmp_path / "page.html").as_uri())
    page.locator(".lsa-live svg").first.wait_for(state="attached")
    assert page.evaluate("() => window.evil") is None
    assert page.locator("th").first.text_content() == NASTY
    page.close()
