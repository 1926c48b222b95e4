"""Laws of the covariates x in R^d: mean zero, symmetric, with their second and fourth moments in closed form.

Each law is a square root of its covariance times a white vector z, x = Σ^½ z with E z zᵀ = I. Two numbers,
`kurtosis` and `fourth_scale`, hold all its fourth moments, for symmetric A:

    E[(zᵀAz) z zᵀ] = fourth_scale · (tr A · I + 2A + (kurtosis − 3) diag A).
"""

import math

import torch
from torch import Tensor

from . import checks

__all__ = ["Covariates", "Gaussian", "Rademacher", "Sphere", "Uniform"]


def sqrtm(covariance: Tensor) -> Tensor:
    """The symmetric square root R (d, d) of a positive semi-definite matrix, singular ones included."""
    values, vectors = torch.linalg.eigh(covariance)
    # what rounding leaves of a zero eigenvalue, 1e-16, would have the square root 1e-8
    values = values.where(values > 1e-14 * values[-1], 0)
    return vectors * values.sqrt() @ vectors.T


class Covariates:
    """What the laws share: the dimension `d`, the covariance Σ (d, d) and its square root `root`."""

    kurtosis: float = 3.0
    fourth_scale: float = 1.0

    def __init__(self, covariance: Tensor):
        self.covariance = covariance
        self.d = len(covariance)
        #: whether Σ = I: products with the root are then left out
        self.is_white = torch.equal(covariance, torch.eye(self.d, dtype=torch.float64))
        self.root = covariance if self.is_white else sqrtm(covariance)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(d={self.d})"

    def _draw(self, shape: tuple[int, ...], generator: torch.Generator | None) -> Tensor:
        """White vectors z (*shape, d)."""
        raise NotImplementedError

    def sample(self, *shape: int, generator: torch.Generator | int | None = None) -> Tensor:
        """Independent covariates (*shape, d)."""
        z = self._draw(shape, checks.generator(generator))
        return z if self.is_white else z @ self.root

    def fourth(self, matrix: Tensor) -> Tensor:
        """E[(xᵀAx) x xᵀ] (d, d) for a symmetric A (d, d)."""
        eye = torch.eye(self.d, dtype=torch.float64)
        # to white coordinates, where two numbers say it all, and back
        A = matrix if self.is_white else self.root @ matrix @ self.root
        A = self.fourth_scale * (A.trace() * eye + 2 * A + (self.kurtosis - 3) * A.diag().diag())
        return A if self.is_white else self.root @ A @ self.root


class Gaussian(Covariates):
    """x ~ N(0, Σ), for any positive semi-definite Σ (d, d), singular ones included."""

    def __init__(self, covariance: Tensor):
        super().__init__(checks.covariance("covariance", covariance))

    def _draw(self, shape, generator):
        return torch.randn(*shape, self.d, generator=generator, dtype=torch.float64)


class Rademacher(Covariates):
    """Independent coordinates ±1, each with probability ½."""

    kurtosis = 1.0

    def __init__(self, d: int):
        super().__init__(torch.eye(checks.integer("d", d, 1), dtype=torch.float64))

    def _draw(self, shape, generator):
        return 2.0 * torch.randint(2, (*shape, self.d), generator=generator).double() - 1


class Uniform(Covariates):
    """Independent coordinates, uniform on (−half_width, half_width); the default has variance one."""

    kurtosis = 1.8

    def __init__(self, d: int, half_width: float = math.sqrt(3)):
        self.half_width = checks.number("half_width", half_width, above=0)
        variance = 1.0 if half_width == math.sqrt(3) else self.half_width**2 / 3
        super().__init__(variance * torch.eye(checks.integer("d", d, 1), dtype=torch.float64))

    def _draw(self, shape, generator):
        return (torch.rand(*shape, self.d, generator=generator, dtype=torch.float64) - 0.5) * math.sqrt(12)


class Sphere(Covariates):
    """Uniform on the sphere of radius √d, so that the covariance is the identity."""

    def __init__(self, d: int):
        super().__init__(torch.eye(checks.integer("d", d, 1), dtype=torch.float64))
        # A Gaussian is its radius times a point of the sphere, and E radius⁴ = d(d + 2).
        self.fourth_scale = self.d / (self.d + 2)

    def _draw(self, shape, generator):
        z = torch.randn(*shape, self.d, generator=generator, dtype=torch.float64)
        return z * (math.sqrt(self.d) / z.norm(dim=-1, keepdim=True))
