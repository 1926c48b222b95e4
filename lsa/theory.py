"""Closed forms: the best step for every task.

With S = E[(f² + σ²) x xᵀ] and C = E m_f m_fᵀ one formula stands behind the three theorems:

    P* = Σ⁻¹ C (S + (n−1) C)⁻¹,    L* = E f² + σ² − n tr(P* C).
"""

import math
from typing import NamedTuple

import torch
from torch import Tensor

from . import checks
from .baselines import as_preconditioner
from .data import Task
from .targets import Moments, evaluate


class Optimum(NamedTuple):
    """The best one-step predictor x_qᵀ P* Xᵀy of a task.

    No weights of the layer, with any number of heads, do better where x ~ −x and f(−·) ~ f, or where f ~ −f:
    so for linear targets of prior mean zero and for all nonlinear targets of `lsa`.
    """

    preconditioner: Tensor  #: P* (d, d)
    loss: float  #: L*
    step: float | None  #: η* if P* = η* Σ⁻¹, else None
    exact: bool  #: closed form or quadrature, as against Monte Carlo
    standard_error: float  #: of `loss`; zero if exact


def _inverse(matrix: Tensor) -> Tensor:
    """The pseudo-inverse: directions that no covariate ever takes count for nothing."""
    return torch.linalg.pinv(matrix, hermitian=True, rtol=1e-13)


def _best(task: Task, moments: Moments) -> tuple[Tensor, float]:
    """P* and L* from the moments."""
    sigma, n, noise = task.covariates.covariance, task.n, task.noise_variance
    P = _inverse(sigma) @ moments.C @ _inverse(moments.S + noise * sigma + (n - 1) * moments.C)
    return P, float(moments.power) + noise - n * (P * moments.C).sum().item()  # C is symmetric


def _step(P: Tensor, sigma: Tensor) -> float | None:
    """η if P = η Σ⁻¹ (on the range of Σ), else None."""
    range_ = sigma @ _inverse(sigma)
    step = (P @ sigma).trace() / range_.trace()
    deviation = (P @ sigma - step * range_).abs().max()
    return step.item() if deviation <= 1e-9 * (P @ sigma).abs().max() else None


def moments(task: Task) -> Moments | None:
    """The task's moments in closed form or by quadrature; None where only Monte Carlo is left."""
    return checks.instance("task", task, Task, "a lsa.Task").moments


def estimate_moments(
    task: Task, samples: int = 65_536, generator: torch.Generator | int | None = 0
) -> Moments:
    """Monte Carlo estimates from 64 independent groups of functions, `samples` functions in all.

    Each entry has a first dimension of 64: its mean is the estimate, its standard deviation / 8 the standard
    error. Two sets of points for each function make the estimates of E m_f m_fᵀ and E_f (E_x f²)² unbiased.
    """
    groups, points = 64, 32
    batch = checks.integer("samples", samples, 2 * groups) // groups
    generator, d, eye = checks.generator(generator), task.d, torch.eye(task.d, dtype=torch.float64)
    sigma = task.covariates.covariance
    invariant = getattr(task.target, "rotation_invariant", False) and torch.equal(sigma, sigma[0, 0] * eye)
    C, S, power, fourth, square = [], [], [], [], []
    for _ in range(groups):
        f = task.target.draw(batch, d, generator)
        x = task.covariates.sample(batch, 2 * points, generator=generator)  # (batch, 2·points, d)
        y = evaluate(task.target, f, x)
        # m_f from each half of the points: two independent estimates, whose product has no bias
        m = (y[..., None] * x).unflatten(1, (2, points)).mean(2)  # (batch, 2, d)
        weighted = (y[..., None] * x).flatten(0, 1)
        C.append((m[:, 0].T @ m[:, 1] + m[:, 1].T @ m[:, 0]) / (2 * batch))
        S.append(weighted.T @ weighted / len(weighted))
        power.append(y.square().mean())
        fourth.append((y**4).mean())
        square.append(y.square().unflatten(1, (2, points)).mean(2).prod(1).mean())
        if invariant:  # the mean over all rotations: multiples of the identity
            C[-1], S[-1] = C[-1].trace() / d * eye, S[-1].trace() / d * eye
    return Moments(*map(torch.stack, (C, S, power, fourth, square)))


def optimum(task: Task, samples: int = 65_536, generator: torch.Generator | int | None = 0) -> Optimum:
    """The best one-step predictor: Theorems 1–3 and everything between, by one formula.

    `samples` and `generator` serve only targets without known moments.
    """
    known, error = moments(task), 0.0
    exact = known is not None
    if known is None:
        groups = [torch.as_tensor(each) for each in estimate_moments(task, samples, generator)]
        count = len(groups[0])
        known = Moments(*(group.mean(0) for group in groups))
        # the jackknife: what becomes of the estimate when one group is left out?
        others = [(count * mean - group) / (count - 1) for mean, group in zip(known, groups, strict=True)]
        losses = [_best(task, Moments(*left))[1] for left in zip(*others, strict=True)]
        error = math.sqrt((count - 1) * torch.tensor(losses, dtype=torch.float64).var(correction=0).item())
    P, loss = _best(task, known)
    return Optimum(P, loss, _step(P, task.covariates.covariance), exact, error)


def one_step_loss(P: Tensor | float, task: Task) -> float:
    """E (x_qᵀ P Xᵀy − y_q)², exact, for any P and any task with known moments."""
    known = moments(task)
    if known is None:
        checks.fail("task", task.target, "a target whose moments are known for these covariates")
    P, sigma, noise = as_preconditioner(P, task.d), task.covariates.covariance, task.noise_variance
    second = known.S + noise * sigma + (task.n - 1) * known.C  # E[Xᵀy yᵀX] / n
    quadratic = ((sigma @ P) * (P @ second)).sum() - 2 * (P * known.C).sum()
    return (known.power + noise + task.n * quadratic).item()
