"""Gauss rules against moments, and against integrals by mpmath."""

import math

import mpmath
import pytest
import torch

from lsa.quadrature import chi_square_rule, normal_rule, product_rule

BAD = [(normal_rule, (0,)), (normal_rule, (2.5,)), (chi_square_rule, (-1, 3))]


def test_normal_rule_is_exact_to_its_degree():
    nodes, weights = normal_rule(6)
    for power in range(12):
        exact = math.prod(range(1, power, 2)) if power % 2 == 0 else 0
        assert (weights @ nodes**power).item() == pytest.approx(exact, rel=1e-12, abs=1e-10)
    assert (weights @ nodes**12).item() < math.prod(range(1, 12, 2)) * 0.99


@pytest.mark.parametrize("k", [1, 2, 5, 30])
def test_chi_square_rule(k):
    nodes, weights = chi_square_rule(k, 7)
    for power in range(14):
        exact = math.prod(k + 2 * j for j in range(power))
        assert (weights @ nodes**power).item() == pytest.approx(exact, rel=1e-11)
    density = lambda x: x ** (mpmath.mpf(k) / 2 - 1) * mpmath.exp(-x / 2)  # noqa: E731
    places = [0, 1, 20, 200]
    mean = mpmath.quad(lambda x: density(x) / (x + 9), places) / mpmath.quad(density, places)
    nodes, weights = chi_square_rule(k, 40)
    assert (weights @ (1 / (nodes + 9))).item() == pytest.approx(float(mean), rel=1e-8)


def test_no_degrees_of_freedom():
    nodes, weights = chi_square_rule(0, 9)
    assert (nodes.tolist(), weights.tolist()) == ([0.0], [1.0])


def test_product_rule():
    (x, y, z), weights = product_rule(normal_rule(3), chi_square_rule(4, 2), normal_rule(4))
    assert weights.shape == (24,)
    mean = weights @ (x**2 * y**3 * z**6 + x * z)
    assert mean.item() == pytest.approx(1 * 4 * 6 * 8 * 15, rel=1e-12)
    assert weights.sum().item() == pytest.approx(1, rel=1e-14)


@pytest.mark.parametrize(("rule", "given"), BAD)
def test_bad_input(rule, given):
    with pytest.raises((ValueError, TypeError), match="expected"):
        rule(*given)


def test_rules_are_float64():
    assert {part.dtype for part in (*normal_rule(2), *chi_square_rule(3, 2))} == {torch.float64}
