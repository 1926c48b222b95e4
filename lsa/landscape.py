"""Where training can get caught: the spurious local minima of rotation-symmetric tasks, in closed form."""

import math
from dataclasses import dataclass, field
from fractions import Fraction

import torch
from torch import Tensor

from . import checks
from .curve import Curve
from .data import Task
from .model import LinearSelfAttention
from .population import white_moments
from .targets import Linear
from .white import WhiteMoments

__all__ = ["Trap", "best_M", "landscape", "threshold", "traps"]


def landscape(task: Task, heads: int = 1) -> Curve | None:
    """The curve V(t) of a task that is symmetric under rotations in white coordinates; None for heads ≥ d.

    Such are linear tasks with x ~ N(0, Σ), w ~ N(0, λΣ⁻¹), and all rotation-invariant targets with Σ = I.
    """
    checks.instance("task", task, Task, "a lsa.Task")
    H, d, n, law = checks.integer("heads", heads, 1), task.d, task.n, task.covariates
    white = white_moments(task)
    eye = torch.eye(d, dtype=torch.float64)
    B, xxc, C = (_multiple(matrix, eye) for matrix in (white.bb, white.xxc, white.C))
    mean = isinstance(task.target, Linear) and task.target.prior_mean.any()
    if mean or law.kurtosis != 3 or B is None or xxc is None or C is None:
        expected = "a task that no rotation changes, such as lsa.isotropic, lsa.skewed or lsa.nonlinear make"
        checks.fail("task", task, expected)
    if d <= H:
        return None
    v = n * law.fourth_scale
    g11, g1122 = n * (n - 1) + 3 * v, n * (n - 1) + v  # E g₁₁², E g₁₁ g₂₂
    others = (H - 1) / (g11 + (H - 2) * g1122)  # what g₂₂ + … + g_HH explains
    moments = white.cc - others * xxc**2, xxc * (1 - others * g1122), g11 - others * g1122**2
    return Curve(d, H, float(white.q), n * C, B, v, *map(float, moments))


def _multiple(matrix: Tensor, eye: Tensor) -> float | None:
    """λ if the matrix is λI up to rounding, else None."""
    factor = matrix.diagonal().mean()
    return factor.item() if (matrix - factor * eye).abs().max() <= 1e-8 * matrix.abs().max() else None


def threshold(d: int, noise_variance: float) -> float:
    """n*: for the task `lsa.isotropic(d, n, noise_variance)` one head has a trap exactly where n > n*.

    That there is one such number is `thm-heads-threshold`.
    Barrier and trap are born together, where the discriminant of the slope of V, as a function of real n,
    changes sign. It does so once between 4d² − 17 and 4d² + (1 + 4σ²)d/2, the bounds of n*.

    d: at least 3; in the plane there is a trap at every n.
    noise_variance: σ², from 0 to 4; with much more there is more than one threshold.
    """
    d, s = checks.integer("d", d, 3), Fraction(checks.number("noise_variance", noise_variance, least=0))
    if s > 4:
        checks.fail(
            "noise_variance", noise_variance, "a number from 0 to 4: beyond, there may be no one threshold"
        )
    q = d + s
    low, high = 4.0 * d**2 - 17, 4.0 * d**2 + float(1 + 4 * s) * d / 2
    while low < (middle := (low + high) / 2) < high:  # down to neighbouring floats
        n = Fraction(middle)
        curve = Curve(
            d, 1, q, n, n * (n + q + 1), n, n * (n + 2) * (q**2 + 2 * d), n * (n * q + 2), n * (n + 2)
        )
        low, high = (low, middle) if _discriminant(*curve.slope()) < 0 else (middle, high)
    return low


def _discriminant(e: Fraction, d: Fraction, c: Fraction, b: Fraction, a: Fraction) -> Fraction:
    """27 times the discriminant of a quartic: negative if and only if just two of its roots are real."""
    first = 12 * a * e - 3 * b * d + c**2
    second = 72 * a * c * e + 9 * b * c * d - 27 * (a * d**2 + b**2 * e) - 2 * c**3
    return 4 * first**3 - second**2


@dataclass(frozen=True)
class Trap:
    """A spurious local minimum of the loss."""

    loss: float
    excess: float  #: relative: (L − L*) / L*
    tangent: float  #: t = tan² of the angle between span(a) and the label's axis; inf: no head reads labels
    task: Task = field(repr=False)
    heads: int = field(repr=False)

    def layer(self) -> LinearSelfAttention:
        """A layer that sits there; others differ from it by a rotation and by the scale of a against M."""
        d, H, white = self.task.d, self.heads, white_moments(self.task)
        a = torch.eye(H, d + 1, dtype=torch.float64)
        if self.tangent < math.inf:
            a[0, 0], a[0, -1] = math.sqrt(self.tangent), 1.0
            a[0] /= a[0].norm()
        eye = torch.eye(d + 1, dtype=torch.float64)
        tokens, R = (torch.linalg.inv(matrix) for matrix in self.task.white_tokens)
        return LinearSelfAttention.from_effective(a @ tokens, tokens.T @ best_M(white, a, eye) @ R)


def best_M(white: WhiteMoments, a: Tensor, eye: Tensor) -> Tensor:
    """The M (H, d+1, d) that minimises the loss for given a (H, d+1)."""
    H, size = a.shape
    matrix = white.gram_square(a[:, None, :, None], a[:, :, None], eye).transpose(1, 2).reshape(H * size, -1)
    right = white.n * white.cross(a, torch.zeros(size - 1, dtype=torch.float64)).flatten(0, 1)
    inverse = torch.linalg.pinv((matrix + matrix.T) / 2, hermitian=True, rtol=1e-12)
    return (inverse @ right).unflatten(0, (H, size))


def traps(task: Task, heads: int = 1) -> list[Trap]:
    """The spurious local minima of the loss, best first; an empty list where there are none.

    For tasks that no rotation changes (see `landscape`). With heads ≥ d there are none.
    """
    curve = landscape(task, heads)
    if curve is None or curve.nC == 0:  # without a linear part no layer does better than M = 0
        return []
    best = curve(0.0)
    found = [Trap(curve(t), curve(t) / best - 1, t, task, heads) for t in curve.minima()]
    return sorted(found, key=lambda trap: trap.loss)
