"""One step in feature space: the closed forms of the chapter on depth against full solves on exact laws."""

import itertools
import math

import numpy as np
import pytest
from helpers.chapter_code import functions
from numpy.polynomial.hermite_e import hermegauss
from numpy.polynomial.legendre import Legendre, leggauss

rng = np.random.default_rng
chapter = functions("depth")


def best_step(C, S, sigma, power, noise, n):
    """L* = E f² + σ² − n tr(C (S + σ²Σ + (n−1)C)⁻¹ C Σ⁻¹) for features with E φφᵀ = Σ."""
    inner = np.linalg.pinv(S + noise * sigma + (n - 1) * C, rcond=1e-12, hermitian=True)
    return power + noise - n * np.trace(C @ inner @ C @ np.linalg.pinv(sigma, rcond=1e-12, hermitian=True))


def test_one_step_is_the_best_of_all_heads_for_any_features():
    """x takes six values, f ~ −f ten: all prompts of two examples, for all 48 entries of the tensor."""
    g, values, size, n, noise = rng(0), 6, 3, 2, 0.3
    phi, weight = g.standard_normal((values, size)), g.dirichlet(np.ones(values))
    f = g.standard_normal((5, values))
    f = np.concatenate([f, -f])
    m = np.einsum("x,fx,xi->fi", weight, f, phi)
    sigma = np.einsum("x,xi,xj->ij", weight, phi, phi)
    S = np.einsum("x,fx,xi,xj->ij", weight, f**2, phi, phi) / 10
    power = (weight * f**2).sum() / 10
    formula = best_step(m.T @ m / 10, S, sigma, power, noise, n)

    e, we = hermegauss(3)  # exact: a label enters with degree at most four
    e, we = e * math.sqrt(noise), we / we.sum()
    A, b = np.zeros((48, 48)), np.zeros(48)
    for k, one, other in itertools.product(range(10), range(values), range(values)):
        for (e1, w1), (e2, w2) in itertools.product(zip(e, we, strict=True), repeat=2):
            tokens = np.array([[*phi[one], f[k, one] + e1], [*phi[other], f[k, other] + e2]])
            features = np.einsum("jk,ql->qjkl", tokens.T @ tokens, phi).reshape(values, -1)
            scale = weight[one] * weight[other] * w1 * w2 / 10
            A += scale * np.einsum("q,qa,qb->ab", weight, features, features)
            b += scale * np.einsum("q,qa,q->a", weight, features, f[k])
    best = power + noise - b @ np.linalg.pinv(A, rcond=1e-12, hermitian=True) @ b
    assert formula == pytest.approx(best, rel=1e-10)
    assert formula == pytest.approx(0.941926400190, abs=1e-11)


def staircase(v, sizes, n, noise):
    """L* of the best kernel of these degrees, from v_ℓ = E f_ℓ² and the dimensions N_ℓ."""
    total = sum(v) + noise
    return total - sum(n * a * a / (N * total + (n - 1) * a) for a, N in zip(v, sizes, strict=True))


def test_the_staircase_on_the_circle():
    """All entries of a kernel of degree ≤ 3, seven by seven, on sixteen points of the circle."""
    angle, c, n, noise = 2 * np.pi * np.arange(16) / 16, [1.0, 0.7, 0.4], 2, 0.3
    basis = [np.ones(16), *(math.sqrt(2) * g(k * angle) for k in (1, 2, 3) for g in (np.cos, np.sin))]
    phi = np.array(basis)
    shape = sum(a * math.sqrt(2) * np.cos(k * angle + 0.3 * k * k) for k, a in enumerate(c, 1))
    f = np.array([sign * np.roll(shape, j) for j in range(16) for sign in (1, -1)])
    m = f @ phi.T / 16
    S = np.einsum("fx,ix,jx->ij", f**2, phi, phi) / (16 * len(f))
    full = best_step(m.T @ m / len(f), S, np.eye(7), (f**2).mean(), noise, n)
    formula = staircase([0.0, *(a * a for a in c)], [1, 2, 2, 2], n, noise)
    assert full == pytest.approx(formula, rel=1e-12)
    assert full == pytest.approx(chapter.staircase([0.0, *(a * a for a in c)], n, noise, 3, 2), rel=1e-12)
    assert formula == pytest.approx(1.419840931424, abs=1e-11)


