"""Laws of the target function f, fresh in every prompt, and the three moments that decide the best step.

The reader's own target is any object with

    draw(batch, d, generator) -> f,   f mapping covariates (batch, m, d) to values (batch, m),

one independent function for each of the `batch` prompts. Two things are optional:
`moments(covariates) -> Moments | None` where they are known (None: estimate them by Monte Carlo), and
`rotation_invariant = True` where f and f∘U have the same law for every rotation U: then the moments
are averaged over rotations, and Theorem 3 applies.
"""

import math
from collections.abc import Callable
from typing import NamedTuple, Protocol

import torch
from torch import Tensor

from . import checks
from .covariates import Covariates, Gaussian, root

Function = Callable[[Tensor], Tensor]


class Moments(NamedTuple):
    """All that `lsa.optimum` needs to know about a target; m_f = E_x[f(x) x] is the linear part of f."""

    C: Tensor  #: E m_f m_fᵀ (d, d)
    S: Tensor  #: E f(x)² x xᵀ (d, d), the label noise not included
    power: float  #: E f(x)²


class Target(Protocol):
    """What a target must offer (see the module's text for what it may offer)."""

    def draw(self, batch: int, d: int, generator: torch.Generator | None) -> Function: ...


def _normal(*shape: int, generator: torch.Generator | None) -> Tensor:
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def _isotropic(c: float, s: float, power: float, d: int) -> Moments:
    """Moments that are multiples of the identity, from c = E|m_f|² and s = E f²|x|²."""
    eye = torch.eye(d, dtype=torch.float64)
    return Moments(c / d * eye, s / d * eye, power)


def _standard(covariates: Covariates) -> bool:
    """Are the covariates N(0, I), where the closed forms of this module hold?"""
    return isinstance(covariates, Gaussian) and covariates._white


class Linear:
    """f(x) = w·x with w ~ N(μ, Λ): the targets of Theorems 1 and 2."""

    rotation_invariant = False  # the moments below are exact for every Λ; nothing to average

    def __init__(self, prior_covariance: Tensor, prior_mean: Tensor | None = None):
        self.prior_covariance = checks.covariance("prior_covariance", prior_covariance)
        self.d = len(self.prior_covariance)
        zero = torch.zeros(self.d, dtype=torch.float64)
        self.prior_mean = zero if prior_mean is None else checks.vector("prior_mean", prior_mean, self.d)
        self._root = root(self.prior_covariance)

    def draw_weights(self, batch: int, generator: torch.Generator | int | None = None) -> Tensor:
        """w (batch, d)."""
        z = _normal(batch, self.d, generator=checks.generator(generator))
        return self.prior_mean + z @ self._root

    def draw(self, batch: int, d: int, generator: torch.Generator | None) -> Function:
        w = self.draw_weights(batch, generator)
        return lambda x: (x @ w[:, :, None])[..., 0]

    def moments(self, covariates: Covariates) -> Moments:
        second = self.prior_covariance + torch.outer(self.prior_mean, self.prior_mean)  # E w wᵀ
        sigma = covariates.covariance
        power = (sigma * second).sum().item()
        return Moments(sigma @ second @ sigma, covariates.fourth(second), power)


class RidgeFunctions:
    """f(x) = Σ_k a_k g(b_k·x): `width` units, |b_k| = radius, a_k ~ N(0, output_scale²/width).

    A single function g(b·x) has no output weight. For x ~ N(0, I) its moments are integrals over a line,
    with u ~ N(0, 1):  c = κ (E u g(ru))²,  s = κ [(d−1) E g(ru)² + E u² g(ru)²],  κ = output_scale².
    """

    rotation_invariant = True

    def __init__(self, width: int | None = None, radius: float = 1.0, output_scale: float = 1.0):
        self.width = None if width is None else checks.integer("width", width, 1)
        self.radius = checks.number("radius", radius, above=0)
        self.output_scale = checks.number("output_scale", output_scale, above=0)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({'' if self.width is None else f'width={self.width}'})"

    def activation(self, u: Tensor) -> Tensor:
        """g, elementwise."""
        raise NotImplementedError

    def line(self, d: int) -> tuple[float, float, float]:
        """E u g(ru), E g(ru)², E u² g(ru)²; here by the trapezoid rule, exact to rounding for smooth g."""
        u = torch.linspace(-12, 12, 4001, dtype=torch.float64)
        density = torch.exp(-(u**2) / 2) * (u[1] - u[0]) / math.sqrt(2 * math.pi)
        g = self.activation(self.radius * u)
        return tuple((density * h).sum().item() for h in (u * g, g**2, (u * g) ** 2))

    def _directions(self, shape: tuple[int, ...], generator: torch.Generator | None) -> Tensor:
        b = _normal(*shape, generator=generator)
        return b * (self.radius / b.norm(dim=-1, keepdim=True))

    def draw(self, batch: int, d: int, generator: torch.Generator | None) -> Function:
        b = self._directions((batch, self.width or 1, d), generator)
        if self.width is None:
            return lambda x: self.activation(x @ b.mT)[..., 0]
        a = _normal(batch, self.width, 1, generator=generator) * (self.output_scale / math.sqrt(self.width))
        return lambda x: (self.activation(x @ b.mT) @ a)[..., 0]

    def moments(self, covariates: Covariates) -> Moments | None:
        if not _standard(covariates):
            return None
        kappa, d = self.output_scale**2, covariates.d
        first, power, second = self.line(d)
        return _isotropic(kappa * first**2, kappa * ((d - 1) * power + second), kappa * power, d)


