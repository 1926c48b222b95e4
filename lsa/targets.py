"""Laws of the target function f, fresh in every prompt, and the five moments that decide everything.

The reader's own target is any object with

    draw(batch, d, generator) -> f,   f mapping covariates (batch, m, d) to values (batch, m),

one independent function for each of the `batch` prompts. Two things are optional:
`moments(covariates) -> Moments | None` where they are known (None: estimate them by Monte Carlo), and
`rotation_invariant = True` where f and f∘U have the same law for every orthogonal U: then the moments
are averaged over them, and Theorem 3 applies. `fourth` and `square` say that the law is symmetric: give
them where f(−·) ~ f or f ~ −f, for the exact loss of a layer relies on it.
"""

import math
from collections.abc import Callable
from typing import NamedTuple, Protocol

import torch
from torch import Tensor

from . import checks
from .covariates import Covariates, Gaussian, sqrtm

__all__ = ["Cosine", "Linear", "Moments", "Quadratic", "Target"]

Function = Callable[[Tensor], Tensor]


class Moments(NamedTuple):
    """All that a layer's loss knows about a target; m_f = E_x[f(x) x] is the linear part of f.

    `lsa.optimum` needs the first three, `lsa.population_loss` all five.
    """

    C: Tensor  #: E m_f m_fᵀ (d, d)
    S: Tensor  #: E f(x)² x xᵀ (d, d), the label noise not included
    power: float | Tensor  #: E f(x)²
    fourth: float | Tensor = math.nan  #: E f(x)⁴
    square: float | Tensor = math.nan  #: E_f (E_x f(x)²)²


class Target(Protocol):
    """What a target must offer (see the module's text for what it may offer)."""

    def draw(self, batch: int, d: int, generator: torch.Generator | None) -> Function: ...


def normal(*shape: int, generator: torch.Generator | None) -> Tensor:
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def evaluate(target: Target, f: Function, x: Tensor) -> Tensor:
    """f(x) (batch, m) for x (batch, m, d), if it is what a target has to return."""
    try:
        found = f(x)
    except RuntimeError as error:
        how = f"draw(…)(x) for a float64 x, so draw with dtype=torch.float64; f said: {error}"
        checks.fail("target", target, how, TypeError)
    kind = (tuple(found.shape), found.dtype) if isinstance(found, Tensor) else type(found)
    if kind != (tuple(x.shape[:2]), torch.float64):
        checks.fail("target", target, f"draw(…)(x) a float64 tensor of shape {(*x.shape[:2],)}, not {kind}")
    if not torch.isfinite(found).all():
        checks.fail("target", target, "draw(…)(x) with every value finite")
    return found


def isotropic_moments(c: float, s: float, power: float, fourth: float, square: float, d: int) -> Moments:
    """Moments whose matrices are multiples of the identity, from c = E|m_f|² and s = E f²|x|²."""
    eye = torch.eye(d, dtype=torch.float64)
    return Moments(c / d * eye, s / d * eye, power, fourth, square)


def is_standard(covariates: Covariates) -> bool:
    """Are the covariates N(0, I), where the closed forms of this module hold?"""
    return isinstance(covariates, Gaussian) and covariates.is_white