@pytest.mark.parametrize(
    ("g", "expected", "linear"),
    [
        (lambda t: np.maximum(t, 0), 0.07830, 0.14544),
        (lambda t: np.abs(t) - 0.5, 0.06759, 0.13333),
        (lambda t: (5 * t**3 - 3 * t) / 2, 0.07492, 0.19286),
    ],
    ids=["relu", "abs", "P3"],
)
def test_the_staircase_on_the_sphere(g, expected, linear):
    """f = ±g(b·x) on the unit sphere in R³, degree ≤ 3, n = 40: the formula, and its kernel on prompts."""
    t, w = leggauss(400)
    t, w = np.concatenate([(t - 1) / 2, (t + 1) / 2]), np.concatenate([w, w]) / 4  # a kink at zero
    n, noise, legendre = 40, 0.05, [Legendre.basis(k) for k in range(4)]
    power = (w * g(t) ** 2).sum()
    v = [(2 * k + 1) * (w * g(t) * P(t)).sum() ** 2 for k, P in enumerate(legendre)]
    theta = [a / ((2 * k + 1) * (power + noise) + (n - 1) * a) for k, a in enumerate(v)]
    loss = power + noise - sum(n * a * b for a, b in zip(v, theta, strict=True))
    assert loss == pytest.approx(expected, abs=6e-6)
    up_to_three = [*v, power - sum(v)]  # what is left is out of reach
    assert chapter.staircase(up_to_three, n, noise, 3, 3) == pytest.approx(loss, rel=1e-12)
    assert power + noise - n * v[1] * theta[1] == pytest.approx(linear, abs=6e-6)
    r, batch = rng(1), 40_000

    def points(*shape):
        z = r.standard_normal((*shape, 3))
        return z / np.linalg.norm(z, axis=-1, keepdims=True)

    x, query, b, sign = points(batch, n), points(batch), points(batch), r.choice([-1, 1], batch)
    y = sign[:, None] * g(np.einsum("bni,bi->bn", x, b)) + noise**0.5 * r.standard_normal((batch, n))
    scores = np.einsum("bni,bi->bn", x, query)
    kernel = sum(a * (2 * k + 1) * P(scores) for k, (a, P) in enumerate(zip(theta, legendre, strict=True)))
    errors = ((kernel * y).sum(1) - sign * g((query * b).sum(-1))) ** 2 + noise
    assert abs(errors.mean() - loss) < 4 * errors.std() / batch**0.5


def gauss_points(d, nodes):
    x, w = hermegauss(nodes)
    points = np.array(list(itertools.product(x, repeat=d)))
    return points, np.array([math.prod(each) for each in itertools.product(w / w.sum(), repeat=d)])


def quadratic_loss(d, n, noise, score):
    """f = xᵀQx with tr Q = 0; `score` is the constant of the plain score, (d−1)/(2d) the trace-free one's."""
    v = (d + 2) * (d - 1)
    inner = v * (d + 4) * (d + 6) + noise * d * (d + 2)
    return v + noise - n * v * v / (score * inner + (n - 1) * v)


@pytest.mark.parametrize(
    ("d", "n", "noise", "expected"),
    [(2, 5, 0.3, 3.061609907121), (3, 10, 0.5, 7.194214876033), (3, 100, 0.0, 5 / 3)],
)
def test_quadratic_attention(d, n, noise, expected):
    """The best of all tensors on (1, x, x⊗x), by exact quadrature, is the trace-free kernel's closed form."""
    x, w = gauss_points(d, 6)
    pairs = [(i, j) for i in range(d) for j in range(i, d)]
    phi = np.column_stack([np.ones(len(x)), x, *(x[:, i] * x[:, j] for i, j in pairs)])
    basis = []  # an orthonormal basis of the symmetric matrices without trace
    for i, j in pairs:
        Q = np.zeros((d, d))
        Q[i, j] = Q[j, i] = 1
        basis.append((Q - np.trace(Q) / d * np.eye(d)).ravel())
    u, s, _ = np.linalg.svd(np.array(basis).T, full_matrices=False)
    f = np.array([np.einsum("xi,ij,xj->x", x, Q.reshape(d, d), x) for Q in u[:, s > 1e-9].T])
    m = np.einsum("x,kx,xi->ki", w, f, phi)
    sigma = np.einsum("x,xi,xj->ij", w, phi, phi)
    S = np.einsum("x,kx,xi,xj->ij", w, f**2, phi, phi)
    power = (w * f**2).sum()
    assert power == pytest.approx((d + 2) * (d - 1))
    full = best_step(m.T @ m, S, sigma, power, noise, n)
    assert full == pytest.approx(expected, abs=1e-10)
    assert quadratic_loss(d, n, noise, (d - 1) / (2 * d)) == pytest.approx(full, rel=1e-11)


