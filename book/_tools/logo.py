"""Draw book/_static/logo.svg and favicon.svg: the contours of a loss, and one step down.

python book/_tools/logo.py
"""

from __future__ import annotations

import json
from pathlib import Path

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Ellipse

STATIC = Path(__file__).resolve().parents[1] / "_static"
PALETTE = json.loads((STATIC.parents[1] / "lsa" / "show" / "palette.json").read_text(encoding="utf-8"))
LAYER, GD = PALETTE["layer"]["logo"], PALETTE["gd"]["logo"]


def draw(path: Path, rings: np.ndarray, line: float) -> None:
    figure = plt.figure(figsize=(1, 1))
    ax = figure.add_axes((0, 0, 1, 1), xlim=(-1, 1), ylim=(-1, 1), aspect="equal")
    ax.axis("off")
    for ring in rings:
        ellipse = Ellipse((0, 0), 1.8 * ring, 1.1 * ring, angle=35, fill=False, color=LAYER, linewidth=line)
        ax.add_patch(ellipse)
    # the gradient of x A x / 2 at the start, times the step
    turn = np.deg2rad(35)
    axes = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    start = axes @ [0.45, 0.62]
    end = start - 0.27 * axes @ np.diag([1, 1 / 0.55**2]) @ axes.T @ start
    head = f"-|>,head_width={0.12 * line},head_length={0.18 * line}"
    arrow = {"arrowstyle": head, "color": GD, "linewidth": 1.4 * line, "shrinkA": 0, "shrinkB": 0}
    ax.annotate("", end, start, arrowprops=arrow)
    ax.plot(*start, "o", color=GD, markersize=3.6 * line)
    plt.rcParams["svg.hashsalt"] = path.stem
    figure.savefig(path, transparent=True, metadata={"Date": None, "Creator": None})
    plt.close(figure)


if __name__ == "__main__":
    draw(STATIC / "logo.svg", np.array([0.3, 0.6, 0.9, 1.2]) / 1.2 * 1.05, 1.6)
    draw(STATIC / "favicon.svg", np.array([0.5, 1.05]), 4)
