"""Where training can get caught: the spurious local minima of rotation-symmetric tasks, in closed form.

The loss is quadratic in M. With M solved for, it depends on span(a₁ … a_H) alone and, where the task is
symmetric under rotations, on one number: t = tan² of the angle between that span and the label's axis. With
g = XᵀX, b = Xᵀy, c = yᵀy, B = E b₁², v = E g₁₂² and C = E (m_f)₁², the curve of H heads is

    V(t) = q − (nC)² [ (H−1)/B + (d−H)/(B + vt) + F(t)/(tδ + B F(t)) ],   F(t) = s₀ − 2 s₁ t + s₂ t²,

where s₀, s₁, s₂ are the second moments of c and g₁₁ that the other heads cannot explain, δ = s₀s₂ − s₁².
V(0) = L* is the global minimum, and the local minima of V are those of the loss in (a, M).
"""

import math
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
import torch
from torch import Tensor

from . import checks
from .data import Task
from .model import LinearSelfAttention
from .population import white_moments
from .targets import Linear
from .white import WhiteMoments

__all__ = ["Curve", "Trap", "best_M", "landscape", "traps"]


@dataclass(frozen=True)
class Curve:
    """V(t) of a task and a number of heads, from its moments."""

    d: int
    heads: int
    q: float  #: E y²
    nC: float  #: E b₁ (m_f)₁
    B: float
    v: float
    s0: float
    s1: float
    s2: float

    @property
    def delta(self) -> float:
        return self.s0 * self.s2 - self.s1**2

    def __call__(self, t: float) -> float:
        H, B, rest = self.heads, self.B, 0.0
        if t < math.inf:
            F = self.s0 - 2 * self.s1 * t + self.s2 * t**2
            rest = (self.d - H) / (B + self.v * t) + F / (t * self.delta + B * F)
        return self.q - self.nC**2 * ((H - 1) / B + (rest or 1 / B))

    def slope(self) -> list[Fraction]:
        """A polynomial in t (constant term first) with the sign of V′(t), in exact arithmetic."""
        H, B, v, s0, s1, s2 = map(Fraction, (self.heads, self.B, self.v, self.s0, self.s1, self.s2))
        delta = s0 * s2 - s1**2
        whole = [B * s0, delta - 2 * B * s1, B * s2]  # tδ + B F(t)
        rising = _product([(self.d - H) * v], _product(whole, whole))
        falling = _product([-delta * s0, Fraction(0), delta * s2], _product([B, v], [B, v]))
        slope = [up - down for up, down in zip(rising, falling, strict=True)]
        while slope[-1] == 0:
            slope.pop()
        return slope

    def minima(self) -> list[float]:
        """Every t > 0 at which V has a local minimum; inf for one at infinity.

        The slope is monotone between the points where its own derivative vanishes; its signs there are taken
        in exact arithmetic, so that no pair of roots is overlooked however close they are.
        """
        slope = self.slope()
        turns = np.polynomial.polynomial.polyroots([float(k * c) for k, c in enumerate(slope)][1:])
        marks = [0.0, *sorted(float(t.real) for t in turns if t.real > 0 and abs(t.imag) <= 1e-6 * abs(t))]
        marks.append(1 + max(abs(float(c / slope[-1])) for c in slope))  # all roots lie below (Cauchy)
        signs = [_value(slope, t) > 0 for t in marks]
        found = []
        for low, high, before, after in zip(marks, marks[1:], signs, signs[1:], strict=False):
            if after and not before:
                for _ in range(200):
                    middle = (low + high) / 2
                    low, high = (low, middle) if _value(slope, middle) > 0 else (middle, high)
                found.append(high)
        return found if signs[-1] else [*found, math.inf]


def _product(one: list[Fraction], other: list[Fraction]) -> list[Fraction]:
    result = [Fraction(0)] * (len(one) + len(other) - 1)
    for i, a in enumerate(one):
        for j, b in enumerate(other):
            result[i + j] += a * b
    return result


def _value(polynomial: list[Fraction], t: float) -> Fraction:
    result, exact = Fraction(0), Fraction(t)
    for coefficient in reversed(polynomial):
        result = result * exact + coefficient
    return result


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
