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
) -> Moments:
    """Monte Carlo estimates from 64 independent groups of functions, `samples` functions in all.

    Each entry has a first dimension of 64: its mean is the estimate, its standard deviation / 8 the standard
    error. Two sets of points for each function make the estimate of C = E m_f m_fᵀ unbiased.
    """
    groups, points = 64, 32
    batch = checks.integer("samples", samples, 2 * groups) // groups
    generator, d, eye = checks.generator(generator), task.d, torch.eye(task.d, dtype=torch.float64)
    sigma = task.covariates.covariance
    invariant = getattr(task.target, "rotation_invariant", False) and torch.equal(sigma, sigma[0, 0] * eye)
    C, S, power = [], [], []
    for _ in range(groups):
        f = task.target.draw(batch, d, generator)
        x = task.covariates.sample(batch, 2 * points, generator=generator)
        y = f(x)
        m = (y[..., None] * x).unflatten(1, (2, points)).mean(2)  # (batch, 2, d)
        weighted = (y[..., None] * x).flatten(0, 1)
        C.append((m[:, 0].T @ m[:, 1] + m[:, 1].T @ m[:, 0]) / (2 * batch))
        S.append(weighted.T @ weighted / len(weighted))
        power.append(y.square().mean())
        if invariant:
            C[-1], S[-1] = C[-1].trace() / d * eye, S[-1].trace() / d * eye
    return Moments(torch.stack(C), torch.stack(S), torch.stack(power))


def optimum(task: Task, samples: int = 65_536, generator: torch.Generator | int | None = 0) -> Optimum:
    """The best one-step predictor: Theorems 1–3 and everything between, by one formula.

    `samples` and `generator` serve only targets without known moments.
    """
    checks.instance("task", task, Task, "a lsa.Task")
    known, error = moments(task), 0.0
    if known is None:
        groups = estimate_moments(task, samples, generator)
        count = len(groups.power)
        known = Moments(groups.C.mean(0), groups.S.mean(0), groups.power.mean().item())
        # the jackknife: what becomes of the estimate when one group is left out?
        others = Moments(
            *((count * mean - group) / (count - 1) for mean, group in zip(known, groups, strict=True))
        )
        losses = torch.tensor([_best(task, Moments(*left))[1] for left in zip(*others, strict=True)])
        error = math.sqrt((count - 1) * losses.var(correction=0).item())
    P, loss = _best(task, known)
    return Optimum(P, float(loss), _step(P, task.covariates.covariance), moments(task) is not None, error)


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

    A scalar tensor; (runs,) for a stack of layers. In white coordinates (Σ = I, Λ diagonal, μ = 0) it is

        L = q + |h|² − 2n Σ_heads ⟨M, J(a)⟩ + Σ_pairs aᵀ E[G M M′ᵀ G] a′,    q = E y².

    O(d³) a pair of heads; nothing is inverted, so that σ² = 0 and singular Σ and Λ are no special cases.
    """
    check_exact(layer, task)
    a, M, h = white_weights(layer, task)
    white = WhiteMoments(task)
    one, other = M[..., :, None, :, :], M[..., None, :, :, :]  # every pair of heads
    second = white.gram_square(one, other, a[..., None, :, :, None])[..., 0]  # E[G M M′ᵀ G] a′, (H, H, d+1)
    quadratic = (a[..., :, None, :] * second).sum((-1, -2, -3))
    return white.q + h.square().sum(-1) - 2 * task.n * (M * white.cross(a, h)).sum((-1, -2, -3)) + quadratic


def white_tokens(task: Task) -> tuple[Tensor, Tensor]:
    """The map (d+1, d+1) from white tokens to the task's, and R (d, d).

    A prior mean and a change of basis are both linear maps of the tokens: v = [x; w·x + ε] with x = R z
    and w = μ + w₀ is [[R, 0], [μᵀR, 1]] times the token [z; (Rᵀw₀)·z + ε] of mean-zero weights.
    """
    R, mu = _white(task)[0], task.target.prior_mean
    tokens = torch.block_diag(R, torch.ones(1, 1, dtype=torch.float64))
    tokens[-1, :-1] = mu @ R
    return tokens, R


def white_weights(layer: LinearSelfAttention, task: Task) -> tuple[Tensor, Tensor, Tensor]:
    """a (H, d+1), M (H, d+1, d) and h (d,) of the layer in white coordinates."""
    tokens, R = white_tokens(task)
    a, M = layer.effective()
    return a @ tokens, tokens.T @ M @ R, (layer.skip - task.target.prior_mean) @ R


class WhiteMoments:
    """Moments of G in white coordinates, where Ψ = E[v vᵀ | w] = [[I, w], [wᵀ, |w|² + σ²]]."""

    def __init__(self, task: Task):
        self.n, self.lam = task.n, _white(task)[1]
        self.q = self.lam.sum() + task.noise_variance  # E Ψ_yy
        self.q2 = self.q**2 + 2 * self.lam.square().sum()  # E Ψ_yy²

    def gram_square(self, left: Tensor, right: Tensor, V: Tensor) -> Tensor:
        """E[G A G] V for A = left rightᵀ, with left and right (…, d+1, j) and V (…, d+1, k).

        E[G A G] = n² E[ΨAΨ] + n E[ΨAᵀΨ] + n E[tr(AΨ) Ψ]. The factors are never multiplied out: for a vector V
        the cost is O(d²).
        """
        n, lam, q, q2 = self.n, self.lam[:, None], self.q, self.q2
        N, m, N_, m_ = left[..., :-1, :], left[..., -1:, :], right[..., :-1, :], right[..., -1:, :]
        b, c, e = N @ m_.mT, N_ @ m.mT, m @ m_.mT  # A = [[N N_ᵀ, b], [cᵀ, e]]
        scaled = lam * N_
        trace, spread = (N * N_).sum((-1, -2))[..., None, None], (N * scaled).sum((-1, -2))[..., None, None]
        both = n * lam * (b + c)
        xy = n**2 * (lam * c + q * b) + n * (lam * b + q * c) + both
        yx = n**2 * (lam * b + q * c) + n * (lam * c + q * b) + both
        yy = n * (n + 1) * (spread + e * q2) + n * (trace * q + e * q2)
        x, y = V[..., :-1, :], V[..., -1:, :]
        straight = n**2 * (N @ (N_.mT @ x)) + n * (N_ @ (N.mT @ x))
        diagonal = n * (n + 1) * e * lam + n * (trace + e * q)
        return torch.cat([straight + diagonal * x + xy * y, yx.mT @ x + yy * y], -2)

    def cross(self, a: Tensor, h: Tensor) -> Tensor:
        """J(a) = E[G a (w − h)ᵀ] / n, (…, H, d+1, d)."""
        alpha, gamma, h = a[..., :-1], a[..., -1:], h[..., None, :]
        x = torch.diag_embed(gamma * self.lam) - alpha[..., :, None] * h[..., None, :]
        return torch.cat([x, (self.lam * alpha - self.q * gamma * h)[..., None, :]], -2)

    def cross_transposed(self, M: Tensor, h: Tensor) -> Tensor:
        """The vector (H, d+1) whose product with a is ⟨M, J(a)⟩."""
        N, m = M[..., :-1, :], M[..., -1, :]
        x = self.lam * m - N @ h
        y = (N.diagonal(dim1=-2, dim2=-1) * self.lam).sum(-1) - self.q * (m @ h)
        return torch.cat([x, y[..., None]], -1)


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
