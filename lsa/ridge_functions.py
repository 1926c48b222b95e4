"""Targets that see x along a few directions: networks of one hidden layer, and single ridge functions.

For x ~ N(0, I) their moments are integrals over a line, most of them in closed form.
"""

import math

import torch
from torch import Tensor

from . import checks
from .covariates import Covariates
from .targets import Function, Moments, is_standard, isotropic_moments, normal


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
        b = normal(*shape, generator=generator)
        return b * (self.radius / b.norm(dim=-1, keepdim=True))

    def draw(self, batch: int, d: int, generator: torch.Generator | None) -> Function:
        b = self._directions((batch, self.width or 1, d), generator)
        if self.width is None:
            return lambda x: self.activation(x @ b.mT)[..., 0]
        a = normal(batch, self.width, 1, generator=generator) * (self.output_scale / math.sqrt(self.width))
        return lambda x: (self.activation(x @ b.mT) @ a)[..., 0]

    def moments(self, covariates: Covariates) -> Moments | None:
        if not is_standard(covariates):
            return None
        kappa, d = self.output_scale**2, covariates.d
        first, power, second = self.line(d)
        return isotropic_moments(kappa * first**2, kappa * ((d - 1) * power + second), kappa * power, d)


class ReLUNetwork(RidgeFunctions):
    """A network of (leaky) ReLUs with Gaussian hidden weights b ~ N(0, weight_scale² I)."""

    def __init__(self, width: int, slope: float = 0.0, weight_scale: float = 1.0, output_scale: float = 1.0):
        super().__init__(checks.integer("width", width, 1), output_scale=output_scale)
        self.slope = checks.number("slope", slope)
        self.weight_scale = checks.number("weight_scale", weight_scale, above=0)

    def activation(self, u):
        return torch.where(u > 0, u, self.slope * u)

    def _directions(self, shape, generator):
        return self.weight_scale * normal(*shape, generator=generator)

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
