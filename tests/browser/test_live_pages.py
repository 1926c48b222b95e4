"""Every live figure in a real browser, from a server and from a file: quiet, readable, alive, right.

The figures stand on pages made for it (live_gallery.py); test_pages.py has the pages of the book.
"""

from __future__ import annotations

from contextlib import contextmanager

import pytest
from helpers.browser import AXE
from helpers.live_gallery import (
    HOST,
    SHOWN,
    controls,
    data,
    drag,
    name_of,
    rest,
    shown,
    visited,
    widget_of,
    write_page,
)
from helpers.live_numbers import NUMBERS
from playwright.sync_api import Locator, Page, TimeoutError

from lsa.show.live.widget import FIGURES

# Controls that say how training goes on, and show nothing by themselves.
UNSEEN = {"optimizer", "learning rate", "steps per frame"}


@pytest.fixture(scope="module", params=FIGURES)
def name(request) -> str:
    return request.param


@pytest.fixture
def visit(browser, gallery_address, name):
    """A figure as it begins."""
    with visited(browser, gallery_address, name) as visit:
        yield visit


@pytest.fixture(scope="module")
def seen(browser, gallery_address, name):
    """A figure that several tests look at."""
    with visited(browser, gallery_address, name) as visit:
        yield visit


@contextmanager
def changes(page: Page, control: Locator):
    """What is done inside must be seen in the figure."""
    words, before = name_of(control), shown(page)
    yield
    if words not in UNSEEN:
        try:
            page.wait_for_function(
                f"before => ({SHOWN})(document.querySelector('{HOST}')) !== before", arg=before, timeout=3000
            )
        except TimeoutError:
            pytest.fail(f"{words!r} changes nothing")


# ---- what is done ----


def test_answers_the_keyboard(visit):
    page = visit.page
    for slider in controls(page, "input[type=range]"):
        slider.focus()
        at_end = slider.evaluate("e => +e.value > 0.999")
        with changes(page, slider):
            page.keyboard.press("ArrowLeft" if at_end else "ArrowRight")
        with changes(page, slider):
            page.keyboard.press("PageDown" if at_end else "PageUp")
    for box in controls(page, "input[type=checkbox]"):
        box.focus()
        with changes(page, box):
            page.keyboard.press("Space")
    for group in controls(page, "[role=radiogroup]"):
        group.locator("input:checked").focus()
        with changes(page, group):
            page.keyboard.press("ArrowRight")
    for menu in controls(page, "select"):
        with changes(page, menu):
            others = "e => [...e.options].filter(o => o.value && !o.selected).map(o => o.value)"
            menu.select_option(menu.evaluate(others)[0])
    for field in controls(page, "input[type=number]"):
        with changes(page, field):
            field.press("ArrowUp")
    for handle in controls(page, ".handle"):
        handle.focus()
        with changes(page, handle):
            page.keyboard.press("ArrowLeft")
    for cell in controls(page, "table.own td[tabindex='0']"):
        cell.focus()
        page.keyboard.press("ArrowDown")
        with changes(page, cell):
            page.keyboard.press("+")
    for button in controls(page, "button:enabled"):
        if not name_of(button).startswith("Copy"):
            button.focus()
            with changes(page, button):
                page.keyboard.press("Enter")


def touch_drag(page: Page, control: Locator, by: tuple[float, float]) -> None:
    control.scroll_into_view_if_needed()
    box = control.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    session = page.context.new_cdp_session(page)
    for kind, share in (("touchStart", 0), ("touchMove", 0.3), ("touchMove", 0.7), ("touchMove", 1)):
        points = [{"x": x + share * by[0], "y": y + share * by[1]}]
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
    session.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})


