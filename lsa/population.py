"""The exact population loss of any weights, for linear targets and Gaussian covariates.

The layer is linear in the Gram matrix G, so that its loss needs no more than the second moments of G, and
those of Gaussian tokens are known. All is written in white coordinates: Σ = I, Λ diagonal, μ = 0.
"""

from functools import lru_cache

import torch
from torch import Tensor

from . import checks
from .covariates import Gaussian
from .data import Task
from .model import LinearSelfAttention

__all__ = ["population_loss"]


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
