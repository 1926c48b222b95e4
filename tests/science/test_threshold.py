"""Where one head has a trap, and where several have: `lsa.traps`, and every sign that the proofs use.

The proofs are exact arithmetic with polynomials in n, d, s = σ² and H. One is seen to be positive on a whole
range when the range is written in variables that are ≥ 0 (d = 3 + u, n = 1 + v, and most/(1 + s) for s) and
then no coefficient is negative.
"""

import itertools
import math

import pytest
import sympy
from helpers.chapter_code import functions
from sympy import ZZ, ring

import lsa
from lsa.landscape import landscape, threshold

F = functions("heads")
slope = F.slope  # a polynomial in t with the sign of V′(t)
powers, sign, discriminant = F.powers, F.sign, F.discriminant

# ---- the number ----

KNOWN = {
    (3, 0.0): 23.387,
    (3, 0.3): 22.535,
    (3, 1.0): 21.167,
    (3, 4.0): 20.367,
    (4, 4.0): 50.602,
    (10, 0.0): 390.260,
    (50, 0.3): 10014.374,
    (50, 4.0): 10176.239,
    (1000, 1.0): 4001317.607,
}


@pytest.mark.parametrize(("d", "noise"), KNOWN)
def test_a_trap_on_one_side_of_the_threshold_and_none_on_the_other(d, noise):
    found = threshold(d, noise)
    assert found == pytest.approx(KNOWN[d, noise], abs=1e-3)
    assert not lsa.traps(lsa.isotropic(d, math.floor(found), noise))
    assert len(lsa.traps(lsa.isotropic(d, math.floor(found) + 1, noise))) == 1


@pytest.mark.parametrize("noise", [0.0, 0.3, 1.0, 4.0])
def test_its_bounds_and_its_growth(noise):
    for d in (3, 4, 7, 30, 1000, 10**6):
        assert 4 * d**2 - 17 < threshold(d, noise) < 4 * d**2 + (1 + 4 * noise) * d / 2
    first, second = (
        threshold(d, noise) - 4 * d**2 - (2 - math.sqrt(3)) * (1 + 4 * noise) * d for d in (10**4, 10**6)
    )
    assert first == pytest.approx(second, rel=1e-3)  # O(1)
    assert threshold(1000, 0.0) == pytest.approx(4000255.717, abs=1e-3)


@pytest.mark.parametrize(
    ("d", "noise", "error", "message"),
    [
        (2, 0.0, ValueError, "d = 2: expected an integer ≥ 3"),
        (3.0, 0.0, TypeError, "d = 3.0: expected an integer ≥ 3"),
        (3, 4.01, ValueError, "noise_variance = 4.01: expected a number from 0 to 4"),
        (3, -0.1, ValueError, "noise_variance = -0.1: expected a finite number ≥ 0"),
        (3, math.nan, ValueError, "noise_variance = nan: expected a finite number ≥ 0"),
    ],
)
def test_where_the_threshold_is_not_known(d, noise, error, message):
    with pytest.raises(error, match=message):
        threshold(d, noise)


def test_with_much_noise_there_is_no_single_threshold():
    trapped = [n for n in range(1, 41) if lsa.traps(lsa.isotropic(3, n, 15.0))]
    assert trapped == [1, 2, 3, 4, *range(31, 41)]


# ---- the signs ----


def signs(polynomials, s, most):
    return "".join(sign(p, s, most) for p in polynomials)


def roots(d, n, s, H):
    """How many t > 0 have V′(t) = 0, by Sturm's theorem."""
    t = sympy.Symbol("t")
    return sympy.Poly(slope(t, d, n, s, H), t).count_roots(0, sympy.oo)


def test_the_slope_is_the_package_s():
    for d, n, s, H in itertools.product((2, 3, 6), (1, 7, 100), (0, 1, 4), (1, 2, 5)):
        if d > H:
            of_task = landscape(lsa.isotropic(d, n, s), H).slope()
            t = ring("t", ZZ)[1]
            of_page = [int(c.coeff(1)) for c in powers(slope(t, d, n, s, H), t)]
            ratios = [float(a / b) for a, b in zip(of_task, of_page, strict=True)]
            assert ratios == pytest.approx([ratios[0]] * 5, rel=1e-9)
            assert ratios[0] > 0


