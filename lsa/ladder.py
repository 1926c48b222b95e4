"""The exact ladder of depth: what the best k steps of gradient descent on a prompt can reach.

k steps from zero compute û = p(W) Xᵀy with W = XᵀX and a polynomial p of degree at most k − 1. With ρ(dλ) = λ
times the mean spectrum of W, a measure of mass nd, their loss is

    L(p) = d + σ² + ∫ (−2 p + (λ + σ²) p²) dρ(λ).

Its minimum L*_k over all such p is the k-node Gauss rule of the ridge loss d + σ² − ∫ dρ / (λ + σ²)
(`thm-depth-ladder`). The moments of ρ are integers and the Jacobi matrix of ρ is rational, so that nothing is
rounded before the very end.
"""

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from math import factorial
from operator import mul
from typing import NamedTuple

import torch
from torch import Tensor

from . import checks
from .covariates import Gaussian
from .data import Task
from .quadrature import rule_of_recurrence
from .targets import Linear

__all__ = ["Ladder", "ladder", "polynomial_loss"]


class Ladder(NamedTuple):
    """The best k steps of gradient descent for a task."""

    loss: float  #: L*_k
    nodes: Tensor  #: λ_1 < … < λ_k (k,): where p*_k meets ridge's 1/(λ + σ²); they do not depend on σ²
    steps: Tensor  #: 1/(λ_j + σ²) (k,): steps on the ridge objective ½|y − Xw|² + ½σ²|w|²
    weights: Tensor  #: (k,): Σ_j weights_j g(λ_j) = ∫ g dρ for every polynomial g of degree ≤ 2k − 1
    fraction: Fraction  #: L*_k without rounding


def ladder(task: Task, steps: int) -> Ladder:
    """L*_k for k = `steps` ≥ 0, its nodes and its steps: `thm-depth-ladder`, (`eq-depth-ladder`).

    For linear targets with Gaussian covariates and prior covariance Σ⁻¹ (the identity included). There every
    step is preconditioned by Σ⁻¹, and W and the ridge objective are those of the whitened covariates. No step
    leaves L*_0 = d + σ².
    """
    steps = checks.integer("steps", steps, 0)
    require_white(task)
    noise = Fraction(task.noise_variance)
    alpha, beta = jacobi(task.n, task.d, steps)
    gain = Fraction(0)  # β_0/(σ² + α_0 − β_1/(σ² + α_1 − …)): the Gauss rule as a continued fraction
    for a, b in zip(reversed(alpha), reversed(beta), strict=True):
        gain = b / (noise + a - gain)
    nodes, weights = gauss_rule(task.n, task.d, steps)
    exact = task.d + noise - gain
    return Ladder(float(exact), nodes, 1 / (nodes + task.noise_variance), weights, exact)


def polynomial_loss(p: Callable[[Tensor], Tensor], degree: int, task: Task) -> Tensor:
    """The exact loss of û = p(W) Xᵀy for any polynomial p of at most that degree (`eq-depth-loss`).

    Tasks as for `ladder`. p maps eigenvalues λ (nodes,) to its values there; the result is differentiable in
    whatever p depends on.
    """
    degree = checks.integer("degree", degree, 0)
    require_white(task)
    nodes, weights = gauss_rule(task.n, task.d, degree + 1)
    values, noise = p(nodes), task.noise_variance
    return task.d + noise + (weights * values * ((nodes + noise) * values - 2)).sum()


def require_white(task: Task) -> None:
    """Raise unless the task is isotropic once its covariates are whitened: Λ = Σ⁻¹, μ = 0."""
    checks.instance("task", task, Task, "a lsa.Task")
    expected = "linear targets with Gaussian covariates, prior covariance Σ⁻¹ and prior mean 0"
    target = task.target
    if not isinstance(target, Linear):
        checks.fail("task", target, expected, TypeError)
    if not isinstance(task.covariates, Gaussian):
        checks.fail("task", task.covariates, expected, TypeError)
    sigma, prior = task.covariates.covariance, target.prior_covariance
    gap = (sigma @ prior - torch.eye(task.d, dtype=torch.float64)).abs().max().item()
    if gap > 1e-9 + 1e-14 * (sigma.norm() * prior.norm()).item():  # what inverting Σ may leave
        checks.fail("task", prior, f"{expected}; this is the prior covariance, and Σ times it is not I")
    if target.prior_mean.abs().max() > 0:
        checks.fail("task", target.prior_mean, f"{expected}; this is the prior mean")


def trace_moments(n: int, d: int, count: int) -> list[int]:
    """E tr Wᵏ for k = 1 … count, W = XᵀX with X (n, d) standard normal: exact integers.

    The expansion of tr Wᵏ in zonal polynomials, of which only the shapes (a, b, 1, …, 1) with c ones count.
    Their boxes in the first row, in the second and below each give one factor.
    """

    def products(terms):
        return list(accumulate(terms, mul, initial=1))

    first = products((n + 2 * j) * (d + 2 * j) * (2 * j or 1) for j in range(count))
    second = products((n + 2 * j - 1) * (d + 2 * j - 1) * (2 * j - 1) for j in range(count))
    below = products(-(n - i) * (d - i) * i for i in range(2, count + 1))
    first = [Fraction(x, factorial(2 * a - 1)) if a else 0 for a, x in enumerate(first)]
    second = [Fraction(x, factorial(2 * b - 2)) if b else 0 for b, x in enumerate(second)]
    below = [Fraction(x, factorial(c) * factorial(c + 1)) for c, x in enumerate(below)]
    moments = []
    for k in range(1, count + 1):
        total = first[k] / (2 * k)
        for b in range(1, k // 2 + 1):
            for a in range(b, k - b + 1):
                c = k - a - b
                hooks = (2 * a + c) * (2 * a + c + 1) * (2 * b + c - 1) * (2 * b + c)
                total += first[a] * second[b] * below[c] * Fraction(2 * a - 2 * b + 1, hooks)
        moments.append(int(2 * k * total))
    return moments


@lru_cache(maxsize=256)
def jacobi(n: int, d: int, size: int) -> tuple[list[Fraction], list[Fraction]]:
    """α_0 … and β_0 = nd, β_1 …: the recursion of ρ's orthogonal polynomials, by Chebyshev's algorithm.

    From floats the same algorithm would lose all digits at a size of about six.
    """
    current = [Fraction(m) for m in trace_moments(n, d, 2 * size)]  # the k-th moment of ρ is E tr W^(k+1)
    previous: list[Fraction] = []
    alpha: list[Fraction] = []
    beta: list[Fraction] = []
    for k in range(size):
        # current[l] = ∫ π_k λ^(k+l) dρ, previous[l] = ∫ π_(k−1) λ^(k−1+l) dρ for the monic polynomials π
        before = previous[1] / previous[0] if k else 0
        alpha.append(current[1] / current[0] - before)
        beta.append(current[0] / previous[0] if k else current[0])
        following = [
            current[i + 2] - alpha[-1] * current[i + 1] - (beta[-1] * previous[i + 2] if k else 0)
            for i in range(len(current) - 2)
        ]
        previous, current = current, following
    return alpha, beta


@lru_cache(maxsize=256)
def gauss_rule(n: int, d: int, size: int) -> tuple[Tensor, Tensor]:
    """Nodes (size,), ascending, and weights (size,) of ρ's Gauss rule."""
    return rule_of_recurrence(*jacobi(n, d, size))
