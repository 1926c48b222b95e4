"""Every chapter in a real JupyterLab: it reads like the page before anything is run, and is alive after it.

A chapter is opened once and, last, run once; what is seen before is kept for the tests.
"""

from __future__ import annotations

import re
from pathlib import Path

import contents
import nbformat
import notebooks
import pytest
import yaml
from helpers.lab import OpenChapter, jupyterlab, open_lab
from plain_markdown import ACTORS
from playwright.sync_api import Locator

from lsa.show.live.widget import MIME

RAW = re.compile(  # fences, roles, formulas, options, links
    r":::|^(?:`{3,}|~{3,})|\{[\w:-]+\}`|\$[^$\n]{1,80}\$|\$\$|\\[(\[]|\\[a-zA-Z]{2,}|^:\w+: |\]\(",
    flags=re.M,
)
# what a reader reads, without code and formulas
TEXT = """cells => cells.filter(c => c.kind === 'markdown').map(c => {
    const copy = c.node.querySelector('.jp-MarkdownOutput')?.cloneNode(true);
    copy?.querySelectorAll('pre, code, mjx-container, .jp-InternalAnchorLink').forEach(e => e.remove());
    return copy?.textContent ?? ''; })"""
FOLDED = """cells => cells.map(c => {
    const [hint, editor] = ['.jp-InputPlaceholder', '.jp-InputArea'].map(e => c.node.querySelector(e));
    return hint?.checkVisibility() && !editor?.checkVisibility() ? hint.textContent : null; })"""
COLOURS = """cells => cells.flatMap(c =>
    [...c.node.querySelectorAll('.jp-MarkdownOutput span, mjx-container *')]
        .map(e => getComputedStyle(e).color))"""
PICTURES = """cells => cells.map(c =>
    [...c.node.querySelectorAll('.jp-OutputArea img')]
        .filter(e => e.checkVisibility() && e.naturalWidth > 300).length)"""


@pytest.fixture(scope="module")
def lab(browser, tmp_path_factory):
    screen = {"width": 1280, "height": 1000}
    with (
        jupyterlab(tmp_path_factory.mktemp("lab")) as address,
        browser.new_context(viewport=screen) as context,
    ):
        yield open_lab(context, address)


class Seen:
    """A chapter, looked at before it is run."""

    def __init__(self, chapter: OpenChapter):
        self.chapter = chapter
        self.stored = nbformat.read(contents.target(chapter.name), as_version=4).cells
        self.text = "\n".join(chapter.look(TEXT))
        self.errors = chapter.notebook.locator("mjx-merror, [data-mjx-error]").all_text_contents()
        self.untypeset = chapter.look(f"cells => ({TEXT})(cells).filter(text => /\\$/.test(text))")
        self.folded, self.pictures = chapter.look(FOLDED), chapter.look(PICTURES)
        self.shown = chapter.look("cells => cells.map(c => c.shown)")
        self.colours = set(chapter.look(COLOURS))

    def widgets(self) -> list[Locator]:
        cells = self.chapter.notebook.locator(".jp-Cell")
        return [cells.nth(i).locator(".jp-OutputArea") for i in self.with_widget()]

    def with_widget(self) -> list[int]:
        outputs = [[each.get("data", {}) for each in cell.get("outputs", [])] for cell in self.stored]
        return [i for i, all_data in enumerate(outputs) if any(MIME in data for data in all_data)]


@pytest.fixture(scope="module", params=contents.chapters())
def seen(request, lab):
    chapter = OpenChapter(lab, request.param)
    yield Seen(chapter)
    chapter.close()


@pytest.fixture(scope="module")
def ran(seen):
    seen.chapter.run_all()
    return seen


# By day nbval runs all chapters, and JupyterLab only these.
DAILY = ("setup", "isotropic", "playground")
run_here = pytest.mark.parametrize(
    "seen",
    [pytest.param(name, marks=() if name in DAILY else pytest.mark.nightly) for name in contents.chapters()],
    indirect=True,
    scope="module",
)


def test_no_markup_is_left_in_the_text(seen):
    assert len(seen.text) > 200
    assert RAW.findall(seen.text) == []


def test_mathematics_is_typeset(seen):
    assert seen.errors == []
    assert seen.untypeset == []
    formulas = any("$" in cell.source for cell in seen.stored if cell.cell_type == "markdown")
    assert (seen.chapter.notebook.locator("mjx-container").count() > 0) == formulas


def test_boxes_have_their_names(seen):
    text = contents.source(seen.chapter.name).read_text(encoding="utf-8")
    boxes = re.findall(r"^:{3,}\{(?:prf:)?(\w+)\}.*\n:label: *([\w-]+)", text, flags=re.M)
    for kind, label in boxes:
        box = seen.chapter.notebook.locator(f'blockquote[data-jupyter-id="{label}"]')
        title = box.locator("xpath=preceding-sibling::h3" if kind == "exercise" else "strong").first
        assert title.inner_text().startswith(kind.capitalize())
        assert box.evaluate("e => parseFloat(getComputedStyle(e).borderLeftWidth)") >= 3


