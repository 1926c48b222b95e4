"""The exact population loss of any weights, for every task whose five moments are known.

The layer is linear in the Gram matrix G, so that its loss needs no more than E[G ⊗ G] and E[G m_fᵀ]. With
x ~ −x and f(−·) ~ f, or with f ~ −f and symmetric noise, half of these vanish, and the rest are the moments
of `lsa.Moments` and of the covariates. All is written in white coordinates: Σ = I and, if f is linear, μ = 0.
"""

import torch
from torch import Tensor

from . import checks
from .data import Task
from .model import LinearSelfAttention
from .targets import Linear, Moments
from .white import WhiteMoments

__all__ = ["population_loss", "white_moments", "white_tokens"]


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
    if task.white_moments is not None:
        checks.fail("moments", type(moments), f"None, for those of {task.target!r} are known", TypeError)
    checks.instance("moments", moments, Moments, "a lsa.Moments, as lsa.estimate_moments gives")
    n, noise, law = task.n, task.noise_variance, task.covariates
    groups = (
        WhiteMoments(n, noise, law, Moments(*group))
        for group in zip(*map(torch.as_tensor, moments), strict=True)
    )
    return torch.stack([_loss(layer, task, group) for group in groups])


def _loss(layer: LinearSelfAttention, task: Task, white: WhiteMoments) -> Tensor:
    a, M, h = white_weights(layer, task)
    one, other = M[..., :, None, :, :], M[..., None, :, :, :]  # every pair of heads: (H, 1, …) and (1, H, …)
    second = white.gram_square(one, other, a[..., None, :, :, None])[..., 0]  # E[G M M′ᵀ G] a′, (H, H, d+1)
    quadratic = (a[..., :, None, :] * second).sum((-1, -2, -3))
    return white.q + h.square().sum(-1) - 2 * task.n * (M * white.cross(a, h)).sum((-1, -2, -3)) + quadratic


def white_moments(task: Task) -> WhiteMoments:
    """The moments of a task in white coordinates; an error where they are not known."""
    if (known := task.white_moments) is None:
        expected = "a target whose five moments are known for these covariates; for an estimate pass moments"
        checks.fail("task", task.target, f"{expected} = lsa.estimate_moments(task)", TypeError)
    return known


def white_tokens(task: Task) -> tuple[Tensor, Tensor]:
    """The map (d+1, d+1) from white tokens to the task's, and R = Σ^½ (d, d)."""
    return task.white_tokens


def white_weights(layer: LinearSelfAttention, task: Task) -> tuple[Tensor, Tensor, Tensor]:
    """a (H, d+1), M (H, d+1, d) and h (d,) of the layer in white coordinates."""
    tokens, R = task.white_tokens
    a, M = layer.effective()
    h = layer.residual_weights
    if isinstance(task.target, Linear):
        h = h - task.target.prior_mean
    return a @ tokens, tokens.T @ M @ R, h @ R


def check_layer(layer: LinearSelfAttention, task: Task) -> None:
    """Raise unless the layer fits the task."""
    checks.instance("layer", layer, LinearSelfAttention, "a lsa.LinearSelfAttention")
    checks.instance("task", task, Task, "a lsa.Task")
    layer.check()
    if layer.d != task.d:
        checks.fail("layer", layer.d, f"a layer for d = {task.d}, as the task; this is its d")
