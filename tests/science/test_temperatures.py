"""Several temperatures at once: the best gains against two-key formulas, limits, free heads, real layers."""

import math

import numpy as np
import pytest
import torch
from helpers.tasks import conditioned, z_score

import lsa
from lsa.quadrature import length_rule
from lsa.softmax import score_products

TASK = lsa.isotropic(2, 10, 0.25)


@pytest.mark.parametrize("temperatures", [[0.8], [0.0, 1.3], [0.5, 1.4, 0.0], [0.4, 1.1, 2.5]])
@pytest.mark.parametrize(("d", "noise"), [(1, 0.3), (2, 0.25), (4, 0.0)])
def test_two_examples_by_one_integral(d, noise, temperatures):
    """For n = 2 a pair's weights are ± tanh(th/√2) with h = (g₁ − g₂)/√2; in the limit ± rh/(2√2)."""
    x, w = np.polynomial.legendre.leggauss(200)  # for r = |x_q|, where the package has a trapezoidal rule
    r, h = 7 * (x + 1), np.arange(-12, 12, 0.01)
    w = w * r ** (d - 1) * np.exp(-r * r / 2)
    w, density = w / w.sum(), 0.01 * np.exp(-h * h / 2) / math.sqrt(2 * math.pi)
    along = np.multiply.outer(r, h) / 2**0.5
    pairs = [np.tanh(beta * along) if beta else along / 2 for beta in temperatures]
    linear = np.array([w * r @ (a * h * 2**0.5) @ density for a in pairs])
    square = [[w @ (a * b * (2 * h * h + 2 * (d - 1 + noise))) @ density for a in pairs] for b in pairs]
    gains = np.linalg.solve(square, linear)
    found = lsa.softmax_ladder(lsa.isotropic(d, 2, noise), temperatures)
    assert found.loss == pytest.approx(d + noise - linear @ gains, rel=1e-11)
    assert found.gains.tolist() == pytest.approx(gains, rel=1e-6)


@pytest.mark.parametrize(("t", "s"), [(0.5, 4.0), (2.0, 5.0), (4.0, 8.0), (10.0, 4.0), (10.0, 0.3)])
def test_products_of_cold_pairs(t, s):
    h = np.arange(-12, 12, 0.002)
    density = 0.002 * np.exp(-h * h / 2) / math.sqrt(2 * math.pi)
    both = np.tanh(t * h / 2**0.5) * np.tanh(s * h / 2**0.5) * density
    same, opposite = (np.array(score_products(t, sign * s, 2)) for sign in (1, -1))
    assert 2 * (same - opposite) == pytest.approx([2 * both @ h**2, 2 * both.sum()], rel=1e-11)


@pytest.mark.parametrize("task", [TASK, lsa.isotropic(1, 2, 0.0), lsa.skewed(conditioned(3, 9, 1), 7, 0.5)])
def test_one_pair_is_what_softmax_loss_knows(task):
    loss, gains = lsa.softmax_ladder(task, [0.7])
    assert (loss, *gains.tolist()) == pytest.approx(lsa.softmax_loss(task, 0.7, pair=True), rel=1e-12)
    d, n, noise = task.d, task.n, task.noise_variance
    loss, gains = lsa.softmax_ladder(task, [0])
    assert loss == pytest.approx(d + noise - (n - 1) * d / (n + d + noise), rel=1e-12)
    assert gains.item() == pytest.approx(n / (n + d + noise), rel=1e-12)


@pytest.mark.parametrize("n", [2, 3, 10, 300])
def test_zero_is_the_limit(n):
    """Beside a second pair, extrapolated from β = .04 and .02: the error of each is O(β²)."""
    task = lsa.isotropic(2, n, 0.25)
    coarse, fine = (lsa.softmax_ladder(task, [1.2, beta]) for beta in (0.04, 0.02))
    loss, gains = lsa.softmax_ladder(task, [1.2, 0.0])
    assert (4 * fine.loss - coarse.loss) / 3 == pytest.approx(loss, abs=2e-7)
    limits = [each.gains * torch.tensor([1, 2 * beta]) for each, beta in ((coarse, 0.04), (fine, 0.02))]
    torch.testing.assert_close((4 * limits[1] - limits[0]) / 3, gains, atol=1e-4, rtol=1e-4)