class ReLUNetwork(RidgeFunctions):
    """A network of (leaky) ReLUs with Gaussian hidden weights b ~ N(0, weight_scale² I)."""

    def __init__(self, width: int, slope: float = 0.0, weight_scale: float = 1.0, output_scale: float = 1.0):
        super().__init__(checks.integer("width", width, 1), output_scale=output_scale)
        self.slope = checks.number("slope", slope)
        self.weight_scale = checks.number("weight_scale", weight_scale, above=0)

    def activation(self, u):
        return torch.where(u > 0, u, self.slope * u)

    def _directions(self, shape, generator):
        return self.weight_scale * _normal(*shape, generator=generator)

    def line(self, d):
        # The activation is homogeneous, so that only E|b|² = weight_scale² d counts.
        r, both = self.weight_scale * math.sqrt(d), (1 + self.slope**2) / 2
        return r * (1 + self.slope) / 2, r**2 * both, 3 * r**2 * both


class ErfNetwork(RidgeFunctions):
    """A network of error functions, every hidden weight of length `radius`."""

    def __init__(self, width: int, radius: float = 1.0, output_scale: float = 1.0):
        super().__init__(checks.integer("width", width, 1), radius, output_scale)

    def activation(self, u):
        return torch.erf(u)

    def line(self, d):
        square = self.radius**2
        power = 2 / math.pi * math.asin(2 * square / (1 + 2 * square))
        tail = 8 / math.pi * square / ((1 + 2 * square) * math.sqrt(1 + 4 * square))
        return 2 * self.radius / math.sqrt(math.pi * (1 + 2 * square)), power, power + tail


class TanhNetwork(ErfNetwork):
    """A network of hyperbolic tangents, every hidden weight of length `radius`; moments by quadrature."""

    line = RidgeFunctions.line

    def activation(self, u):
        return torch.tanh(u)


class _Single(RidgeFunctions):
    """g(b·x) with b uniform on the unit sphere; g's three line moments are given as numbers."""

    values: tuple[float, float, float]

    def __init__(self):
        super().__init__()

    def line(self, d):
        return self.values


class Sign(_Single):
    """sign(b·x), |b| = 1."""

    values = math.sqrt(2 / math.pi), 1.0, 1.0

    def activation(self, u):
        return torch.sign(u)


class Cubic(_Single):
    """(b·x)³, |b| = 1."""

    values = 3.0, 15.0, 105.0

    def activation(self, u):
        return u**3


class Hermite3(_Single):
    """(b·x)³ − 3 b·x, |b| = 1: a cubic with its linear part removed, so that c = 0."""

    values = 0.0, 6.0, 42.0

    def activation(self, u):
        return u**3 - 3 * u


class AbsoluteValue(_Single):
    """|b·x|, |b| = 1: even, so that c = 0."""

    values = 0.0, 1.0, 3.0

    def activation(self, u):
        return u.abs()


class Quadratic:
    """xᵀQx − tr Q, Q symmetric with Gaussian entries, scaled to E f² = 1: even, so that c = 0."""

    rotation_invariant = True

    def draw(self, batch: int, d: int, generator: torch.Generator | None) -> Function:
        a = _normal(batch, d, d, generator=generator)
        q = (a + a.mT) / (2 * math.sqrt(d * (d + 1)))
        trace = q.diagonal(dim1=1, dim2=2).sum(-1)[:, None]
        return lambda x: ((x @ q) * x).sum(-1) - trace

    def moments(self, covariates: Covariates) -> Moments | None:
        d = covariates.d  # a polynomial of pure Hermite degree k has E f²|x|² = (d + 2k) E f²
        return _isotropic(0.0, d + 4.0, 1.0, d) if _standard(covariates) else None


class Cosine:
    """cos(b·x + φ) with b ~ N(0, frequency² I) and φ uniform: random Fourier features."""

    rotation_invariant = True

    def __init__(self, frequency: float = 1.0):
        self.frequency = checks.number("frequency", frequency, above=0)

    def draw(self, batch: int, d: int, generator: torch.Generator | None) -> Function:
        b = self.frequency * _normal(batch, d, 1, generator=generator)
        phase = 2 * math.pi * torch.rand(batch, 1, generator=generator, dtype=torch.float64)
        return lambda x: torch.cos((x @ b)[..., 0] + phase)

    def moments(self, covariates: Covariates) -> Moments | None:
        if not _standard(covariates):
            return None
        d, square = covariates.d, self.frequency**2
        return _isotropic(d / 2 * square * (1 + 2 * square) ** (-d / 2 - 1), d / 2, 0.5, d)
