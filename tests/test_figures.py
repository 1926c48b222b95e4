"""The figures' style and helpers, and the tables."""

import matplotlib as mpl
import numpy as np
import pytest
import torch

mpl.use("agg")
import matplotlib.pyplot as plt

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


def test_ellipse_solves_its_equation():
    _, ax = plt.subplots()
    matrix = np.array([[2.0, 0.5], [0.5, 1.0]])
    points = figures.ellipse(ax, matrix, centre=(1, 2), **figures.GD).get_xydata() - [1, 2]
    np.testing.assert_allclose(np.einsum("ni,ij,nj->n", points, np.linalg.inv(matrix), points), 1)
    with pytest.raises(ValueError, match="matrix"):
        figures.ellipse(ax, [[1, 2], [3, 4]])


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
