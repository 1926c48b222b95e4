"""One layer of softmax attention, and its exact loss where the scores are β x_i·x_q.

    ŷ = Σ_heads Σ_i π_i aᵀv_i,    π_i = exp(v_iᵀ M x_q) / Σ_j exp(v_jᵀ M x_q),    tokens v_i = [x_i; y_i]

For one head a = (0, γ), M = [βI; 0] and for the pair ±γ, ±β the loss needs no sampling: given r = |x_q| the
scores are βr g_i with independent g_i ~ N(0, 1), everything else integrates out, and with
1/Z = ∫ exp(−uZ) du each moment over all n scores is an integral over u alone (`thm-softmax-exact`).
"""

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn

from . import checks
from .data import Task
from .ladder import require_white
from .prompts import Prompts, check_prompts
from .quadrature import laplace_rule, length_rule, score_rule, tail_to_zero

__all__ = ["SoftmaxAttention", "SoftmaxLoss", "score_floor", "score_moments", "softmax_loss"]


class SoftmaxAttention(nn.Module):
    """Softmax attention, read out at the query: a (heads, d+1) and M (heads, d+1, d), float64.

    a and M mean what they mean in `LinearSelfAttention.effective`; only the scores pass a softmax
    (`eq-softmax-layer`). The entries start as N(0, scale²/(d+1)).
    """

    def __init__(
        self,
        d: int,
        heads: int = 1,
        *,
        scale: float = 0.5,
        generator: torch.Generator | int | None = None,
    ):
        super().__init__()
        self.d, self.heads = checks.integer("d", d, 1), checks.integer("heads", heads, 1)
        scale, generator = checks.number("scale", scale, least=0), checks.generator(generator)
        start = torch.randn(self.heads, self.d + 1, self.d + 1, generator=generator, dtype=torch.float64)
        start = start * (scale / math.sqrt(self.d + 1))
        self.a, self.M = nn.Parameter(start[..., -1].clone()), nn.Parameter(start[..., :-1].clone())

    def extra_repr(self) -> str:
        return f"d={self.d}, heads={self.heads}"

    def forward(self, prompts: Prompts) -> Tensor:
        """Predictions ŷ (B,)."""
        tokens = check_prompts(prompts, self.d).tokens  # (B, n, d+1)
        directions = torch.einsum("hij,bj->bhi", self.M, prompts.x_query)  # M x_q, (B, heads, d+1)
        attention = (directions @ tokens.mT).softmax(-1)  # (B, heads, n)
        return ((attention @ tokens) * self.a).sum((-1, -2))

    def sampled_losses(
        self, task: Task, batch: int, generator: torch.Generator | int | None = None
    ) -> Tensor:
        """Squared errors (batch,) on fresh prompts; y_q has its noise."""
        prompts = checks.instance("task", task, Task, "a lsa.Task").sample(batch, generator)
        return (self(prompts) - prompts.y_query).square()


class SoftmaxLoss(NamedTuple):
    """The exact loss of a softmax head, or of a pair of them."""

    loss: float  #: E (ŷ − y_q)²
    gain: float  #: γ, the best one unless it was given


def softmax_loss(task: Task, beta: float, *, pair: bool = False, gain: float | None = None) -> SoftmaxLoss:
    """The loss of γ Σ_i π_i(β) y_i, or of the pair γ Σ_i (π_i(β) − π_i(−β)) y_i (`thm-softmax-exact`).

    For tasks with Gaussian covariates and prior covariance Σ⁻¹ (the identity included), where the scores are
    β x_iᵀ Σ⁻¹ x_q. Right to about twelve digits.

    beta: the inverse temperature β > 0.
    gain: γ; the best one if None.
    """
    require_white(task)
    beta = checks.number("beta", beta, above=0)
    if pair and task.n == 1:
        checks.fail("task", task.n, "at least two examples for a pair, which says 0 of one; this is n")
    linear = square = 0.0
    for r, weight in zip(*map(Tensor.tolist, length_rule(task.d)), strict=True):
        moments = score_moments(beta * r, task.n, pair=pair)
        linear += weight * r * moments[0]
        square += weight * (moments[1] + (task.d - 1 + task.noise_variance) * moments[2])
    gain = linear / square if gain is None else checks.number("gain", gain)
    return SoftmaxLoss(task.d + task.noise_variance - 2 * gain * linear + gain**2 * square, gain)


