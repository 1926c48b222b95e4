"""In-context regression tasks: where prompts come from.

A prompt is n labelled pairs (x_i, y_i), y_i = f(x_i) + ε_i with ε_i ~ N(0, σ²), and a query x_q; f is
drawn afresh for every prompt. A token is v_i = [x_i; y_i]; the layer sees the prompt only through the
Gram matrix G = Σ_i v_i v_iᵀ.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from . import checks
from .covariates import Covariates, Gaussian
from .targets import Linear, Target, values


class Prompts(NamedTuple):
    """A batch of B prompts with n examples each."""

    x: Tensor  #: covariates (B, n, d)
    y: Tensor  #: labels (B, n)
    x_query: Tensor  #: query covariates (B, d)
    y_query: Tensor  #: what is to be predicted (B,)

    @classmethod
    def of(cls, x, y, x_query, y_query=None) -> "Prompts":
        """Prompts from torch, numpy or lists of any real type; a copy in float64, every number finite.

        A single prompt may come without its batch dimension. What is to be predicted may be left out: it is
        then NaN, and so is every loss, but not the predictions.
        """
        given = {"x": x, "y": y, "x_query": x_query}
        parts = [checks.real(name, part, "an array of real numbers") for name, part in given.items()]
        if parts[0].ndim == 2:
            parts = [part[None] for part in parts]
            y_query = None if y_query is None else torch.as_tensor(y_query).reshape(1)
        empty = torch.full(parts[0].shape[:1], math.nan, dtype=torch.float64)
        answers = empty if y_query is None else torch.as_tensor(y_query, dtype=torch.float64).clone()
        return matching(cls(*parts, answers))

    @property
    def tokens(self) -> Tensor:
        """v_i = [x_i; y_i] (B, n, d+1)."""
        return torch.cat([self.x, self.y[..., None]], dim=-1)

    @property
    def gram(self) -> Tensor:
        """G = Σ_i v_i v_iᵀ (B, d+1, d+1): all that the layer sees of the examples."""
        return self.tokens.mT @ self.tokens


def matching(prompts: Prompts, d: int | None = None) -> Prompts:
    """The prompts, if their parts fit each other and dimension d: checked where data enters."""
    hint = "; lsa.Prompts.of makes prompts of numbers from anywhere"
    checks.instance("prompts", prompts, Prompts, f"lsa.Prompts, as task.sample gives{hint}")
    for name, part in prompts._asdict().items():
        kind = (part.dtype, part.device.type) if isinstance(part, Tensor) else type(part)
        if kind != (torch.float64, "cpu"):
            checks.fail(f"prompts.{name}", kind, f"a tensor of float64 on the CPU{hint}", TypeError)
    shape, wanted = tuple(prompts.x.shape), "d" if d is None else d
    if len(shape) != 3 or 0 in shape or (d is not None and shape[2] != d):
        checks.fail("prompts.x", shape, f"the shape (B, n, {wanted}): covariates of dimension {wanted}{hint}")
    for name, expected in (("y", shape[:2]), ("x_query", (shape[0], shape[2])), ("y_query", shape[:1])):
        if tuple(found := getattr(prompts, name).shape) != expected:
            checks.fail(f"prompts.{name}", tuple(found), f"the shape {expected}, as x has {shape}")
    return prompts


@dataclass(frozen=True, eq=False)
class Task:
    """A law of prompts: the covariates' law, the target's law, n examples, label noise σ²."""

    covariates: Covariates
    target: Target
    n: int
    noise_variance: float = 0.0

    def __post_init__(self):
        law = "a law of covariates (Gaussian, Rademacher, Sphere, Uniform)"
        checks.instance("covariates", self.covariates, Covariates, law)
        if isinstance(self.target, type) or not callable(getattr(self.target, "draw", None)):
            checks.fail("target", self.target, "an object with a method draw(batch, d, generator)", TypeError)
        object.__setattr__(self, "n", checks.integer("n", self.n, 1))
        object.__setattr__(
            self, "noise_variance", checks.number("noise_variance", self.noise_variance, least=0)
        )
        if self.linear and self.target.d != self.d:
            checks.fail("prior_covariance", (self.target.d,) * 2, f"shape {(self.d,) * 2}, as the covariance")

    @property
    def d(self) -> int:
        """The dimension of the covariates."""
        return self.covariates.d

    @property
    def linear(self) -> bool:
        """Is f(x) = w·x?"""
        return isinstance(self.target, Linear)

    def _noise(self, *shape: int, generator: torch.Generator | None) -> Tensor:
        return math.sqrt(self.noise_variance) * torch.randn(*shape, generator=generator, dtype=torch.float64)

    def sample(self, batch: int, generator: torch.Generator | int | None = None) -> Prompts:
        """`batch` independent prompts, reproducible from the generator (or the seed) alone."""
        batch, generator = checks.integer("batch", batch, 1), checks.generator(generator)
        f = self.target.draw(batch, self.d, generator)
        x = self.covariates.sample(batch, self.n + 1, generator=generator)
        y = values(self.target, f, x) + self._noise(batch, self.n + 1, generator=generator)
        return Prompts(x[:, :-1], y[:, :-1], x[:, -1], y[:, -1])

    def sample_gram(self, batch: int, generator: torch.Generator | int | None = None) -> Tensor:
        """Gram matrices G (batch, d+1, d+1) with the law of `sample(batch).gram`.

        For Gaussian covariates and linear targets the cost does not grow with n: see `gram_factor`.
        """
        if self.linear:
            factor, _ = self.gram_factor(batch, generator)
            return factor @ factor.mT
        return self.sample(batch, generator).gram

    def gram_factor(self, batch: int, generator: torch.Generator | int | None = None):
        """(T, w) with T Tᵀ = G, T (batch, d+1, k), and the weights w (batch, d) of the prompt.

        Linear targets only. (z, ε/σ) is a standard Gaussian in R^(d+1), so that the Gram matrix of n of
        them is Wishart; its Bartlett factor, k = d+1, is triangular, Gaussian below the diagonal, χ on it. It
        exists for n > d; for shorter prompts, and for other covariates, T holds the k = n tokens themselves.
        """
        if not self.linear:
            checks.fail("target", self.target, "lsa.Linear: other targets have no weights w", TypeError)
        batch, generator = checks.integer("batch", batch, 1), checks.generator(generator)
        w = self.target.draw_weights(batch, generator)
        if isinstance(self.covariates, Gaussian) and self.n > self.d:
            factor = self._bartlett(batch, generator)
        else:
            x = self.covariates.sample(batch, self.n, generator=generator).mT
            factor = torch.cat([x, self._noise(batch, 1, self.n, generator=generator)], dim=1)
        factor[:, -1] += (w[:, :, None] * factor[:, :-1]).sum(1)  # y = w·x + ε
        return factor, w

    def _bartlett(self, batch: int, generator: torch.Generator | None) -> Tensor:
        """A factor (batch, d+1, d+1) of the Gram matrix of n tokens [x; ε]."""
        size = self.d + 1
        row, column = torch.tril_indices(size, size, -1)
        factor = torch.zeros(batch, size * size, dtype=torch.float64)
        factor[:, row * size + column] = torch.randn(
            batch, len(row), generator=generator, dtype=torch.float64
        )
        freedom = (self.n - torch.arange(size, dtype=torch.float64)).expand(batch, size)
        factor[:, :: size + 1] = (2 * torch._standard_gamma(freedom / 2, generator=generator)).sqrt()
        factor = factor.view(batch, size, size)
        if not self.covariates._white:
            factor[:, :-1] = self.covariates._root @ factor[:, :-1]
        factor[:, -1] *= math.sqrt(self.noise_variance)
        return factor


def isotropic(d: int, n: int, noise_variance: float = 0.0) -> Task:
    """Theorem 1: x ~ N(0, I), w ~ N(0, I)."""
    eye = torch.eye(checks.integer("d", d, 1), dtype=torch.float64)
    return Task(Gaussian(eye), Linear(eye), n, noise_variance)


def skewed(covariance: Tensor, n: int, noise_variance: float = 0.0) -> Task:
    """Theorem 2: x ~ N(0, Σ), w ~ N(0, Σ⁻¹)."""
    sigma = checks.covariance("covariance", covariance)
    spectrum = torch.linalg.eigvalsh(sigma)
    if spectrum[0] <= 1e-12 * spectrum[-1]:
        expected = "a positive definite matrix of condition number below 1e12, for the prior is its inverse"
        checks.fail("covariance", covariance, expected)
    inverse = torch.linalg.inv(sigma)
    return Task(Gaussian(sigma), Linear((inverse + inverse.T) / 2), n, noise_variance)


def nonlinear(target: Target, d: int, n: int, noise_variance: float = 0.0) -> Task:
    """Theorem 3: x ~ N(0, I), f of any law; the theorem asks that it be invariant under rotations."""
    return Task(
        Gaussian(torch.eye(checks.integer("d", d, 1), dtype=torch.float64)), target, n, noise_variance
    )
