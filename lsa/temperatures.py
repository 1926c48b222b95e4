"""Several softmax heads, each with a temperature of its own: the best gains and their exact loss.

A head a = (0, γ), M = [βI; 0] says γ Σ_i π_i(β) y_i (`lsa.softmax`). Odd weights suffice: Σ F_i(s) y_i and
−Σ F_i(−s) y_i have the same loss, because x_q ~ −x_q, and the loss is convex in F, so that the mean of both
loses no more. The odd part of a head is a pair ±β, ±γ/2. For given β's the loss is quadratic in the gains.
"""

from collections.abc import Iterable
from typing import NamedTuple

import torch
from torch import Tensor

from . import checks
from .data import Task
from .ladder import require_white
from .quadrature import laplace_rule, length_rule, score_rule
from .softmax import score_moments, score_products

__all__ = ["SoftmaxLadder", "softmax_ladder"]


class SoftmaxLadder(NamedTuple):
    """The best gains of pairs of softmax heads."""

    loss: float  #: E (ŷ − y_q)²
    gains: Tensor  #: γ_k of (π(β_k) − π(−β_k)), (pairs,); for β = 0 of its limit divided by 2β, (s − s̄)/n


def softmax_ladder(task: Task, temperatures: Iterable[float]) -> SoftmaxLadder:
    """The least loss of ŷ = Σ_k γ_k Σ_i (π_i(β_k) − π_i(−β_k)) y_i over all gains γ_k.

    For the tasks of `softmax_loss`. Each product of two pairs is an integral over two variables
    (`thm-softmax-exact`). Temperatures less than about 0.01 apart are told apart no more: rounding hides what
    their pairs differ in, and it is left out.

    temperatures: the inverse temperatures β_k ≥ 0, all different; each is a pair of heads, ±β_k. 0 is the
        limit pair: one step on centred examples, Σ_i (s_i − s̄) y_i / n with s_i = x_iᵀ Σ⁻¹ x_q.
    """
    require_white(task)
    expected = "one or more different numbers ≥ 0"
    beta = checks.real("temperatures", temperatures, expected)
    if beta.ndim != 1 or len(beta) == 0 or beta.min() < 0 or len(set(beta.tolist())) < len(beta):
        checks.fail("temperatures", temperatures, expected)
    if task.n == 1:
        checks.fail("task", task.n, "at least two examples for a pair, which says 0 of one; this is n")
    n, b, pairs = task.n, task.d - 1 + task.noise_variance, range(len(beta))
    linear, square = torch.zeros(len(beta)).double(), torch.zeros(len(beta), len(beta)).double()
    for r, weight in zip(*map(Tensor.tolist, length_rule(task.d)), strict=True):
        t = (beta * r).tolist()
        for k in pairs:
            first, *rest = _moments(t[k], n, r)
            linear[k] += weight * r * first
            square[k, k] += weight * (rest[0] + b * rest[1])
            for j in range(k):
                cross, overlap = _products(t[k], t[j], n, r)
                square[k, j] += weight * (cross + b * overlap)
    square = square + square.tril(-1).T
    size = square.diagonal().sqrt()
    inverse = torch.linalg.pinv(square / size / size[:, None], hermitian=True, rtol=1e-12)
    gains = inverse @ (linear / size) / size
    return SoftmaxLadder(task.d + task.noise_variance - (linear @ gains).item(), gains)


def _moments(t: float, n: int, r: float) -> tuple[float, float, float]:
    """E Σ a_i g_i, E (Σ a_i g_i)² and E Σ a_i² of a pair; a_i = r (g_i − ḡ)/n for t = 0."""
    if t > 0:
        return score_moments(t, n, pair=True)
    return r * (n - 1) / n, r**2 * (n**2 - 1) / n**2, r**2 * (n - 1) / n**2


def _products(t: float, s: float, n: int, r: float) -> tuple[float, float]:
    """E Σ a_i g_i Σ b_j g_j and E Σ a_i b_i of two pairs."""
    if t > 0 and s > 0:
        same, opposite = score_products(t, s, n), score_products(t, -s, n)
        return 2 * (same[0] - opposite[0]), 2 * (same[1] - opposite[1])
    # one is the limit: with v = Σ (g_i − ḡ)²/n and A(t) = E Σ π_i g_i it takes E v Σ π_i g_i = A + tA′/n
    # (by parts in the length of g − ḡ), and A′ = E[Σ π_i g_i² − (Σ π_i g_i)²]
    t = max(t, s)
    g, density = score_rule(t)
    _, du, e, kernel = laplace_rule(t, n, g)
    squares = n * (du * (kernel @ (density * g.square() * e)) * (kernel @ density) ** (n - 1)).sum().item()
    mean, two, _ = score_moments(t, n)
    return 2 * r * (mean + t * (squares - two) / n), 2 * r * mean / n