def test_actors_have_their_colours(seen):
    text = "".join(cell.source for cell in seen.stored if cell.cell_type == "markdown")
    for colour in filter(None, (colour for colour, _ in ACTORS.values())):
        rgb = ", ".join(str(int(colour[i : i + 2], 16)) for i in (1, 3, 5))
        used = f"color: {colour}" in text or f"textcolor{{{colour}}}" in text
        assert (f"rgb({rgb})" in seen.colours) == used


def test_code_is_folded_where_the_page_folds_it(seen):
    for cell, folded, shown in zip(seen.stored, seen.folded, seen.shown, strict=True):
        if cell.cell_type == "code" and shown:
            expected = bool(notebooks.FOLDED & set(cell.metadata.get("tags", [])))
            assert (folded is not None) == expected, cell.source
            assert not expected or "Show the code" in folded


def test_solutions_and_nothing_else_are_folded_away(seen):
    expected, inside = [], False
    source = contents.read_source(contents.source(seen.chapter.name))
    for cell in source.cells:  # the code tells: it is the same, in the same order
        for mark in re.findall(r"^:::\{solution-(start|end)\}", cell.source, flags=re.M):
            inside = mark == "start"
        if cell.cell_type == "code":
            expected.append(not inside)
    pairs = zip(seen.stored, seen.shown, strict=True)
    assert [shown for cell, shown in pairs if cell.cell_type == "code"] == expected
    for cell, shown in zip(seen.stored, seen.shown, strict=True):
        assert shown or cell.cell_type == "code" or not cell.source.startswith("#"), "a heading is hidden"


def test_a_widget_is_a_picture_before_it_is_run(seen):
    assert [seen.pictures[i] for i in seen.with_widget()] == [1] * len(seen.with_widget())


@run_here
def test_it_runs_to_the_end(ran):
    counts = ran.chapter.look(
        "cells => cells.filter(c => c.kind === 'code').map(c => c.cell.model.executionCount)"
    )
    assert counts == list(range(1, len(counts) + 1))
    failed = ran.chapter.look("""cells => cells.filter(c => c.kind === 'code').flatMap(c =>
        c.cell.model.outputs.toJSON().filter(each => each.name === 'stderr'
            || each.output_type === 'error' && !c.tags.includes('raises-exception'))
        .map(each => each.text ?? each.ename + ': ' + each.evalue))""")
    assert failed == []


@run_here
def test_every_widget_answers(ran):
    for output in ran.widgets():
        before = drawn(output)
        slider = output.locator("input[type=range]").first
        slider.press("ArrowLeft" if slider.evaluate("e => e.value === e.max") else "ArrowRight")
        for _ in range(200):
            if drawn(output) != before:
                break
            ran.chapter.page.wait_for_timeout(50)
        assert drawn(output) != before, "nothing happened"


def drawn(output: Locator) -> str:
    """What is drawn in an output, without the controls."""
    return output.evaluate("""output => {
        const inside = [...output.querySelectorAll('*')].filter(e => e.shadowRoot).map(e => e.shadowRoot);
        return [output, ...inside].flatMap(e => [...e.querySelectorAll('svg, canvas')])
            .map(e => e.outerHTML).join(''); }""")


def test_the_room_is_tidy(lab):
    """Chapters and the list of them are what is there to be opened; all else is in folders."""
    lab.evaluate("() => jupyterapp.commands.execute('filebrowser:go-to-path', {path: 'book'})")
    lab.locator(".jp-DirListing-item").filter(has_text=contents.INDEX).wait_for()
    files = lab.locator(".jp-DirListing-itemName").all_inner_texts()
    folders = {"_static", "_tools", "source"}
    assert set(files) == folders | {f"{name}.ipynb" for name in [*contents.chapters(), contents.INDEX]}
    assert files[: len(folders) + 1] == [*sorted(folders), f"{contents.INDEX}.ipynb"], "first of all files"


def test_the_list_of_chapters_leads_to_them(lab):
    toc = yaml.safe_load((contents.ROOT / "_toc.yml").read_text(encoding="utf-8"))
    entries = [entry["file"] for part in toc["parts"] for entry in part["chapters"]]
    files = [Path(file) for file in [toc["root"], *entries]]
    texts = [contents.source(file.stem).read_text(encoding="utf-8") for file in files]
    titles = [
        re.search(r"^# (.*)$", text, flags=re.M)[1].replace("`", "").replace("'", "’") for text in texts
    ]
    chapter = OpenChapter(lab, contents.INDEX)
    links = chapter.notebook.locator("a[href]:not(.jp-InternalAnchorLink)")
    assert links.all_inner_texts() == titles
    links.nth(1).click()
    path = files[1].as_posix()
    lab.wait_for_function("path => jupyterapp.shell.currentWidget.context?.path === path", arg=path)
    OpenChapter(lab, files[1].stem).close()
    OpenChapter(lab, contents.INDEX).close()
