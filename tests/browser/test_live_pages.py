"""Every live figure in a real browser, from a server and from a file: quiet, readable, alive, right.

The figures stand on pages made for it (live_gallery.py); test_pages.py has the pages of the book.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from helpers.browser import AXE
from helpers.live_gallery import (
    HOST,
    SHOWN,
    controls,
    data,
    drag,
    finger,
    middle,
    name_of,
    paint_again,
    painted,
    rest,
    shown,
    state,
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
    finger(page, middle(control), by)


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


@pytest.fixture
def phone(browser, gallery_address, name):
    """A figure on a phone, on a page that is long enough to scroll."""
    options = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
    with visited(browser, gallery_address, name, **options) as visit:
        visit.page.evaluate("() => { document.body.style.padding = '500px 0 1500px'; }")
        rest(visit.page)
        yield visit.page


def test_answers_a_finger(phone):
    hand(phone, touch_drag, phone.touchscreen.tap)


def test_home_and_end_lead_to_the_ends(seen):
    page = seen.look(width=1000)
    for knob in controls(page, ".handle"):
        if name_of(knob) == "direction of f":  # turns: there are no ends
            continue
        for end, on in (("Home", "ArrowLeft"), ("End", "ArrowRight")):
            knob.press(end)
            painted(page)
            there = knob.get_attribute("transform")
            knob.press(on)
            painted(page)
            assert knob.get_attribute("transform") == there, name_of(knob)


def scrolled(page: Page) -> float:
    return page.evaluate("() => scrollY")


def centred(page: Page, control: Locator) -> float:
    """How far the page is scrolled once the control stands in its middle, and a swipe before has run out."""
    before = None
    while before != (before := scrolled(page)):
        control.evaluate("e => e.scrollIntoView({ block: 'center' })")
        page.wait_for_timeout(80)
    return before


# Handles that lie on a curve: they follow the finger across only.
ON_A_CURVE = {"ball on the curve", "your start", "query", "examples in the prompt"}
UPRIGHT = {"your guess"}  # others up and down only
WHOLE = {"examples in the prompt": 5}  # in whole numbers, 10 pixels each


def test_a_handle_goes_as_far_as_the_finger(phone):
    for knob in controls(phone, ".handle"):
        words = name_of(knob)
        before = centred(phone, knob)
        x, y = middle(knob.locator(".knob"))
        by = -48 if x > 195 else 48, -36
        finger(phone, (x, y), by)
        rest(phone)
        to_x, to_y = middle(knob.locator(".knob"))
        assert scrolled(phone) == before, f"the page scrolls under {words!r}"
        if words == "direction of f":  # turns
            assert math.hypot(to_x - x, to_y - y) > 30
            continue
        assert to_x - x == pytest.approx(0 if words in UPRIGHT else by[0], abs=WHOLE.get(words, 2)), words
        if words not in ON_A_CURVE:
            assert to_y - y == pytest.approx(by[1], abs=2), words


def test_a_swipe_beside_a_handle_scrolls(phone):
    for knob in controls(phone, ".handle"):
        before = centred(phone, knob)
        spots = [middle(each) for each in controls(phone, ".handle")]
        x, y = middle(knob)
        free = [
            (x + dx, y)
            for dx in (-34, 34, -70, 70)
            if 20 < x + dx < 370 and all(math.hypot(x + dx - u, y - v) > 30 for u, v in spots)
        ]
        if not free:
            continue
        finger(phone, free[0], (0, -120))
        phone.wait_for_timeout(100)
        assert scrolled(phone) > before + 60, name_of(knob)


def test_a_slider_follows_the_finger(phone):
    """And the page stays, though the finger drifts; a swipe that begins on the slider scrolls."""
    for slider in controls(phone, "input[type=range]"):
        centred(phone, slider)
        box, at = slider.bounding_box(), float(slider.input_value())
        x = box["x"] + 9 + at * (box["width"] - 18)
        y = box["y"] + box["height"] / 2
        by = -60 if at > 0.5 else 60
        finger(phone, (x, y), (by, 6))
        rest(phone)
        moved = (float(slider.input_value()) - at) * (box["width"] - 18)
        assert slider.bounding_box()["y"] == pytest.approx(box["y"], abs=2), f"{name_of(slider)!r} runs away"
        assert moved == pytest.approx(by, abs=25), name_of(slider)  # some move in coarse steps
        before = scrolled(phone)
        finger(phone, (box["x"] + box["width"] / 2, y), (2, -120))
        phone.wait_for_timeout(100)
        assert scrolled(phone) > before + 60


def test_controls_are_within_a_screen_of_what_they_change(phone):
    drawings = [each.bounding_box() for each in controls(phone, "svg")]
    for control in controls(phone, ".controls:not(.foot) :is(input, select, button)"):
        box = control.bounding_box()
        spans = [
            max(box["y"] + box["height"], each["y"] + each["height"]) - min(box["y"], each["y"])
            for each in drawings
        ]
        assert min(spans) < 844 or name_of(control) in UNSEEN, name_of(control)


def test_needs_no_server(browser, gallery, name):
    """From a file, too."""
    with visited(browser, f"file://{gallery}/", name) as visit:
        control = next(controls(visit.page, ":is(input[type=range], input[type=number])"))
        control.focus()
        at_end = control.evaluate("e => e.type === 'range' && +e.value > 0.999")
        with changes(visit.page, control):
            visit.page.keyboard.press("ArrowDown" if at_end else "ArrowUp")


# ---- one state ----


def keys_of(control: Locator) -> list[str]:
    if control.get_attribute("type") == "range":
        return ["End", "Home", "PageUp", "PageUp"]
    return ["ArrowLeft", "End", "Home"] if control.get_attribute("role") == "slider" else ["ArrowUp"]


def every_change(page: Page) -> Iterator[str]:
    """Change every control and every handle in every way, and say which."""
    for control in controls(page, ":is(input[type=range], input[type=number], .handle)"):
        for key in keys_of(control):
            control.focus()
            page.keyboard.press(key)
            yield f"{name_of(control)}: {key}"
    for menu in controls(page, "select"):
        for option in menu.evaluate("e => [...e.options].filter(o => o.value).map(o => o.value)"):
            menu.select_option(option)
            yield f"{name_of(menu)}: {option}"
    for kind in ("input[type=checkbox]", "label:has(> input[type=radio])", "button:enabled"):
        for control in controls(page, kind):
            words = name_of(control)
            if words.startswith("Copy"):
                continue
            control.click()
            rest(page)
            pause = page.get_by_role("button", name="❚❚")  # of what this one has started
            if pause.count():
                page.wait_for_timeout(200)
                pause.click()
                rest(page)
            yield words


# Sliders that stand for something else than the number they show.
READ_OTHERWISE = {
    ("flow", "progress"),
    ("reynolds", "progress"),
    ("temperature", "length"),
    ("temperature", "k"),
}
POWER = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹−", "-0123456789-")


def test_what_is_said_is_what_is_drawn(visit, name):
    """After every change, drawing the same state again changes nothing, and controls stand at the state."""
    page = visit.page
    for change in every_change(page):
        now = painted(page)
        paint_again(page)
        assert painted(page) == now, f"{change!r} is not shown at once"
        values = state(page)
        for control in controls(page, ":is(select, input:not([type=radio]), input:checked)"):
            key, kind = control.get_attribute("name"), control.get_attribute("type")
            value = values[key]
            if kind == "checkbox":
                assert control.is_checked() == value, change
            elif kind != "range":
                written = value if isinstance(value, str) else json.dumps(value)
                assert control.input_value() == written, change
            elif (name, key) not in READ_OTHERWISE:
                said = control.get_attribute("aria-valuetext").replace("·10", "e").translate(POWER)
                digits = 5e-2 if "e" in said else 6e-3
                assert float(said.rstrip("°")) == pytest.approx(value, rel=digits, abs=1e-9), change


@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_moves_under_a_slider(seen, width):
    page = seen.look(width=width)
    heights = (
        """host => [...host.shadowRoot.querySelectorAll('svg')].map(svg => +svg.getAttribute('height'))"""
    )
    for slider in controls(page, "input[type=range]"):
        slider.focus()
        found = []
        for key in ("Home", "PageUp", "PageUp", "PageUp", "PageUp", "PageUp", "PageUp", "End"):
            page.keyboard.press(key)
            painted(page)
            found.append([slider.bounding_box()["y"], *page.locator(HOST).evaluate(heights)])
        for each in found:
            assert each == pytest.approx(found[0], abs=2), name_of(slider)


# ---- links and Python ----


def test_the_copied_python_gives_the_same(browser, gallery_address, name, capsys):
    allowed = ["clipboard-read", "clipboard-write"]
    with visited(browser, gallery_address, name, permissions=allowed) as visit:
        page = visit.page
        button = page.get_by_role("button", name="Copy the Python")
        if not button.count():
            return
        for slider in controls(page, "input[type=range]"):
            slider.press("PageUp")
        found = flat([value for key, value in data(page).items() if key != "state"])
        button.click()
        page.get_by_role("button", name="Copied").wait_for()
        exec(page.evaluate("() => navigator.clipboard.readText()"), {})
        said = [float(each) for each in re.findall(r"\d+\.\d{6,}", capsys.readouterr().out)]
        assert said
        assert [x for x in said if pytest.approx(x, rel=2e-6, abs=1e-6) not in found] == []


def opened(page: Page, address: str) -> None:
    page.goto("about:blank")
    page.goto(address)
    page.locator(HOST).wait_for()
    rest(page)


def flat(value) -> list:
    return [x for each in value for x in flat(each)] if isinstance(value, list) else [value]


def test_a_link_brings_the_state(browser, gallery_address, name):
    allowed = ["clipboard-read", "clipboard-write"]
    with visited(browser, gallery_address, name, permissions=allowed) as visit:
        page = visit.page
        for control in controls(page, ":is(input[type=range], input[type=number], .handle)"):
            control.focus()
            page.keyboard.press("ArrowLeft")
            page.keyboard.press("ArrowUp")
        for menu in controls(page, "select"):
            menu.select_option(menu.evaluate("e => e.options[e.options.length - 1].value"))
        for control in [*controls(page, "label:has(> input[type=radio])")][-1:]:
            control.click()
        rest(page)
        wanted = state(page)
        page.get_by_role("button", name="Copy a link").click()
        page.get_by_role("button", name="Copied").wait_for()
        address = page.evaluate("() => navigator.clipboard.readText()")
        assert address.startswith(f"{gallery_address}{name}.html#{name}:")
        opened(page, address)
        found = state(page)
        assert found.keys() == wanted.keys()
        for key, value in wanted.items():
            close = [pytest.approx(x, abs=1e-3) if isinstance(x, float) else x for x in flat(value)]
            assert flat(found[key]) == close, key


def test_an_address_cannot_ask_for_what_no_control_offers(visit, gallery_address, name):
    page = visit.page
    names = state(page).keys()
    ends = {}
    for slider in controls(page, "input[type=range]"):
        slider.focus()
        reached = []
        if slider.get_attribute("name") == "eta":
            continue  # may be held at η*
        for key in ("Home", "End"):
            page.keyboard.press(key)
            painted(page)
            reached.append(state(page)[slider.get_attribute("name")])
        ends[slider.get_attribute("name")] = reached
    opened(page, f"{gallery_address}{name}.html")
    begin = state(page)
    for k, absurd in enumerate(("-1e99", "1e99", "no such", "[[[0]]]", "")):
        values = "&".join(f"{each}={absurd}" for each in names)
        opened(page, f"{gallery_address}{name}.html#{name}:{values}")
        found = state(page)
        assert page.locator(f"{HOST} .says").inner_text()
        if k > 1:
            assert found == begin
        else:
            assert all(found[each] == reached[k] for each, reached in ends.items())


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
