"""The playground in a real browser: it trains to what `lsa` knows, and its state travels."""

import pytest
from helpers.live_gallery import HOST, data, drag, visited
from playwright.sync_api import Page

import lsa


@pytest.fixture
def playground(browser, gallery_address):
    allowed = ["clipboard-read", "clipboard-write"]
    with visited(browser, gallery_address, "playground", permissions=allowed) as visit:
        yield visit


def train(page: Page) -> dict:
    page.get_by_role("button", name="Train").click()
    page.get_by_role("button", name="Train").wait_for(timeout=30_000)  # it said Pause meanwhile
    return data(page)


@pytest.mark.parametrize(
    ("preset", "least", "most"),
    [
        ("theorem-1", 0, 1e-9), ("theorem-2", 0, 1e-9), ("theorem-3", 0, 1e-9), ("nothing", 0, 1e-9),
        ("trap", 1.5061768, 1.5061778), ("two-heads", 0, 1e-9), ("mean", 1e-3, 10), ("identity", 0, 1e-6),
    ],
)  # fmt: skip
def test_presets_show_their_claim(playground, preset, least, most):
    page = playground.page
    page.get_by_label("Show me").select_option(preset)
    page.get_by_label("steps per frame").press("End")
    page.get_by_label("Show me").select_option(preset)
    page.emulate_media(reduced_motion="reduce")
    got = train(page)
    assert least <= got["excess"] < most, page.locator(f"{HOST} .says").inner_text()
    assert got["pythagoras"] < 1e-12
    if preset == "mean":
        page.get_by_label("residual stream").check()
        assert train(page)["excess"] < 1e-6
    if preset == "trap":
        trap = max(lsa.traps(lsa.isotropic(3, 40, 0.25)), key=lambda each: each.excess)
        assert got["excess"] == pytest.approx(trap.excess, rel=1e-6)
    if preset == "nothing":
        assert "nothing to learn: η* = 0" in page.locator(f"{HOST} .says").inner_text()


def test_the_copied_python_ends_where_the_page_ends(playground, capsys):
    """After 724 steps, at 1e-9: sums are rounded differently, so that three digits of the excess agree."""
    page = playground.page
    page.emulate_media(reduced_motion="reduce")
    page.get_by_label("Show me").select_option("two-heads")
    got = train(page)
    assert got["step"] > 500
    page.get_by_role("button", name="Copy the Python").click()
    page.get_by_role("button", name="Copied").wait_for()
    exec(page.evaluate("() => navigator.clipboard.readText()"), {})
    *_, excess = capsys.readouterr().out.split()
    assert float(excess) == pytest.approx(got["excess"], rel=6e-3)


def test_pythagoras_holds_wherever_a_weight_is_dragged(playground):
    page = playground.page
    page.get_by_label("Show me").select_option("theorem-2")
    page.get_by_role("button", name="Be one GD step").click()
    assert abs(data(page)["excess"]) < 1e-12
    seen = []
    for number in (3, 11, 27):
        cell = page.locator("table.own").nth(1).locator("td").nth(number)
        for _ in range(3):
            drag(page, cell, (0, -20))
            seen.append(data(page))
    assert len({got["excess"] for got in seen}) == len(seen)  # every move is felt
    assert all(got["pythagoras"] < 1e-13 for got in seen)
    assert seen[-1]["excess"] > 1e-3


def test_the_state_is_in_the_address(playground, browser, gallery_address):
    page = playground.page
    page.get_by_label("dimension d").press("ArrowLeft")
    page.get_by_label("residual stream").check()
    state = data(page)["state"]
    page.get_by_role("button", name="Copy a link").click()
    page.get_by_role("button", name="Copied").wait_for()
    assert page.evaluate("() => location.hash") == "#playground:d=4&residual=true"
    link = page.evaluate("() => navigator.clipboard.readText()")
    with browser.new_context() as context:
        other = context.new_page()
        other.goto(link)
        other.locator(HOST).wait_for()
        other.get_by_label("dimension d").press("ArrowRight")
        other.get_by_label("dimension d").press("ArrowLeft")
        assert data(other)["state"] == state
        other.goto(f"{gallery_address}playground.html#playground:preset=trap")
        other.reload()
        assert other.get_by_label("Show me").input_value() == "trap"
        other.evaluate(
            "() => { location.hash = '#preset=two-heads'; }"
        )  # the first figure of a page needs no name
        other.wait_for_timeout(100)
        assert other.get_by_label("Show me").input_value() == "two-heads"
        other.evaluate("() => { location.hash = '#d=999&n=-4'; }")
        other.wait_for_timeout(100)
        assert {key: data(other)["state"][key] for key in ("d", "n")} == {"d": 8, "n": 1}


def test_the_copied_python_reproduces_what_is_shown(playground, capsys):
    page = playground.page
    page.get_by_label("Show me").select_option("theorem-3")
    for _ in range(3):
        page.get_by_role("button", name="One step").click()
    page.get_by_role("button", name="Copy the Python").click()
    page.get_by_role("button", name="Copied").wait_for()
    got = data(page)
    assert got["step"] == 3
    exec(page.evaluate("() => navigator.clipboard.readText()"), {})
    excess = got["loss"] / got["best"] - 1
    expected = f"L = {got['loss']:.8f}, L* = {got['best']:.8f}, relative excess {excess:.2e}\n"
    assert capsys.readouterr().out == expected


def test_reduced_motion_draws_but_once(playground):
    page = playground.page
    page.emulate_media(reduced_motion="reduce")
    page.locator(HOST).evaluate("""(host) => {
      window.drawn = 0;
      const count = () => { window.drawn++; };
      const drawing = host.shadowRoot.querySelector('svg g:nth-of-type(2)');
      new MutationObserver(count).observe(drawing, { childList: true });
    }""")
    assert train(page)["excess"] < 1e-9
    assert page.evaluate("() => window.drawn") <= 3