def test_odd_scores_suffice():
    """Every head with a gain of its own: the best gains turn out odd, and nothing is won."""
    temperatures = [0.5, 1.4]
    beta, b = np.array([*temperatures, *(-each for each in temperatures)]), 2 - 1 + TASK.noise_variance
    linear, square = np.zeros(4), np.zeros((4, 4))
    for r, weight in zip(*(rule.tolist() for rule in length_rule(2)), strict=True):
        products = np.array([[score_products(one * r, two * r, 10) for two in beta] for one in beta])
        square += weight * products @ [1, b]
        linear += weight * r**2 * beta * (1 - products[..., 1].diagonal())  # Stein's identity
    gains = np.linalg.solve(square, linear)
    loss, odd = lsa.softmax_ladder(TASK, temperatures)
    assert 2 + TASK.noise_variance - linear @ gains == pytest.approx(loss, rel=1e-11)
    assert gains == pytest.approx(torch.cat([odd, -odd]).numpy(), rel=1e-6)


def layer(d, temperatures, gains):
    """The same as a softmax layer: two heads for each pair; the limit pair has β = 0.001."""
    result = lsa.SoftmaxAttention(d, 2 * len(gains), scale=0.0)
    with torch.no_grad():
        for k, (beta, gain) in enumerate(zip(temperatures, gains, strict=True)):
            if beta == 0:
                beta, gain = 1e-3, gain / 2e-3
            for head, sign in ((2 * k, 1), (2 * k + 1, -1)):
                result.M[head, :d], result.a[head, d] = sign * beta * torch.eye(d), sign * gain
    return result


@pytest.mark.parametrize(
    ("task", "temperatures"),
    [
        (TASK, [0, 1.6]),
        (TASK, [0.3, 1.0, 2.0]),
        (lsa.isotropic(3, 5, 0.0), [1.2, 0, 0.5]),
        (TASK, [0.7, 0.701]),
    ],
)
def test_real_layers_lose_that_much(task, temperatures):
    loss, gains = lsa.softmax_ladder(task, temperatures)
    with torch.no_grad():
        losses = layer(task.d, temperatures, gains).sampled_losses(task, 200_000, 1)
    assert abs(z_score(losses, loss)) < 4


@pytest.mark.parametrize(("d", "best", "single", "second", "two"), [
    (2, 0.657, 0.753977, 1.6, 0.744210),
    (3, 0.547, 1.182703, 1.4, 1.167045),
])  # fmt: skip
def test_the_limit_pair_and_a_warm_one_beat_every_single_pair(d, best, single, second, two):
    task = lsa.isotropic(d, 10, 0.25)
    alone = [lsa.softmax_ladder(task, [best + e]).loss for e in (0, -0.02, 0.02)]
    assert alone[0] == min(alone) == pytest.approx(single, abs=1e-6)
    assert lsa.softmax_ladder(task, [0, second]).loss == pytest.approx(two, abs=1e-6)
    assert lsa.score_floor(task) < two


def test_every_further_pair_helps_and_their_order_does_not_matter():
    pairs = [lsa.softmax_ladder(TASK, [1.6, 0, 0.8][:count]) for count in (1, 2, 3)]
    assert pairs[0].loss > pairs[1].loss > pairs[2].loss
    turned = lsa.softmax_ladder(TASK, torch.tensor([0, 1.6], dtype=torch.float64))
    assert turned.gains.tolist() == pytest.approx(pairs[1].gains.flip(0).tolist(), rel=1e-9)


def test_temperatures_too_near_to_tell_apart_count_as_one():
    one, two = (lsa.softmax_ladder(TASK, [0.7, *more]).loss for more in ([], [0.7 + 1e-9]))
    assert two == pytest.approx(one, rel=1e-9)