class Linear:
    """f(x) = w·x with w ~ N(μ, Λ): the targets of Theorems 1 and 2."""

    rotation_invariant = False  # the moments below are exact for every Λ; nothing to average

    def __init__(self, prior_covariance: Tensor, prior_mean: Tensor | None = None):
        self.prior_covariance = checks.covariance("prior_covariance", prior_covariance)
        self.d = len(self.prior_covariance)
        zero = torch.zeros(self.d, dtype=torch.float64)
        self.prior_mean = zero if prior_mean is None else checks.vector("prior_mean", prior_mean, self.d)
        self.prior_root = sqrtm(self.prior_covariance)

    def __repr__(self) -> str:
        return f"Linear(d={self.d})"

    def draw_weights(self, batch: int, generator: torch.Generator | int | None = None) -> Tensor:
        """w (batch, d)."""
        z = normal(batch, self.d, generator=checks.generator(generator))
        return self.prior_mean + z @ self.prior_root

    def draw(self, batch: int, d: int, generator: torch.Generator | None) -> Function:
        w = self.draw_weights(batch, generator)
        return lambda x: (x @ w[:, :, None])[..., 0]

    @property
    def centred(self) -> "Linear":
        """The same law with prior mean zero."""
        return Linear(self.prior_covariance) if self.prior_mean.any() else self

    def moments(self, covariates: Covariates) -> Moments:
        mean = torch.outer(self.prior_mean, self.prior_mean)
        second = self.prior_covariance + mean  # E w wᵀ
        sigma = covariates.covariance
        S, power = covariates.fourth(second), (sigma * second).sum().item()
        # Given x, f is Gaussian: E f⁴ = 3 (E[f²|x])² − 2 (E[f|x])⁴. And wᵀΣw is a Gaussian quadratic form.
        fourth = 3 * (second * S).sum() - 2 * (mean * covariates.fourth(mean)).sum()
        spread = sigma @ self.prior_covariance @ sigma
        square = power**2 + 2 * (spread * (second + mean)).sum()
        return Moments(sigma @ second @ sigma, S, power, fourth.item(), square.item())


class Quadratic:
    """xᵀQx − tr Q, Q symmetric with Gaussian entries, scaled to E f² = 1: even, so that c = 0."""

    rotation_invariant = True

    def __repr__(self) -> str:
        return "Quadratic()"

    def draw(self, batch: int, d: int, generator: torch.Generator | None) -> Function:
        a = normal(batch, d, d, generator=generator)
        # Var xᵀqx = 2 tr q²: the scale that makes E f² = 1
        q = (a + a.mT) / (2 * math.sqrt(d * (d + 1)))
        trace = q.diagonal(dim1=1, dim2=2).sum(-1)[:, None]
        return lambda x: ((x @ q) * x).sum(-1) - trace

    def moments(self, covariates: Covariates) -> Moments | None:
        if not is_standard(covariates):
            return None
        d, entries = covariates.d, covariates.d * (covariates.d + 1) / 2
        # Given x, f is Gaussian of variance |xxᵀ − I|² / 2·entries; given f, E_x f² = 2 tr Q² ~ χ² / entries.
        r2, r4, r6, r8 = (math.prod(d + 2 * j for j in range(k)) for k in (1, 2, 3, 4))  # E |x|^2k
        fourth = 3 * (r8 - 4 * r6 + (4 + 2 * d) * r4 - 4 * d * r2 + d**2) / (2 * entries) ** 2
        # a polynomial of pure Hermite degree k has E f²|x|² = (d + 2k) E f²
        return isotropic_moments(0.0, d + 4.0, 1.0, fourth, 1 + 2 / entries, d)


class Cosine:
    """cos(b·x + φ) with b ~ N(0, frequency² I) and φ uniform: random Fourier features."""

    rotation_invariant = True

    def __init__(self, frequency: float = 1.0):
        self.frequency = checks.number("frequency", frequency, above=0)

    def __repr__(self) -> str:
        return f"Cosine(frequency={self.frequency:g})"

    def draw(self, batch: int, d: int, generator: torch.Generator | None) -> Function:
        b = self.frequency * normal(batch, d, 1, generator=generator)
        phase = 2 * math.pi * torch.rand(batch, 1, generator=generator, dtype=torch.float64)
        return lambda x: torch.cos((x @ b)[..., 0] + phase)

    def moments(self, covariates: Covariates) -> Moments | None:
        if not is_standard(covariates):
            return None
        d, square = covariates.d, self.frequency**2
        c = d / 2 * square * (1 + 2 * square) ** (-d / 2 - 1)
        # E_x f² = ½ + ½ exp(−2|b|²) cos 2φ
        return isotropic_moments(c, d / 2, 0.5, 3 / 8, 1 / 4 + (1 + 8 * square) ** (-d / 2) / 8, d)
