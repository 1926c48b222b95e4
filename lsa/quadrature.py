"""Rules for the laws that prompts are made of: normal and χ² variables, lengths, angles, products of them.

A rule is a pair (nodes, weights). The weights of a law sum to one, so that `weights @ g(nodes)` is a mean. A
Gauss rule with m nodes is exact for polynomials g of degree up to 2m − 1; a trapezoidal sum converges
exponentially for an analytic g that vanishes at both ends.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cache

import numpy as np
import torch
from torch import Tensor

from . import checks

__all__ = [
    "angle_rule",
    "chi_square_rule",
    "laplace_rule",
    "length_rule",
    "normal_grid",
    "normal_rule",
    "product_rule",
    "rule_of_recurrence",
    "score_rule",
]

Rule = tuple[Tensor, Tensor]


def normal_rule(count: int) -> Rule:
    """`count` nodes and weights for N(0, 1)."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(checks.integer("count", count, 1))
    return torch.from_numpy(nodes), torch.from_numpy(weights / weights.sum())


def chi_square_rule(k: int, count: int) -> Rule:
    """`count` nodes and weights for χ² with k degrees of freedom; for k = 0 the one node 0."""
    k, count = checks.integer("k", k, 0), checks.integer("count", count, 1)
    i = torch.arange(count if k else 1, dtype=torch.float64)
    off = torch.diag((i[1:] * (i[1:] + k / 2 - 1)).sqrt(), 1)  # Laguerre's recurrence (Golub and Welsch)
    nodes, vectors = torch.linalg.eigh(torch.diag(2 * i + k / 2) + off + off.T)
    return 2 * nodes, vectors[0].square()


@cache
def normal_grid(count: int) -> Rule:
    """N(0, 1) by the trapezoidal rule, for smooth functions that are not polynomials."""
    u = torch.linspace(-12, 12, count, dtype=torch.float64)
    return u, torch.exp(-(u**2) / 2) * (u[1] - u[0]) / math.sqrt(2 * math.pi)


@cache
def angle_rule(d: int) -> Rule:
    """The angle between two random directions in R^d, of density ∝ sin^(d−2): 100 Gauss nodes."""
    if d == 1:
        return torch.tensor([0.0, math.pi], dtype=torch.float64), torch.full((2,), 0.5, dtype=torch.float64)
    nodes, weights = map(torch.from_numpy, np.polynomial.legendre.leggauss(100))
    reach = min(math.pi / 2, 12 / math.sqrt(d))  # for large d almost all directions are almost orthogonal
    angles = math.pi / 2 + reach * nodes
    weights = weights * angles.sin() ** (d - 2)
    return angles, weights / weights.sum()


def length_rule(d: int) -> Rule:
    """The length r of x ~ N(0, I) in R^d: trapezoidal, in a variable in which both tails vanish very fast."""
    x = torch.arange(-math.log(40), math.log(math.sqrt(d) + 9), 0.5 / math.sqrt(d + 16), dtype=torch.float64)
    r, weights = tail_to_zero(x)
    weights = weights * torch.exp((d - 1) * r.log() - r.square() / 2)
    weights = weights / weights.sum()
    kept = weights > 1e-15
    return r[kept], weights[kept]


def tail_to_zero(x: Tensor, spread: float = 1.0) -> tuple[Tensor, Tensor]:
    """z with log z = spread (x − exp(−x)), which runs to zero faster than exponentially, and dz/dx."""
    z = torch.exp(spread * (x - torch.exp(-x)))
    return z, z * spread * (1 + torch.exp(-x))


def score_rule(t: float) -> tuple[Tensor, Tensor]:
    """Nodes and weights for g ~ N(0, 1), fine enough for softmax(t g)."""
    step = 0.3 / max(1.0, t)
    g = torch.arange(-9.5, 9.5 + step, step, dtype=torch.float64)
    density = torch.exp(-g.square() / 2)
    return g, density / density.sum()


def laplace_rule(t: float, n: int, g: Tensor, *, fine: bool = False) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """A rule (u, du) for 1/Z = ∫ exp(−uZ) du, e = exp(tg), and exp(−u e), (u, g); `fine`: even in log u."""
    size = abs(t)
    if fine:
        nodes = torch.arange(-40 - 10 * size, 4 + 8.5 * size + math.log(n), 0.3, dtype=torch.float64)
        u = slope = nodes.exp() / n
        step = 0.3
    else:
        spread = max(1.0, size / math.sqrt(1 + 2 * math.log(n)))  # log u varies like t times the largest g
        low, high, step = -math.log((40 + 10 * size) / spread), (4 + 8.5 * size + math.log(n)) / spread, 0.1
        u, slope = (z / n for z in tail_to_zero(torch.arange(low, high, step, dtype=torch.float64), spread))
    e = torch.exp(t * g)
    return u, step * slope, e, torch.exp(-u[:, None] * e)


def rule_of_recurrence(alpha: Sequence[Fraction], beta: Sequence[Fraction]) -> Rule:
    """The Gauss rule of a measure on λ > 0, of mass β_0, from its orthogonal polynomials' recurrence.

    Nodes ascend; both have all digits, however small. The nodes are the eigenvalues of the Jacobi matrix.
    They are positive, so that the matrix is B Bᵀ with B bidiagonal: B is found exactly, and the nodes are the
    squares of its singular values. A weight is 1 / Σ_i π_i(λ)² with the orthonormal polynomials π_0, π_1 …
    """
    size = len(alpha)
    B, pivot = torch.zeros(size, size, dtype=torch.float64), Fraction(0)
    for k in range(size):
        below = beta[k] / pivot if k else Fraction(0)
        pivot = alpha[k] - below
        B[k, k] = float(pivot) ** 0.5
        if k:
            B[k, k - 1] = float(below) ** 0.5
    nodes = torch.linalg.svdvals(B).square().flip(0)
    previous, current, total = torch.zeros_like(nodes), torch.ones_like(nodes), torch.zeros_like(nodes)
    for k in range(size):
        current = current / float(beta[k]) ** 0.5
        total += current.square()
        root = float(beta[k]) ** 0.5 if k else 0.0
        previous, current = current, (nodes - float(alpha[k])) * current - root * previous
    return nodes, 1 / total


def product_rule(*rules: Rule) -> Rule:
    """The joint rule of independent variables: nodes (len(rules), all), weights (all,)."""
    nodes, weights = (torch.meshgrid(*parts, indexing="ij") for parts in zip(*rules, strict=True))
    return torch.stack(nodes).flatten(1), torch.stack(weights).prod(0).flatten()
