"""Closed forms: the best step for every task, and the exact population loss of any weights.

With S = E[(f² + σ²) x xᵀ] and C = E m_f m_fᵀ one formula stands behind the three theorems:

    P* = Σ⁻¹ C (S + (n−1) C)⁻¹,    L* = E f² + σ² − n tr(P* C).
"""

import math
from functools import lru_cache
from typing import NamedTuple

import torch
from torch import Tensor

from . import checks
from .baselines import as_preconditioner
from .covariates import Gaussian
from .data import Task
from .model import LinearSelfAttention
from .targets import Moments


class Optimum(NamedTuple):
    """The best one-step predictor x_qᵀ P* Xᵀy of a task.

    Where the theorems and their extensions hold (linear targets of prior mean zero; rotation-invariant
    targets with Σ = I) no weights of the layer do better.
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
    return P, moments.power + noise - n * (P * moments.C).sum().item()  # C is symmetric


def _step(P: Tensor, sigma: Tensor) -> float | None:
    """η if P = η Σ⁻¹ (on the range of Σ), else None."""
    range_ = sigma @ _inverse(sigma)
    step = (P @ sigma).trace() / range_.trace()
    deviation = (P @ sigma - step * range_).abs().max()
    return step.item() if deviation <= 1e-9 * (P @ sigma).abs().max() else None


def moments(task: Task) -> Moments | None:
    """C, S and E f² in closed form or by quadrature; None where only Monte Carlo is left."""
    known = getattr(task.target, "moments", None)
    return known(task.covariates) if known else None


def estimate_moments(
    task: Task, samples: int = 65_536, generator: torch.Generator | int | None = 0
) -> list[Moments]:
    """Monte Carlo estimates of the moments from 64 independent groups of functions, `samples` in all.

    Two independent sets of points for each function make the estimate of C = E m_f m_fᵀ unbiased.
    """
    groups, points = 64, 32
    batch = checks.integer("samples", samples, 2 * groups) // groups
    generator, d = checks.generator(generator), task.d
    result = []
    for _ in range(groups):
        f = task.target.draw(batch, d, generator)
        x = task.covariates.sample(batch, 2 * points, generator=generator)
        y = f(x)
        m = (y[..., None] * x).unflatten(1, (2, points)).mean(2)  # (batch, 2, d)
        C = m[:, 0].T @ m[:, 1] / batch
        weighted = (y[..., None] * x).reshape(-1, d)
        S = weighted.T @ weighted / len(weighted)
        C = (C + C.T) / 2
        if getattr(task.target, "rotation_invariant", False) and _isotropic(task.covariates.covariance):
            eye = torch.eye(d, dtype=torch.float64)
            C, S = C.trace() / d * eye, S.trace() / d * eye
        result.append(Moments(C, S, y.square().mean().item()))
    return result


def _isotropic(sigma: Tensor) -> bool:
    return torch.equal(sigma, sigma[0, 0] * torch.eye(len(sigma), dtype=torch.float64))


def _mean(groups: list[Moments]) -> Moments:
    C, S, power = zip(*groups, strict=True)
    return Moments(torch.stack(C).mean(0), torch.stack(S).mean(0), sum(power) / len(power))


def optimum(task: Task, samples: int = 65_536, generator: torch.Generator | int | None = 0) -> Optimum:
    """The best one-step predictor: Theorems 1–3 and everything between, by one formula.

    `samples` and `generator` serve only targets without known moments.
    """
    checks.instance("task", task, Task, "a lsa.Task")
    known = moments(task)
    error = 0.0
    if known is None:
        groups = estimate_moments(task, samples, generator)
        known = _mean(groups)
        # jackknife over the groups
        losses = torch.tensor([_best(task, _mean(groups[:i] + groups[i + 1 :]))[1] for i in range(len(groups))])
        error = math.sqrt((len(groups) - 1) * losses.var(correction=0).item())
    P, loss = _best(task, known)
    return Optimum(P, loss, _step(P, task.covariates.covariance), error == 0.0, error)


def one_step_loss(P: Tensor | float, task: Task) -> float:
    """E (x_qᵀ P Xᵀy − y_q)², exact, for any P and any task with known moments."""
    checks.instance("task", task, Task, "a lsa.Task")
    known = moments(task)
    if known is None:
        checks.fail("task", task.target, "a target whose moments are known for these covariates")
    P, sigma, noise = as_preconditioner(P, task.d), task.covariates.covariance, task.noise_variance
    second = known.S + noise * sigma + (task.n - 1) * known.C  # E[Xᵀy yᵀX] / n
    quadratic = ((sigma @ P) * (P @ second)).sum() - 2 * (P * known.C).sum()
    return (known.power + noise + task.n * quadratic).item()


@lru_cache(maxsize=32)
def _white(task: Task) -> tuple[Tensor, Tensor]:
    """R (d, d) and λ (d,) with x = R z: z ~ N(0, I), and Rᵀ w has the prior covariance diag(λ)."""
    sigma_root = task.covariates._root
    lam, rotation = torch.linalg.eigh(sigma_root @ task.target.prior_covariance @ sigma_root)
    return sigma_root @ rotation, lam.clamp_min(0)


def population_loss(layer: LinearSelfAttention, task: Task) -> Tensor:
    """E (ŷ − y_q)², exact and differentiable, for linear targets, Gaussian covariates and any weights.

    A scalar tensor; (runs,) for a stack of layers. The loss is a polynomial in the weights: the sum over
    pairs of heads of n² E aᵀΨKΨa′ + n E aᵀΨKᵀΨa′ + n E tr(KΨ) aᵀΨa′, where K = M Σ M′ᵀ and Ψ = E[v vᵀ | w],
    written out in coordinates where Σ = I and Λ = diag(λ). O(d³) a head; nothing is inverted, so that
    σ² = 0 and singular Σ and Λ are no special cases.
    """
    check_exact(layer, task)
    (R, lam), n, mu = _white(task), task.n, task.target.prior_mean
    a, M = layer.effective()
    # A prior mean and a change of basis are both linear maps of the tokens.
    gamma, m = a[..., -1], M[..., -1, :] @ R  # (H,), (H, d)
    alpha = (a[..., :-1] + gamma[..., None] * mu) @ R  # (H, d)
    N = R.T @ (M[..., :-1, :] + mu[:, None] * M[..., -1:, :]) @ R  # (H, d, d)
    h = (layer.skip - mu) @ R  # (d,)

    q = lam.sum() + task.noise_variance  # E y²
    q2 = q**2 + 2 * lam.square().sum()  # E (E[y²|w])²
    flat = N.flatten(-2)
    gg = gamma[..., :, None] * gamma[..., None, :]  # (H, H), as all that follow: one entry a pair of heads
    NN, NlN = flat @ flat.mT, flat @ (lam[:, None] * N).flatten(-2).mT
    mm, aa, ala = m @ m.mT, alpha @ alpha.mT, (lam * alpha) @ alpha.mT
    X = torch.einsum("...hij,...ki->...hkj", N, alpha)  # Nᵀα′
    Y = torch.einsum("...hij,...kj->...hki", N, m)  # N m′
    own = X.diagonal(dim1=-3, dim2=-2).sum(-1)  # Σ_heads Nᵀα (d,)
    yq = torch.einsum("...hi,...hki,...k->...hk", alpha, Y, gamma) * q
    yl = torch.einsum("...hki,...ki,...h->...hk", Y, lam * alpha, gamma)
    same = gg * NlN + mm * (ala + gg * q2)  # what aᵀΨKΨa′ and aᵀΨKᵀΨa′ share

    straight = own.square().sum(-1) + _total(same + 2 * (yq + yl))
    yq_t = torch.einsum("...hi,...khi,...k->...hk", alpha, Y, gamma) * q
    yl_t = torch.einsum("...khi,...ki,...h->...hk", Y, lam * alpha, gamma)
    crossed = _total(same + 2 * (yq_t + yl_t)) + (X * X.transpose(-3, -2)).sum((-1, -2, -3))
    trace = _total(NN * (aa + gg * q) + mm * (q * aa + gg * q2) + 2 * (yl + yl_t))

    linear = (gamma * (N.diagonal(dim1=-2, dim2=-1) @ lam)).sum(-1) + (m * alpha * lam).sum((-1, -2))
    carried = own + q * (gamma[..., None] * m).sum(-2)  # E[Σ_heads Mᵀ G a] / n
    skip = h.square().sum(-1) + 2 * n * (h * carried).sum(-1)
    return q - 2 * n * linear + n**2 * straight + n * crossed + n * trace + skip


def _total(pairs: Tensor) -> Tensor:
    return pairs.sum((-1, -2))


def check_exact(layer: LinearSelfAttention, task: Task) -> None:
    """Raise unless `population_loss` is known for this layer and task."""
    checks.instance("layer", layer, LinearSelfAttention, "a lsa.LinearSelfAttention")
    checks.instance("task", task, Task, "a lsa.Task")
    if not task.linear:
        checks.fail("task", task.target, "a linear target for the exact loss", TypeError)
    if not isinstance(task.covariates, Gaussian):
        checks.fail("task", task.covariates, "Gaussian covariates for the exact loss", TypeError)
    if layer.d != task.d:
        checks.fail("layer", layer.d, f"a layer for d = {task.d}, as the task; this is its d")
