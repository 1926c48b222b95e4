"""The exact population loss of any weights, for every task whose five moments are known.

The layer is linear in the Gram matrix G, so that its loss needs no more than E[G ⊗ G] and E[G m_fᵀ]. With
x ~ −x and f(−·) ~ f, or with f ~ −f and symmetric noise, half of these vanish, and the rest are the moments
of `lsa.Moments` and of the covariates. All is written in white coordinates: Σ = I and, if f is linear, μ = 0.
"""

from functools import lru_cache

import torch
from torch import Tensor

from . import checks, theory
from .data import Task
from .model import LinearSelfAttention
from .targets import Moments

__all__ = ["population_loss"]


def population_loss(layer: LinearSelfAttention, task: Task, moments: Moments | None = None) -> Tensor:
    """E (ŷ − y_q)², exact and differentiable, for any weights and every task whose moments are known.

    A scalar tensor; (runs,) for a stack of layers. In white coordinates it is

        L = q + |h|² − 2n Σ_heads ⟨M, J(a)⟩ + Σ_pairs aᵀ E[G M M′ᵀ G] a′,    q = E y².

    O(d³) a pair of heads; nothing of the task is inverted but a regular Σ, so that σ² = 0 and singular Σ and
    Λ are no special cases.

    moments: where the task does not know its own, estimates in their place: `lsa.estimate_moments(task)` has
        64 groups, and so has the result (64, …), whose mean is the estimate, its standard deviation / 8 the
        standard error.
    """
    check_layer(layer, task)
    if moments is None:
        return _loss(layer, task, white_moments(task))
    if known(task):
        checks.fail("moments", type(moments), f"None, for those of {task.target!r} are known", TypeError)
    checks.instance("moments", moments, Moments, "a lsa.Moments, as lsa.estimate_moments gives")
    groups = zip(*moments, strict=True)
    return torch.stack([_loss(layer, task, WhiteMoments(task, Moments(*group))) for group in groups])


def _loss(layer: LinearSelfAttention, task: Task, white: "WhiteMoments") -> Tensor:
    a, M, h = white_weights(layer, task)
    one, other = M[..., :, None, :, :], M[..., None, :, :, :]  # every pair of heads
    second = white.gram_square(one, other, a[..., None, :, :, None])[..., 0]  # E[G M M′ᵀ G] a′, (H, H, d+1)
    quadratic = (a[..., :, None, :] * second).sum((-1, -2, -3))
    return white.q + h.square().sum(-1) - 2 * task.n * (M * white.cross(a, h)).sum((-1, -2, -3)) + quadratic


def known(task: Task) -> bool:
    """Are all five moments of the task known?"""
    return _centred_moments(task) is not None


@lru_cache(maxsize=32)
def _centred_moments(task: Task) -> Moments | None:
    found = task.target.centred.moments(task.covariates) if task.linear else theory.moments(task)
    return found if found and found.fourth == found.fourth and found.square == found.square else None


@lru_cache(maxsize=32)
def white_moments(task: Task) -> "WhiteMoments":
    """The moments of a task in white coordinates; an error where they are not known."""
    moments = _centred_moments(task)
    if moments is None:
        expected = "a target whose five moments are known for these covariates; for an estimate pass moments"
        checks.fail("task", task.target, f"{expected} = lsa.estimate_moments(task)", TypeError)
    return WhiteMoments(task, moments)


@lru_cache(maxsize=32)
def white_tokens(task: Task) -> tuple[Tensor, Tensor]:
    """The map (d+1, d+1) from white tokens to the task's, and R = Σ^½ (d, d).

    A prior mean and a change of basis are both linear maps of the tokens: v = [x; w·x + ε] with x = R z
    and w = μ + w₀ is [[R, 0], [μᵀR, 1]] times the token [z; (Rw₀)·z + ε] of mean-zero weights.
    """
    R = task.covariates._root
    tokens = torch.block_diag(R, torch.ones(1, 1, dtype=torch.float64))
    if task.linear:
        tokens[-1, :-1] = task.target.prior_mean @ R
    return tokens, R