def test_one_head_has_one_threshold():
    """Theorem A: d ≥ 3 (real), 0 ≤ s ≤ 4, n ≥ 1 (real)."""
    R, t, n, u, s, b = ring("t n u s b", ZZ)
    d = 3 + u
    c = [each.exquo(4 * (n + 2)) for each in powers(slope(t, d, n, s), t)]
    assert sign(c[0].compose(n, 1 + n), s, 4) == sign(c[4].compose(n, 1 + n), s, 4) == "+"

    # the discriminant is a positive factor times Q
    q = d + s
    q2, D = q**2 + 2 * d, n + d + 1 + s
    half_delta = (n + 2) ** 2 * q2 - (n * q + 2) ** 2
    E = n**2 + 2 * n * d + 4 * n * s + 2 * n + 2 * d + 4 * s + 5
    assert signs([d - 1, n + 2, q2, D, E, half_delta.compose(n, 1 + n)], s, 4) == "++++++"
    Q = discriminant(*c).exquo(432 * (d - 1) * (n + 2) * q2 * D**2 * E**2 * half_delta**4)
    assert (len(Q), Q.degree(n)) == (260, 8)

    # Descartes: at most two positive roots; and they lie on both sides of 4d² + (1 + 4s)d/2
    in_n = powers(Q, n)
    assert signs(in_n, s, 4) == "++++++?-+"
    twice = 8 * d**2 + (1 + 4 * s) * d
    assert sign(sum(part * twice**k * 2 ** (8 - k) for k, part in enumerate(in_n)), s, 4) == "-"
    assert sign(Q.compose(n, 4 * d**2 - 17), s, 4) == "+"
    assert signs([4 * d**2 - 18, twice - 2 * (4 * d**2 - 17)], s, 4) == "++"  # 1 < 4d² − 17 < the other

    # below the first root V′ > 0; between the roots one example decides; and long prompts
    assert signs([part.compose(n, R(1)) for part in c], s, 4) == "+++++"
    assert roots(3, 30, 0, 1) == 2
    assert threshold(3, 0.0) < 30 < sympy.Poly(Q.compose([(u, 0), (s, 0)]).as_expr()).real_roots()[-1]
    assert [part.degree(n) for part in c] == [4, 3, 4, 3, 3]
    assert powers(c[0], n)[-1] == 2 * d * q2
    assert powers(c[2], n)[-1] == -2 * d

    # Q(4d² + bd) for large d: negative between b = (2 ∓ √3)(1 + 4s)
    growth = powers(sum(part * (4 * d**2 + b * d) ** k for k, part in enumerate(in_n)), u)
    assert len(growth) == 16
    assert growth[-1] == 9216 * (b**2 - 4 * (1 + 4 * s) * b + (1 + 4 * s) ** 2)


def test_two_to_d_less_two_heads_have_no_trap():
    """Theorem B: V′ > 0 for t > 0, every n ≥ 1 and s ≤ 2; where d ≥ H + 3, s ≤ 4."""
    _, t, v, h, u, s = ring("t v h u s", ZZ)
    cases = {(2 + h, 5 + h + u): 4, (3 + h, 5 + h): 2, (2 + 0 * h, 4 + 0 * h): 2}
    for (H, d), most in cases.items():
        c = powers(slope(t, d, 1 + v, s, H), t)
        assert signs([c[0], c[1], c[2], c[4]], s, most) == "++++"
        assert "+" in signs([c[3], 4 * c[2] * c[4] - c[3] ** 2], s, most)


@pytest.mark.parametrize("most", [1, 2])
def test_d_less_one_heads_have_a_trap_at_every_prompt_shorter_than_d(most):
    """Theorem C, n < d: V rises, then falls towards t = ∞."""
    _, t, v, u, s = ring("t v u s", ZZ)
    d = 2 + v + u
    assert signs(powers(slope(t, d, 1 + v, s, d - 1), t), s, most) == "+++--"


@pytest.mark.parametrize(("least", "most"), [(6, 1), (7, 2)])
def test_d_less_one_heads_have_no_trap_from_n_equal_to_d_on(least, most):
    """Theorem C, n ≥ d: the number of roots is constant, and at d = n = 7 it is zero."""
    _, t, v, u, s = ring("t v u s", ZZ)
    d = least + u
    c = powers(slope(t, d, d + v, s, d - 1), t)
    assert signs([c[0], c[4], discriminant(*c)], s, most) == "+++"
    assert roots(7, 7, 0, 6) == 0


@pytest.mark.parametrize(("d", "free", "trapped"), [(3, 6, {5: 0.99472}), (4, 5, {}), (5, 6, {5: 0.87959})])
def test_d_less_one_heads_in_few_dimensions(d, free, trapped):
    """No trap for n ≥ `free` and s ≤ 1; in between one, at the n of `trapped` only from that noise on."""
    R, t, v, s = ring("t v s", ZZ)
    c = powers(slope(t, R(d), free + v, s, R(d - 1)), t)
    assert signs([c[0], c[4], discriminant(*c)], s, 1) == "+++"
    assert roots(d, free, 0, d - 1) == 0
    for n in range(1, free + 3):
        for noise in (0.0, 0.4, *(trapped[n] + e for n in trapped for e in (-1e-5, 1e-5)), 1.0):
            expected = n < free and noise > trapped.get(n, -1)
            assert len(lsa.traps(lsa.isotropic(d, n, noise), d - 1)) == expected
