"""The figures' style and helpers, and the tables."""

import ast
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
import torch

mpl.use("agg")
import matplotlib.pyplot as plt

import lsa
from lsa import figures


@pytest.fixture(autouse=True)
def _style():
    with mpl.rc_context():
        figures.use_style()
        yield
    plt.close("all")


def test_no_two_actors_share_a_colour_a_line_or_a_marker():
    actors = [figures.LAYER, figures.GD, figures.BAYES, figures.THEORY]
    for key in ("color", "linestyle", "marker", "label"):
        assert len({str(actor[key]) for actor in actors}) == 4


def test_labels_stand_at_the_ends_of_lines_and_apart():
    figure, ax = plt.subplots()
    ax.plot([0, 1], [0, 1.0], **figures.LAYER)
    ax.plot([0, 1, 2], [0, 1.001, np.nan], **figures.GD)
    ax.plot([0, 1], [0, 0.2], **figures.BAYES)
    ax.plot([0, 1], [0.5, 0.5], label="_unnamed")
    ax.set(ylim=(0, 1.2))
    figures.label_lines(ax)
    figure.draw_without_rendering()
    texts = {text.get_text(): text for text in ax.texts}
    assert set(texts) == {"trained layer", "one GD step", "ridge (Bayes)"}
    boxes = {name: text.get_window_extent() for name, text in texts.items()}
    middle = {name: (box.y0 + box.y1) / 2 for name, box in boxes.items()}
    assert boxes["one GD step"].y0 >= boxes["trained layer"].y1  # the higher line has the higher label
    assert middle["ridge (Bayes)"] == pytest.approx(ax.transData.transform((1, 0.2))[1], abs=2)
    assert all(box.x0 > ax.bbox.x1 and box.x1 <= figure.bbox.x1 for box in boxes.values())
    assert texts["trained layer"].get_color() == figures.LAYER["color"]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([0.0, 1.0], [0, 1]),
        ([0.5, 0.5], [0.45, 0.55]),
        ([1.0, 0.0, 0.02], [1, 0, 0.1]),
        ([1.0, 1.0, 0.85], [0.9, 1, 0.8]),
        ([], []),
    ],
)
def test_spread(given, expected):
    np.testing.assert_allclose(figures.spread(given, 0.1), expected)


def test_labels_stand_at_lines_whose_limits_matplotlib_chose():
    figure, ax = plt.subplots()
    ax.loglog([1, 10], [1, 1000], label="rises")
    ax.loglog([1, 10], [1, 1], label="flat")
    figures.label_lines(ax)
    figure.draw_without_rendering()
    at = {text.get_text(): text.get_window_extent() for text in ax.texts}
    for name, value in {"rises": 1000, "flat": 1}.items():
        assert (at[name].y0 + at[name].y1) / 2 == pytest.approx(ax.transData.transform((10, value))[1], abs=2)


def test_band_is_the_median_between_quantiles():
    _, ax = plt.subplots()
    line = figures.band(ax, [1, 2], np.array([[0, 10], [1, 11], [2, 30]]), (0, 1), **figures.LAYER)
    np.testing.assert_allclose(line.get_ydata(), [1, 11])
    edges = ax.collections[0].get_paths()[0].vertices
    assert {tuple(vertex) for vertex in edges} >= {(1, 0), (1, 2), (2, 10), (2, 30)}
    with pytest.raises(ValueError, match=r"runs = \(2, 3\).*\(any, 2\)"):
        figures.band(ax, [1, 2], np.zeros((2, 3)))


def test_heatmap_is_symmetric_about_a_transparent_zero():
    _, ax = plt.subplots()
    image = figures.heatmap(
        ax, torch.tensor([[0.0, -2.0], [1.0, -0.001]]), rows=["a", "b"], columns=["c", "d"]
    )
    assert image.get_clim() == (-2, 2)
    negative, zero, positive = image.cmap([0.0, 0.5, 1.0])
    assert zero[3] < 0.01
    assert negative[3] == positive[3] > 0.5
    assert [text.get_text() for text in ax.texts] == ["0.00", "-2.00", "1.00", "0.00"]
    with pytest.raises(ValueError, match=r"matrix = \(3,\)"):
        figures.heatmap(ax, np.zeros(3))


def test_table():
    columns = {"task": "", "theory": ".3f", "difference": "<1e-12"}
    table = figures.table([("n < 5", torch.tensor(-1e-9), 1e-13), ("n = 20", 12.5, -0.25)], columns)
    assert repr(table) == (
        "task    theory  difference\n"
        "n < 5    0.000     < 1e-12\n"
        "n = 20  12.500    -2.5e-01"
    )  # fmt: skip
    html = table._repr_html_()
    assert html.count('scope="col"') == 3
    assert html.count('<th scope="row"') == 2
    assert "n &lt; 5" in html
    with pytest.raises(ValueError, match=r"rows = \(1, 2\): expected 3 values"):
        figures.table([(1, 2)], columns)


@pytest.mark.parametrize(
    "value", [-3e-13, torch.tensor([[0.0, -3e-13]], requires_grad=True), np.array([1e-14]), [0, 3e-13]]
)
def test_check_tells_what_holds(value, capsys):
    figures.check("largest gap", value, 1e-12)
    assert capsys.readouterr().out == "largest gap < 1e-12 ✓\n"


@pytest.mark.parametrize("value", [2.5e-5, torch.tensor([0, -2.5e-5]), [float("nan"), 2.5e-5], float("inf")])
def test_check_raises_with_the_number(value, capsys):
    largest = np.abs(np.max(np.abs(np.asarray(value))))
    with pytest.raises(AssertionError, match=rf"^largest gap = {largest:.3g}: expected less than 1e-12$"):
        figures.check("largest gap", value, 1e-12)
    assert capsys.readouterr().out == ""


def test_check_wants_something_to_check():
    with pytest.raises(ValueError, match="value"):
        figures.check("largest gap", torch.empty(0), 1e-12)
    with pytest.raises(ValueError, match="tolerance = 0"):
        figures.check("largest gap", 1.0, 0)


def test_science_does_not_import_what_shows_it():
    for path in Path(lsa.__file__).parent.glob("*.py"):
        if path.name == "__init__.py":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = [getattr(node, "module", None) or "", *(alias.name for alias in node.names)]
                assert "show" not in ".".join(names).split("."), path.name