@pytest.mark.parametrize(("d", "n", "noise", "expected"), [(2, 5, 0.3, 3.8056), (3, 10, 0.5, 8.7398)])
def test_quadratic_attention_with_the_plain_score(d, n, noise, expected):
    """ŷ = η Σ y_i (x_i·x_q)²: the best η by the same exact moments."""
    assert quadratic_loss(d, n, noise, 0.75) == pytest.approx(expected, abs=6e-5)
    v = (d + 2) * (d - 1)
    inner = v * (d + 4) * (d + 6) + noise * d * (d + 2)
    eta = 2 * v / (3 * inner + 4 * (n - 1) * v)
    r, batch = rng(2), 100_000
    A = r.standard_normal((batch, d, d))
    A = (A + A.transpose(0, 2, 1)) / 2
    A -= np.trace(A, axis1=1, axis2=2)[:, None, None] * np.eye(d) / d
    x, query = r.standard_normal((batch, n, d)), r.standard_normal((batch, d))
    y = np.einsum("bni,bij,bnj->bn", x, A, x) + noise**0.5 * r.standard_normal((batch, n))
    said = eta * (y * np.einsum("bni,bi->bn", x, query) ** 2).sum(1)
    errors = (said - np.einsum("bi,bij,bj->b", query, A, query)) ** 2 + noise
    assert abs(errors.mean() - expected) < 4.5 * errors.std() / batch**0.5


def directions(d):
    """Points on the unit sphere with weights: exact for polynomials of degree 12 in d = 2, 3."""
    angle = 2 * np.pi * np.arange(16) / 16
    circle = np.column_stack([np.cos(angle), np.sin(angle)])
    if d == 2:
        return circle, np.full(16, 1 / 16)
    z, w = leggauss(8)
    points = [[*(math.sqrt(1 - h * h) * c), h] for h in z for c in circle]
    return np.array(points), np.repeat(w / 2, 16) / 16


@pytest.mark.parametrize(
    ("d", "n", "noise", "expected"),
    [(2, 4, 0.3, 6.243235572375), (3, 10, 0.5, 6.377093780006), (3, 200, 0.0, 4.533231474408)],
)
def test_cubic_attention(d, n, noise, expected):
    """f = He₃(b·x): the best of all tensors on x⊗x⊗x, by exact quadrature, and the closed form."""
    x, w = gauss_points(d, 8)
    b, wb = directions(d)
    triples = list(itertools.combinations_with_replacement(range(d), 3))
    phi = np.column_stack([x[:, i] * x[:, j] * x[:, k] for i, j, k in triples])
    u = b @ x.T
    f = u**3 - 3 * u
    m = np.einsum("x,bx,xi->bi", w, f, phi)
    C = np.einsum("b,bi,bj->ij", wb, m, m)
    S = np.einsum("x,b,bx,xi,xj->ij", w, wb, f**2, phi, phi, optimize=True)
    sigma = np.einsum("x,xi,xj->ij", w, phi, phi)
    full = best_step(C, S, sigma, 6.0, noise, n)
    assert full == pytest.approx(expected, abs=1e-9)
    s = 5670 + 1350 * (d - 1) + 126 * (d * d - 1) + 6 * (d - 1) * (d + 1) * (d + 3)
    s += noise * d * (d + 2) * (d + 4)
    formula = 6 + noise - 216 * n * (d + 1) / ((d + 4) * (s + 36 * (n - 1)))
    assert formula == pytest.approx(full, rel=1e-10)
