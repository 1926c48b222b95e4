"""The mathematics of the figure `target`: functions of the plane, their linear parts, and one step's loss."""

import math

import numpy as np
import pytest
import torch
from helpers.javascript import node

import lsa

FAMILIES = {
    "linear": lsa.Linear(torch.eye(2)),
    "relu": lsa.ReLUNetwork(3),
    "sign": lsa.Sign(),
    "cubic": lsa.Cubic(),
    "cosine": lsa.Cosine(1.0),
    "hermite3": lsa.Hermite3(),
    "absolute": lsa.AbsoluteValue(),
}
CODE = """
import { planar, planarMoments, stepLoss } from "./planar.js";
const { points, seeds, n, noise, eta } = given;
console.log(JSON.stringify(given.families.map((family) => {
  const known = planarMoments(family), { s, best, loss } = stepLoss(known, 2, n, noise), { c, power } = known;
  const drawn = seeds.map((seed) => planar(family, 0.3 * seed, seed));
  const functions = drawn.map(({ f, m }) => [points.map(f), m]);
  return { c, s, power, best, lowest: loss(best), other: loss(eta), functions };
})));
"""


@pytest.fixture(scope="module")
def answered():
    # Polar coordinates: the functions are smooth along a ray; kinks and jumps lie between the 720 rays.
    nodes, weight = np.polynomial.legendre.leggauss(60)
    radius = 6 * (1 + nodes)
    weight = 6 * weight * radius * np.exp(-(radius**2) / 2)
    angle = 2 * math.pi * (np.arange(720) + 0.5) / 720
    x = radius[:, None, None] * np.stack([np.cos(angle), np.sin(angle)], -1)  # (60, 720, 2)
    given = {"families": list(FAMILIES), "points": x.reshape(-1, 2).tolist(), "seeds": [1, 2, 3]}
    found = node(CODE, given | {"n": 7, "noise": 0.3, "eta": 0.11})
    return x.reshape(-1, 2), np.repeat(weight / 720, 720), dict(zip(FAMILIES, found, strict=True))


@pytest.mark.parametrize("family", FAMILIES)
def test_the_linear_part_is_the_mean_of_f_times_x(answered, family):
    x, weight, found = answered
    for values, m in found[family]["functions"]:
        assert np.allclose((weight * np.array(values)) @ x, m, atol=5e-3)


@pytest.mark.parametrize("family", FAMILIES)
def test_step_and_loss_are_those_of_lsa(answered, family):
    task, found = lsa.nonlinear(FAMILIES[family], 2, 7, 0.3), answered[2][family]
    best, known = lsa.optimum(task), lsa.moments(task)
    expected = [known.C.trace(), known.S.trace() + 0.6, known.power, best.step, best.loss]
    expected.append(lsa.one_step_loss(0.11, task))
    names = ("c", "s", "power", "best", "lowest", "other")
    assert np.allclose([found[name] for name in names], expected, rtol=1e-12, atol=1e-13)