def score_floor(task: Task) -> float:
    """The least loss of all ŷ = Σ_i F_i(s_1 … s_n, |x_q|) y_i that see the scores s_i = x_i·x_q alone.

    σ² + d E[b / (χ²_n + b)] with b = d − 1 + σ² (`thm-softmax-floor`), for the tasks of `softmax_loss`.
    """
    require_white(task)
    b = task.d - 1 + task.noise_variance
    if b == 0:
        return 0.0
    # E b/(χ²_n + b) = ∫ exp(−t) (1 + 2t/b)^(−n/2) dt over t > 0
    t, slope = tail_to_zero(torch.arange(-4, 5, 0.05, dtype=torch.float64))
    mean = 0.05 * (torch.exp(-t) * (1 + 2 * t / b) ** (-task.n / 2) * slope).sum().item()
    return task.noise_variance + task.d * mean


def score_moments(t: float, n: int, *, pair: bool = False) -> tuple[float, float, float]:
    """E Σ_i a_i g_i, E (Σ_i a_i g_i)² and E Σ_i a_i² for n independent g_i ~ N(0, 1).

    a = softmax(t g), or softmax(t g) − softmax(−t g) for the pair. Both integrals, over g and over log u,
    are trapezoidal sums of analytic functions that vanish at both ends: they converge exponentially.
    """
    g, density = score_rule(t)
    u, du, e, kernel = laplace_rule(t, n, g)

    def mean(factor: Tensor) -> Tensor:
        """E[factor(g) exp(−u e^(tg))], (u,)."""
        return kernel @ (density * factor)

    phi, first = mean(torch.ones_like(g)), mean(g * e)
    rest, others = phi ** (n - 1), phi ** max(n - 2, 0)  # the other keys: all but one, all but two
    one = n * (du * first * rest).sum()
    two = n * (du * u * (mean((g * e).square()) * rest + (n - 1) * first.square() * others)).sum()
    squares = n * (du * u * mean(e.square()) * rest).sum()
    if not pair:
        return one.item(), two.item(), squares.item()
    cross, overlap = score_products(t, -t, n)
    return 2 * one.item(), 2 * (two.item() - cross), 2 * (squares.item() - overlap)


def score_products(t: float, s: float, n: int) -> tuple[float, float]:
    """E Σ_i a_i g_i Σ_j b_j g_j and E Σ_i a_i b_i for a = softmax(t g), b = softmax(s g).

    With 1/(ZZ′) = ∫∫ exp(−uZ − vZ′) du dv these are integrals over (u, v). Across the ridge where uZ and vZ′
    are of order one the integrand is narrow, so that one of the two rules has to be fine.
    """
    t, s = sorted((t, s), key=abs)
    g, density = score_rule(abs(s))
    _, du, e, first = laplace_rule(t, n, g, fine=abs(t) > 2)  # (u, g)
    _, dv, f, second = laplace_rule(s, n, g)
    second = (second * density).T  # (g, v)
    phi = first @ second
    along, other = (first * (g * e)) @ second, first @ ((g * f)[:, None] * second)
    both, overlap = ((first * (factor * e * f)) @ second for factor in (g.square(), torch.ones_like(g)))
    # all keys but two; faster than a power
    others = torch.exp(max(n - 2, 0) * phi.clamp_min(1e-300).log())
    rest = others * phi if n > 1 else others
    cross = n * (du @ (both * rest + (n - 1) * along * other * others) @ dv)
    return cross.item(), n * (du @ (overlap * rest) @ dv).item()