def white_weights(layer: LinearSelfAttention, task: Task) -> tuple[Tensor, Tensor, Tensor]:
    """a (H, d+1), M (H, d+1, d) and h (d,) of the layer in white coordinates."""
    tokens, R = white_tokens(task)
    a, M = layer.effective()
    skip = layer.skip - task.target.prior_mean if task.linear else layer.skip
    return a @ tokens, tokens.T @ M @ R, skip @ R


class WhiteMoments:
    """The moments of G = [[XᵀX, b], [bᵀ, c]], b = Xᵀy, c = yᵀy, in white coordinates."""

    def __init__(self, task: Task, moments: Moments):
        n, noise, law = task.n, task.noise_variance, task.covariates
        self.n, self.kurtosis, self.fourth_scale = n, law.kurtosis, law.fourth_scale
        eye = torch.eye(task.d, dtype=torch.float64)
        inverse = eye if law._white else torch.linalg.pinv(law._root, hermitian=True, rtol=1e-8)
        self.C, S = (inverse @ moment @ inverse for moment in (moments.C, moments.S))
        self.q = moments.power + noise  # E y²
        both = n * (S + noise * eye)
        self.bb = both + n * (n - 1) * self.C  # E b bᵀ
        self.xxc = both + n * (n - 1) * self.q * eye  # E XᵀX c
        self.cc = n * (moments.fourth + 6 * noise * moments.power + 3 * noise**2)  # E c²
        self.cc += n * (n - 1) * (moments.square + 2 * noise * moments.power + noise**2)

    def gram_square(self, left: Tensor, right: Tensor, V: Tensor) -> Tensor:
        """E[G A G] V for A = left rightᵀ = [[K, u], [vᵀ, e]], with left, right (…, d+1, j) and V (…, d+1, k).

            E[G A G] = [[E[XᵀX K XᵀX] + e E[bbᵀ],  E[bbᵀ] v + E[XᵀX c] u], [⋯ᵀ, ⟨K, E[bbᵀ]⟩ + e E c²]]

        The factors are not multiplied out: for a vector V all but one product cost O(d²).
        """
        N, m, N_, m_ = left[..., :-1, :], left[..., -1:, :], right[..., :-1, :], right[..., -1:, :]
        u, v, e = N @ m_.mT, N_ @ m.mT, m @ m_.mT
        x, y = V[..., :-1, :], V[..., -1:, :]
        diagonal = (N * N_).sum(-1, keepdim=True)  # of K
        along, across = N @ (N_.mT @ x), N_ @ (N.mT @ x)  # K x, Kᵀ x
        fourth = diagonal.sum(-2, keepdim=True) * x + along + across + (self.kurtosis - 3) * diagonal * x
        xx = self.n * self.fourth_scale * fourth + self.n * (self.n - 1) * along + e * (self.bb @ x)
        yx = self.xxc @ v + self.bb @ u
        yy = (N * (self.bb @ N_)).sum((-1, -2))[..., None, None] + e * self.cc
        return torch.cat([xx + (self.bb @ v + self.xxc @ u) * y, yx.mT @ x + yy * y], -2)

    def cross(self, a: Tensor, h: Tensor) -> Tensor:
        """J(a) = E[G a (m_f − h)ᵀ] / n, (…, H, d+1, d)."""
        alpha, gamma, h = a[..., :-1], a[..., -1:], h[..., None, :]
        x = gamma[..., None] * self.C - alpha[..., :, None] * h[..., None, :]
        return torch.cat([x, (alpha @ self.C - self.q * gamma * h)[..., None, :]], -2)

    def cross_transposed(self, M: Tensor, h: Tensor) -> Tensor:
        """The vector (H, d+1) whose product with a is ⟨M, J(a)⟩."""
        N, m = M[..., :-1, :], M[..., -1, :]
        y = (N * self.C).sum((-1, -2)) - self.q * (m @ h)
        return torch.cat([m @ self.C - N @ h, y[..., None]], -1)


def check_layer(layer: LinearSelfAttention, task: Task) -> None:
    """Raise unless the layer fits the task."""
    checks.instance("layer", layer, LinearSelfAttention, "a lsa.LinearSelfAttention")
    checks.instance("task", task, Task, "a lsa.Task")
    layer.check()
    if layer.d != task.d:
        checks.fail("layer", layer.d, f"a layer for d = {task.d}, as the task; this is its d")
