"""In-context regression tasks: where prompts come from.

A prompt has n labels y_i = f(x_i) + ε_i with ε_i ~ N(0, σ²); f is drawn afresh for every prompt.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from . import checks
from .covariates import Covariates, Gaussian
from .prompts import Prompts
from .targets import Linear, Moments, Target, evaluate
from .white import WhiteMoments

__all__ = ["Task", "isotropic", "nonlinear", "skewed"]


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
        if isinstance(self.target, Linear) and self.target.d != self.d:
            checks.fail("prior_covariance", (self.target.d,) * 2, f"shape {(self.d,) * 2}, as the covariance")

    @property
    def d(self) -> int:
        """The dimension of the covariates."""
        return self.covariates.d

    @property
    def linear(self) -> bool:
        """Whether f(x) = w·x."""
        return isinstance(self.target, Linear)

    @cached_property
    def moments(self) -> Moments | None:
        """The target's moments in closed form or by quadrature; None where only Monte Carlo is left."""
        known = getattr(self.target, "moments", None)
        return known(self.covariates) if known else None

    @cached_property
    def white_moments(self) -> WhiteMoments | None:
        """The moments of the Gram matrix in white coordinates; None where not all five moments are known."""
        target = self.target
        found = target.centred.moments(self.covariates) if isinstance(target, Linear) else self.moments
        if found is None or math.isnan(found.fourth) or math.isnan(found.square):
            return None
        return WhiteMoments(self.n, self.noise_variance, self.covariates, found)

    @cached_property
    def white_tokens(self) -> tuple[Tensor, Tensor]:
        """The map (d+1, d+1) from white tokens to the task's, and R = Σ^½ (d, d).

        A prior mean and a change of basis are both linear maps of the tokens: v = [x; w·x + ε] with x = R z
        and w = μ + w₀ is [[R, 0], [μᵀR, 1]] times the token [z; (Rw₀)·z + ε] of mean-zero weights.
        """
        R = self.covariates.root
        tokens = torch.block_diag(R, torch.ones(1, 1, dtype=torch.float64))
        if isinstance(self.target, Linear):
            tokens[-1, :-1] = self.target.prior_mean @ R
        return tokens, R

    def query_loss(self, u: Tensor, w: Tensor) -> Tensor:
        """E[(u·x_q − y_q)² | w] (…, B) of predictions ŷ = u·x_q, u (…, B, d), where f(x) = w·x, w (B, d).

        The query and its noise integrate out: (u − w)ᵀ Σ (u − w) + σ².
        """
        error = u - w
        return ((error @ self.covariates.covariance) * error).sum(-1) + self.noise_variance

    def _noise(self, *shape: int, generator: torch.Generator | None) -> Tensor:
        return math.sqrt(self.noise_variance) * torch.randn(*shape, generator=generator, dtype=torch.float64)

    def sample(self, batch: int, generator: torch.Generator | int | None = None) -> Prompts:
        """`batch` independent prompts, reproducible from the generator (or the seed) alone."""
        batch, generator = checks.integer("batch", batch, 1), checks.generator(generator)
        f = self.target.draw(batch, self.d, generator)
        x = self.covariates.sample(batch, self.n + 1, generator=generator)  # the last is x_q
        y = evaluate(self.target, f, x) + self._noise(batch, self.n + 1, generator=generator)
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
        target = self.target
        if not isinstance(target, Linear):
            checks.fail("target", target, "lsa.Linear: other targets have no weights w", TypeError)
        batch, generator = checks.integer("batch", batch, 1), checks.generator(generator)
        w = target.draw_weights(batch, generator)
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
        factor = torch.zeros(batch, size * size, dtype=torch.float64)  # flat: entry (i, j) at i·size + j
        factor[:, row * size + column] = torch.randn(
            batch, len(row), generator=generator, dtype=torch.float64
        )
        # the diagonal: the square roots of χ² with n, n − 1, … degrees of freedom, χ²_k being 2 Gamma(k/2)
        freedom = (self.n - torch.arange(size, dtype=torch.float64)).expand(batch, size)
        factor[:, :: size + 1] = (2 * torch._standard_gamma(freedom / 2, generator=generator)).sqrt()
        factor = factor.view(batch, size, size)
        if not self.covariates.is_white:
            factor[:, :-1] = self.covariates.root @ factor[:, :-1]
        factor[:, -1] *= math.sqrt(self.noise_variance)  # the last row is ε, before y = w·x + ε is made of it
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
