"""The landscape of a rotation-symmetric task as a curve V(t), and its minima in exact arithmetic.

The loss is quadratic in M. With M solved for, it depends on span(a₁ … a_H) alone and, where the task is
symmetric under rotations, on one number: t = tan² of the angle between that span and the label's axis. With
g = XᵀX, b = Xᵀy, c = yᵀy, B = E b₁², v = E g₁₂² and C = E (m_f)₁², the curve of H heads is

    V(t) = q − (nC)² [ (H−1)/B + (d−H)/(B + vt) + F(t)/(tδ + B F(t)) ],   F(t) = s₀ − 2 s₁ t + s₂ t²,

where s₀, s₁, s₂ are the second moments of c and g₁₁ that the other heads cannot explain, δ = s₀s₂ − s₁².
V(0) = L* is the global minimum, and the local minima of V are those of the loss in (a, M).
"""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

__all__ = ["Curve"]

Number = float | Fraction


@dataclass(frozen=True)
class Curve:
    """V(t) of a task and a number of heads, from its moments."""

    d: int
    heads: int
    q: Number  #: E y²
    nC: Number  #: E b₁ (m_f)₁
    B: Number
    v: Number
    s0: Number
    s1: Number
    s2: Number

    @property
    def delta(self) -> Number:
        return self.s0 * self.s2 - self.s1**2

    def __call__(self, t: float) -> float:
        H, B, rest = self.heads, self.B, 0.0
        if t < math.inf:
            F = self.s0 - 2 * self.s1 * t + self.s2 * t**2
            rest = (self.d - H) / (B + self.v * t) + F / (t * self.delta + B * F)
        return float(self.q - self.nC**2 * ((H - 1) / B + (rest or 1 / B)))

    def slope(self) -> list[Fraction]:
        """A polynomial in t (constant term first) with the sign of V′(t), in exact arithmetic."""
        B, v, s0, s1, s2 = (Fraction(each) for each in (self.B, self.v, self.s0, self.s1, self.s2))
        delta = s0 * s2 - s1**2
        whole = [B * s0, delta - 2 * B * s1, B * s2]  # tδ + B F(t)
        rising = _product([(self.d - self.heads) * v], _product(whole, whole))
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
