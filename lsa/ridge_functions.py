"""Targets that see x along a few directions: networks of one hidden layer, and single ridge functions.

For x ~ N(0, I) their moments are integrals over a line, most of them in closed form.
"""

import math

import torch
from torch import Tensor

from . import checks
from .covariates import Covariates
from .quadrature import angle_rule, normal_grid
from .targets import Function, Moments, is_standard, isotropic_moments, normal


class RidgeFunctions:
    """f(x) = Σ_k a_k g(b_k·x): `width` units, |b_k| = radius, a_k ~ N(0, output_scale²/width).

    A single function g(b·x) has no output weight. For x ~ N(0, I) the moments are integrals over a line, with
    u ~ N(0, 1):  c = κ (E u g(ru))²,  s = κ [(d−1) E g(ru)² + E u² g(ru)²],  κ = output_scale². Those of
    fourth order need two units as well, and the angle between their directions.
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

    def line(self, d: int) -> tuple[float, ...]:
        """E u g(ru), E g(ru)², E u² g(ru)²; here by the trapezoid rule, exact to rounding for smooth g."""
        u, density = normal_grid(4001)
        g = self.activation(self.radius * u)
        return tuple((density @ h).item() for h in (u * g, g**2, (u * g) ** 2))

    def units(self, d: int) -> tuple[float, float, float, float]:
        """E g⁴, E g₁²g₂² and, with K_kl = E_x g_k g_l, E K_kk² and E K_12²: one unit and two.

        Here by the trapezoid rule along two axes, a Gauss rule in the angle: exact to rounding for smooth g.
        """
        u, density = normal_grid(241)
        g = self.activation(self.radius * u)
        angles, weights = angle_rule(d)
        cosine, sine = angles.cos()[:, None, None], angles.sin()[:, None, None]
        other = self.activation(self.radius * (cosine * u + sine * u[:, None]))  # (angles, v, u)
        K, both = (density @ h @ (density * k) for h, k in ((other, g), (other**2, g**2)))
        one, same = (density @ g**4).item(), (density @ g**2).item() ** 2
        return one, (weights @ both).item(), same, (weights @ K**2).item()

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
        m, d = self.width or 1, covariates.d
        kappa = self.output_scale**2
        first, power, second = self.line(d)
        one, two, same, different = self.units(d)
        if self.width is None:
            fourth, square = one, same
        else:  # a Gaussian quadratic form in the output weights, of mean tr and variance 2 tr of the square
            fourth = 3 * (kappa / m) ** 2 * (m * one + m * (m - 1) * two)
            square = (kappa / m) ** 2 * (3 * m * same + m * (m - 1) * (power**2 + 2 * different))
        s = kappa * ((d - 1) * power + second)
        return isotropic_moments(kappa * first**2, s, kappa * power, fourth, square, d)


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

    def units(self, d):
        # g(u) = odd·u + even·|u|, and E|uv| = (2/π)(√(1−ρ²) + ρ arcsin ρ) for correlation ρ = cos angle.
        angles, weights = angle_rule(d)
        odd, even = ((1 + sign * self.slope) ** 2 / 4 for sign in (1, -1))
        K = odd * angles.cos() + even * 2 / math.pi * (angles.sin() + (math.pi / 2 - angles) * angles.cos())
        lengths = self.weight_scale**4 * d * (d + 2)  # E |b|⁴
        same = lengths * (1 + self.slope**2) ** 2 / 4
        one = 3 * lengths * (1 + self.slope**4) / 2
        return one, same, same, (self.weight_scale**4 * d**2 * (weights @ K**2)).item()


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
    """g(b·x) with b uniform on the unit sphere; g's three line moments and E g⁴ are given as numbers."""

    values: tuple[float, float, float]
    quartic: float

    def __init__(self):
        super().__init__()

    def line(self, d):
        return self.values

    def units(self, d):
        return self.quartic, math.nan, self.values[1] ** 2, math.nan  # a single unit has no pair


class Sign(_Single):
    """sign(b·x), |b| = 1."""

    values = math.sqrt(2 / math.pi), 1.0, 1.0
    quartic = 1.0

    def activation(self, u):
        return torch.sign(u)


class Cubic(_Single):
    """(b·x)³, |b| = 1."""

    values = 3.0, 15.0, 105.0
    quartic = 10395.0

    def activation(self, u):
        return u**3


class Hermite3(_Single):
    """(b·x)³ − 3 b·x, |b| = 1: a cubic with its linear part removed, so that c = 0."""

    values = 0.0, 6.0, 42.0
    quartic = 3348.0

    def activation(self, u):
        return u**3 - 3 * u


class AbsoluteValue(_Single):
    """|b·x|, |b| = 1: even, so that c = 0."""

    values = 0.0, 1.0, 3.0
    quartic = 3.0

    def activation(self, u):
        return u.abs()