def hand(page: Page, move, press) -> None:
    """Try every control that a hand can move or press."""
    for knob in controls(page, ".handle"):
        box, frame = knob.bounding_box(), knob.locator("xpath=ancestor::*[name()='svg']").bounding_box()
        right = box["x"] + box["width"] / 2 > frame["x"] + frame["width"] / 2
        with changes(page, knob):
            move(page, knob, (-30 if right else 30, -24))
    for cell in controls(page, "table.own td[tabindex='0']"):
        with changes(page, cell):
            move(page, cell, (0, -40))
    for slider in controls(page, "input[type=range]"):
        slider.scroll_into_view_if_needed()
        box = slider.bounding_box()
        at_end = slider.evaluate("e => +e.value > 0.6")
        with changes(page, slider):
            press(box["x"] + box["width"] * (0.3 if at_end else 0.8), box["y"] + box["height"] / 2)
    for kind in ("input[type=checkbox]", "label:has(> input[type=radio]:not(:checked))", "button:enabled"):
        for control in controls(page, kind):
            if name_of(control).startswith("Copy"):
                continue
            control.scroll_into_view_if_needed()
            box = control.bounding_box()
            with changes(page, control):
                press(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)


def test_answers_the_mouse(visit):
    hand(visit.page, drag, visit.page.mouse.click)


def test_answers_a_finger(browser, gallery_address, name):
    phone = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
    with visited(browser, gallery_address, name, **phone) as visit:
        hand(visit.page, touch_drag, visit.page.touchscreen.tap)


def test_needs_no_server(browser, gallery, name):
    """From a file, too."""
    with visited(browser, f"file://{gallery}/", name) as visit:
        control = next(controls(visit.page, ":is(input[type=range], input[type=number])"))
        control.focus()
        at_end = control.evaluate("e => e.type === 'range' && +e.value > 0.999")
        with changes(visit.page, control):
            visit.page.keyboard.press("ArrowDown" if at_end else "ArrowUp")


# ---- what is seen ----


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_accessible(seen, theme):
    page = seen.look(theme=theme, width=1000)
    rest(page)
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate("() => axe.run(document, {resultTypes: ['violations']})")
    assert [(each["id"], each["nodes"][0]["html"][:200]) for each in found["violations"]] == []


@pytest.mark.parametrize("width", [320, 390, 768, 1280])
def test_fits(seen, width):
    page = seen.look(width=width)
    rest(page)
    assert page.evaluate("() => document.documentElement.scrollWidth") <= width
    out = page.locator(HOST).evaluate("""host => [...host.shadowRoot.querySelectorAll('svg')].flatMap(svg => {
        const frame = svg.getBoundingClientRect();
        return [...svg.querySelectorAll('text')].filter(text => {
            const { left, right, top, bottom } = text.getBoundingClientRect();
            const beside = left < frame.left - 2 || right > frame.right + 2;
            return beside || top < frame.top - 2 || bottom > frame.bottom + 2;
        }).map(text => text.textContent); })""")
    assert out == [], "letters that reach out of their drawing"


def test_says_what_it_shows(seen):
    page = seen.page
    assert len(page.locator(f"{HOST} .live").get_attribute("aria-label").split()) > 5
    for drawing in controls(page, "svg"):
        assert len(drawing.get_attribute("aria-label").split()) > 3
    for slider in controls(page, "input[type=range]"):
        slider.press("ArrowRight")
        assert slider.get_attribute("aria-valuetext")
    page.wait_for_timeout(400)
    if page.locator(f"{HOST} input[type=range]").count():
        assert len(page.get_by_role("status").inner_text().split()) > 4


# ---- what is computed ----


def test_numbers_are_those_of_lsa(browser, gallery, gallery_address, name):
    start, check = NUMBERS[name]
    write_page(gallery, f"number-{name}", widget_of(name).given | start)
    with visited(browser, gallery_address, f"number-{name}") as visit:
        if not start:  # somewhere else than where it begins
            next(controls(visit.page, ":is(input[type=range], input[type=number])")).focus()
            for _ in range(3):
                visit.page.keyboard.press("ArrowUp")
        found = data(visit.page)
        check(found.pop("state"), found)
