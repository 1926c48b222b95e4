"""The ladder of depth: against exact arithmetic of other kinds, cubature, prompts and limits."""

import itertools
import math
from fractions import Fraction
from functools import cache

import mpmath
import pytest
import torch
from helpers.rules import chi_square_rule, hermite_rule, normal_equations
from helpers.tasks import conditioned, z_score

import lsa
from lsa.ladder import jacobi, trace_moments

PAIRS = [(1, 1), (3, 2), (2, 5), (6, 3), (10, 5), (4, 4), (1, 7)]


def by_stein(n: int, d: int, count: int) -> list[int]:
    """E tr Wᵏ by integrating by parts: a recursion over products of traces, exact."""

    @cache
    def mean(parts: tuple[int, ...]) -> int:
        if not parts:
            return 1
        k, rest = parts[0], parts[1:]

        def times(*new: int) -> int:  # tr W⁰ = d
            factor = d ** new.count(0)
            return factor * mean(tuple(sorted([*rest, *(part for part in new if part)], reverse=True)))

        total = (n + k - 1) * times(k - 1) + sum(times(j, k - 1 - j) for j in range(1, k))
        for i, part in enumerate(rest):
            others = rest[:i] + rest[i + 1 :]
            total += 2 * part * mean(tuple(sorted([*others, k - 1 + part], reverse=True)))
        return total

    return [mean((k,)) for k in range(1, count + 1)]


def rising(n: int, count: int) -> int:
    """E (χ²_n)^count."""
    return math.prod(n + 2 * j for j in range(count))


def planar_moment(n: int, k: int) -> int:
    """E tr Wᵏ for d = 2, from the trace and the determinant: det^b turns n into n + 2b and tr is χ²_(2n)."""
    total = Fraction(0)
    for b in range(k // 2 + 1):  # Waring's formula for a power sum in two variables
        sign = (-1) ** b * Fraction(k, k - b) * math.comb(k - b, b)
        total += sign * rising(n, b) * rising(n - 1, b) * rising(2 * (n + 2 * b), k - 2 * b)
    return int(total)


def evaluate(coefficients, x):
    return sum(float(c) * x**i for i, c in enumerate(coefficients))


# ---- moments ----


@pytest.mark.parametrize(("n", "d"), PAIRS)
def test_moments_are_those_of_the_stein_recursion(n, d):
    assert trace_moments(n, d, 12) == by_stein(n, d, 12) == trace_moments(d, n, 12)


@pytest.mark.parametrize("n", [1, 2, 3, 10, 1000])
def test_moments_up_to_forty(n):
    assert trace_moments(n, 1, 40) == [rising(n, k) for k in range(1, 41)]
    assert trace_moments(n, 2, 40) == [planar_moment(n, k) for k in range(1, 41)]


def skew_product(p: int, q: int) -> Fraction:
    """∫∫ sign(y − x) xᵖ y^q exp(−(x + y)/2) dx dy over x, y > 0."""

    def below(p: int, q: int) -> Fraction:  # ∫∫ over x < y, with exp(−x − y)
        tail = sum(
            Fraction(math.factorial(q + j), math.factorial(j) * 2 ** (q + j + 1)) for j in range(p + 1)
        )
        return math.factorial(p) * (math.factorial(q) - tail)

    return 2 ** (p + q + 2) * (below(p, q) - below(q, p))


def inverse(matrix: list[list[Fraction]]) -> list[list[Fraction]]:
    size = len(matrix)
    rows = [[*row, *(Fraction(i == j) for j in range(size))] for i, row in enumerate(matrix)]
    for i in range(size):
        pivot = next(k for k in range(i, size) if rows[k][i])
        rows[i], rows[pivot] = rows[pivot], rows[i]
        rows[i] = [value / rows[i][i] for value in rows[i]]
        for k in range(size):
            if k != i and rows[k][i]:
                rows[k] = [a - rows[k][i] * b for a, b in zip(rows[k], rows[i], strict=True)]
    return [row[size:] for row in rows]


@pytest.mark.parametrize(("n", "d"), [(5, 4), (9, 4), (9, 6), (31, 8)])
def test_moments_up_to_forty_by_pfaffians(n, d):
    """The law of the eigenvalues, ∏ λ^((n−d−1)/2) e^(−λ/2) |Δ|, has Pfaffians for integrals (de Bruijn).

    For even d and whole exponents E Σ λᵏ = ½ tr A⁻¹A′, A = ⟨λⁱ, λʲ⟩, A′ its slope as the weight gains t λᵏ.
    """
    a = (n - d - 1) // 2
    A = inverse([[skew_product(i + a, j + a) for j in range(d)] for i in range(d)])
    found = trace_moments(n, d, 40)
    for k in (1, 2, 3, 10, 25, 40):
        expected = sum(A[j][i] * skew_product(i + k + a, j + a) for i in range(d) for j in range(d))
        assert found[k - 1] == expected


# ---- the ladder ----


@pytest.mark.parametrize(
    ("n", "d", "noise", "expected"),
    [
        (20, 5, 0.0, [5, 1.153846, 0.361240, 0.133608, 0.054953, None, None, None, 0.003403]),
        (10, 5, 0.25, [5.25, 2.173077, 1.315070, 0.959895, 0.782886, None, None, None, 0.570662]),
        (5, 5, 0.0, [5, 2.727273, 1.993742, 1.620296, 1.391942, None, None, None, 0.960106]),
        (6, 3, 0.3, [3.3, 1.552427, 1.077644, 0.875129, 0.773357, None, None, None, 0.645803]),
    ],
)
def test_the_tabled_values(n, d, noise, expected):
    task = lsa.isotropic(d, n, noise)
    for k, value in enumerate(expected):
        if value is not None:
            assert lsa.ladder(task, k).loss == pytest.approx(value, abs=5.1e-7)


def test_one_value_as_a_fraction():
    assert lsa.ladder(lsa.isotropic(5, 10, 0.25), 2).fraction == Fraction(348909, 265316)


@pytest.mark.parametrize(("n", "d", "noise"), [(10, 5, 0.25), (6, 3, 0.5), (5, 5, 0.0), (2, 6, 4.0)])
def test_first_rungs_in_closed_form(n, d, noise):
    s, task = Fraction(noise), lsa.isotropic(d, n, noise)
    assert lsa.ladder(task, 0).fraction == d + s
    assert lsa.ladder(task, 1).fraction == d + s - n * d / (n + d + 1 + s)
    b = (n + 1) * (d + 1) + 2
    a = n + d + 3 + Fraction(4 * (n + d + 1), b)
    assert lsa.ladder(task, 2).fraction == d + s - n * d / (n + d + 1 + s - b / (s + a))
    assert lsa.ladder(task, 1).loss == pytest.approx(lsa.optimum(task).loss, rel=1e-14)
    assert lsa.ladder(task, 1).steps.item() == pytest.approx(lsa.optimum(task).step, rel=1e-14)


@pytest.mark.parametrize(
    ("n", "d", "noise", "k"),
    [
        (10, 5, 0.25, 4),
        (6, 3, 0.3, 5),
        (5, 5, 0.0, 6),
        (1, 50, 2.0, 6),
        (10**6, 100, 0.0, 5),
        (7, 3, 0.125, 20),
        (10, 5, 0.25, 20),
        (50, 50, 0.0, 20),
        (10**6, 200, 1.0, 20),
    ],
)
def test_continued_fraction_is_the_normal_equations(n, d, noise, k):
    exact, p = normal_equations(n, d, Fraction(noise), k)
    found = lsa.ladder(lsa.isotropic(d, n, noise), k)
    assert found.fraction == exact
    assert found.loss == pytest.approx(float(exact), rel=1e-15)
    # p* meets ridge's 1/(λ + σ²) at the nodes, and the residual is the product over the steps
    if k <= 6:
        values = evaluate(p, found.nodes)
        torch.testing.assert_close(
            values * (found.nodes + noise), torch.ones(k).double(), rtol=1e-6, atol=1e-7
        )
        x = torch.linspace(0, found.nodes[-1].item(), 7, dtype=torch.float64)
        residual = torch.stack([1 - (x + noise) * step for step in found.steps]).prod(0)
        torch.testing.assert_close(1 - (x + noise) * evaluate(p, x), residual, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("n", [1, 3, 8, 100])
def test_one_dimension_without_noise(n):
    task = lsa.isotropic(1, n)
    for k in (1, 2, 7, 20):
        expected = math.prod(Fraction(2 * j, 2 * j + n) for j in range(1, k + 1))
        assert lsa.ladder(task, k).fraction == expected
        assert lsa.ladder(task, k).loss == pytest.approx(float(expected), rel=1e-15)


@pytest.mark.parametrize("n", [1, 2, 9, 400])
def test_nodes_and_weights_in_one_dimension_are_laguerres(n):
    """For d = 1, ρ is n times the law of χ²_(n+2): its nodes are twice the roots of a Laguerre polynomial."""
    k = 20
    found = lsa.ladder(lsa.isotropic(1, n), k)
    with mpmath.workdps(40):
        for node in found.nodes.tolist():
            exact = mpmath.findroot(lambda x: mpmath.laguerre(k, mpmath.mpf(n) / 2, x / 2), node)
            assert abs(node / exact - 1) < 1e-12
    moments = [(found.weights * found.nodes**j).sum().item() for j in range(2 * k)]
    assert moments == pytest.approx([float(m) for m in trace_moments(n, 1, 2 * k)], rel=1e-13)


@pytest.mark.parametrize(("n", "d"), [(10, 5), (1, 50), (50, 50), (7, 300), (10**6, 200)])
def test_twenty_nodes_to_twelve_digits(n, d):
    """From the moments by another way, with 400 digits: Hankel matrix, Cholesky factor, eigenvalues."""
    k, noise = 20, 0.25
    with mpmath.workdps(400):
        m = [mpmath.mpf(value) for value in trace_moments(n, d, 2 * k)]
        scale = m[1] / m[0]
        m = [value / scale**i for i, value in enumerate(m)]
        R = mpmath.cholesky(mpmath.matrix([[m[i + j] for j in range(k)] for i in range(k)])).T
        moved = mpmath.matrix([[m[i + j + 1] for j in range(k)] for i in range(k)])
        inverse_R = R**-1
        J = inverse_R.T * moved * inverse_R
        with mpmath.workdps(60):
            values, vectors = mpmath.eigsy((J + J.T) / 2)
        nodes = [value * scale for value in values]
        weights = [m[0] * vectors[0, j] ** 2 for j in range(k)]
        loss = d + noise - sum(w / (x + noise) for w, x in zip(weights, nodes, strict=True))
    found = lsa.ladder(lsa.isotropic(d, n, noise), k)
    assert found.nodes.tolist() == pytest.approx([float(x) for x in nodes], rel=1e-12)
    assert found.steps.tolist() == pytest.approx([float(1 / (x + noise)) for x in nodes], rel=1e-12)
    assert found.weights.tolist() == pytest.approx([float(w) for w in weights], rel=1e-9)
    assert found.loss == pytest.approx(float(loss), rel=1e-12)


@pytest.mark.parametrize(
    ("n", "d", "noise"), [(1, 1, 0.3), (1, 50, 0.3), (50, 50, 0.0), (1000, 3, 0.01), (10**6, 200, 1.0)]
)
def test_twenty_rungs_anywhere(n, d, noise):
    """The loss is the Gauss rule of ridge, the rungs go down, and the rule sums to the mass nd."""
    task = lsa.isotropic(d, n, noise)
    rungs = [lsa.ladder(task, k) for k in (1, 2, 5, 10, 20)]
    for rung in rungs:
        rule = d + noise - (rung.weights / (rung.nodes + noise)).sum().item()
        assert rung.loss == pytest.approx(rule, abs=1e-12 * (d + noise))
        assert rung.weights.sum().item() == pytest.approx(n * d, rel=1e-13)
        assert (rung.nodes.diff() > 0).all()
        assert (rung.weights > 0).all()
        assert rung.nodes[0] > 0
        torch.testing.assert_close(rung.steps, 1 / (rung.nodes + noise))
    assert all(a.fraction > b.fraction > 0 for a, b in itertools.pairwise(rungs))


def test_no_step_is_no_step():
    rung = lsa.ladder(lsa.isotropic(3, 5, 0.5), 0)
    assert rung.loss == 3.5
    assert rung.nodes.shape == rung.steps.shape == rung.weights.shape == (0,)


def test_the_nodes_do_not_know_the_noise():
    one, other = (lsa.ladder(lsa.isotropic(4, 9, noise), 6).nodes for noise in (0.0, 5.0))
    assert torch.equal(one, other)


def test_skewed_tasks_have_the_same_ladder():
    for condition in (3.0, 1e6):
        task = lsa.skewed(conditioned(4, condition, seed=1), 9, 0.3)
        assert lsa.ladder(task, 3).fraction == lsa.ladder(lsa.isotropic(4, 9, 0.3), 3).fraction


# ---- against prompts ----


def ridge_descent(x, y, steps, noise):
    """w ← w + η (Xᵀ(y − Xw) − σ²w) from zero."""
    w = torch.zeros(len(x), x.shape[-1], dtype=torch.float64)
    for step in steps:
        residual = y - (x @ w[..., None])[..., 0]
        w = w + step * ((residual[:, None] @ x)[:, 0] - noise * w)
    return w


@pytest.mark.parametrize(("n", "d", "noise", "k"), [(10, 5, 0.25, 3), (6, 3, 10.0, 4), (5, 5, 0.0, 5)])
def test_the_steps_run_on_prompts(n, d, noise, k):
    """Ridge descent with the steps is p*(W) Xᵀy, in any order of the steps."""
    task = lsa.isotropic(d, n, noise)
    prompts, (_, p) = task.sample(20, generator=0), normal_equations(n, d, Fraction(noise), k)
    W, b = prompts.x.mT @ prompts.x, (prompts.y[:, None] @ prompts.x)[:, 0]
    expected = sum(
        float(c) * (torch.linalg.matrix_power(W, i) @ b[..., None])[..., 0] for i, c in enumerate(p)
    )
    steps = lsa.ladder(task, k).steps
    for order in (steps, steps.flip(0)):
        torch.testing.assert_close(
            ridge_descent(prompts.x, prompts.y, order, noise), expected, rtol=1e-8, atol=1e-8
        )


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize(
    "task",
    [lsa.isotropic(5, 10, 0.25), lsa.skewed(conditioned(5, 9.0, seed=2), 10, 0.25)],
    ids=["white", "skewed"],
)
def test_the_loss_is_met_on_prompts(task, k):
    root = torch.linalg.cholesky(task.covariates.covariance)
    prompts = task.sample(100_000, generator=k)
    x = torch.linalg.solve_triangular(root, prompts.x.mT, upper=False).mT  # whitened
    query = torch.linalg.solve_triangular(root, prompts.x_query.T, upper=False).T
    found = lsa.ladder(task, k)
    w = ridge_descent(x, prompts.y, found.steps, task.noise_variance)
    assert abs(z_score(((w * query).sum(-1) - prompts.y_query).square(), found.loss)) < 4


@pytest.mark.parametrize(("n", "noise"), [(6, 0.25), (3, 0.0), (4, 1.0)])
@pytest.mark.parametrize("k", [1, 2, 3])
def test_the_loss_by_cubature_in_two_dimensions(n, noise, k):
    """W = T Tᵀ, T triangular with χ_n, N(0, 1), χ_(n−1): Gauss rules are exact for polynomials of W."""
    exact, p = normal_equations(n, 2, Fraction(noise), k)
    rules = [
        zip(*rule, strict=True)
        for rule in (
            chi_square_rule(n, 2 * k + 2),
            hermite_rule(2 * k + 2),
            chi_square_rule(n - 1, 2 * k + 2),
        )
    ]
    total, eye = noise, torch.eye(2, dtype=torch.float64)
    for (top, a), (below, b), (corner, c) in itertools.product(*rules):
        T = torch.tensor([[top**0.5, 0], [below, corner**0.5]], dtype=torch.float64)
        W = T @ T.T
        pW = sum(float(each) * torch.linalg.matrix_power(W, i) for i, each in enumerate(p))
        total += a * b * c * ((eye - pW @ W).square().sum() + noise * (pW @ W @ pW).trace()).item()
    assert total == pytest.approx(float(exact), rel=1e-11)


def test_the_loss_of_any_polynomial():
    """`polynomial_loss` against prompts, against one_step_loss, and against the ladder at its minimum."""
    task = lsa.isotropic(4, 7, 0.3)
    assert lsa.polynomial_loss(lambda x: 0.07 + 0 * x, 0, task).item() == pytest.approx(
        lsa.one_step_loss(0.07, task), rel=1e-13
    )
    _, p = normal_equations(7, 4, Fraction(0.3), 3)
    loss = lsa.polynomial_loss(lambda x: evaluate(p, x), 2, task).item()
    assert loss == pytest.approx(lsa.ladder(task, 3).loss, rel=1e-11)
    c = torch.tensor([0.1, -0.003], dtype=torch.float64, requires_grad=True)
    loss = lsa.polynomial_loss(lambda x: c[0] + c[1] * x, 1, task)
    prompts = task.sample(100_000, generator=1)
    w = lsa.gradient_descent_weights(prompts, 1.0)
    w = 0.1 * w - 0.003 * (prompts.x.mT @ (prompts.x @ w[..., None]))[..., 0]
    assert abs(z_score(((w * prompts.x_query).sum(-1) - prompts.y_query).square(), loss.item())) < 4
    assert torch.autograd.grad(loss, c)[0].abs().min() > 0


# ---- limits ----


def proportional(n, d, noise, k):
    """L_(k+1) = σ² + d L_k / (n + L_k)."""
    loss = d + noise
    for _ in range(k):
        loss = noise + d * loss / (n + loss)
    return loss


@pytest.mark.parametrize(
    ("n", "d", "noise"), [(2.0, 1.0, 0.3), (1.0, 3.0, 0.1), (1.0, 1.0, 0.0), (4.0, 1.0, 0.0)]
)
def test_the_recursion_in_closed_form(n, d, noise):
    y = d / n
    half = (1 + y + noise / n) / (2 * math.sqrt(y))
    v = half - math.sqrt(max(half**2 - 1, 0))
    for k in range(1, 8):
        ratio = k / (k + 1) if v == 1 else (1 - v ** (2 * k)) / (1 - v ** (2 * k + 2))
        assert proportional(n, d, noise, k) == pytest.approx(
            noise + d * (1 - v / math.sqrt(y) * ratio), rel=1e-12
        )
        if noise == 0:
            assert proportional(n, d, 0, k) / d == pytest.approx(1 / sum((n / d) ** j for j in range(k + 1)))


def test_square_prompts_leave_one_part_in_k_plus_one():
    """n = d = N: N (L*_k / d − 1/(k+1)) tends to a constant; the values at N = 160."""
    expected = [0.249, 0.335, 0.382, 0.417, 0.447]
    for k in range(1, 6):
        rest = {N: N * (lsa.ladder(lsa.isotropic(N, N), k).loss / N - 1 / (k + 1)) for N in (80, 160)}
        assert rest[160] == pytest.approx(expected[k - 1], abs=6e-4)
        assert rest[80] == pytest.approx(rest[160], rel=0.06)


def test_large_tasks_follow_the_recursion():
    n, d = 1600, 400
    for k in (1, 3, 6):
        exact = lsa.ladder(lsa.isotropic(d, n, 80.0), k).loss
        assert exact == pytest.approx(proportional(n, d, 80.0, k), rel=5e-3)
        j = torch.arange(k, 0, -1, dtype=torch.float64)
        limit = n + d + 2 * math.sqrt(n * d) * torch.cos(j * math.pi / (k + 1))
        nodes = lsa.ladder(lsa.isotropic(d, n), k).nodes
        torch.testing.assert_close(nodes, limit, rtol=1e-2, atol=0)


def from_below(n, d, noise, k):
    """d + σ² minus ridge's Gauss–Radau rule with a node at zero: below ridge's loss, as L*_k is above."""
    alpha, beta = jacobi(n, d, k + 1)
    pivot = alpha[0]
    for j in range(1, k):
        pivot = alpha[j] - beta[j] / pivot
    gain = Fraction(0)
    for a, b in zip([beta[k] / pivot, *reversed(alpha[:k])], reversed(beta), strict=True):
        gain = b / (Fraction(noise) + a - gain)
    return float(d + Fraction(noise) - gain)


def test_the_ladder_ends_at_ridge():
    """Ridge's loss from both sides, and by sampling eigenvalues."""
    for n, d, noise, ridge in ((10, 5, 0.25, 0.5172), (6, 3, 0.3, 0.6092)):
        task = lsa.isotropic(d, n, noise)
        low, high = from_below(n, d, noise, 40), lsa.ladder(task, 40).loss
        assert low < ridge < high < low + 6e-4
        G = task.sample_gram(100_000, generator=0)[:, :d, :d]
        losses = noise + (noise / (torch.linalg.eigvalsh(G) + noise)).sum(-1)
        assert abs(z_score(losses, (low + high) / 2)) < 4.5


@pytest.mark.parametrize(("n", "d"), [(2, 6), (3, 40), (9, 3)])
def test_the_ladder_without_noise_ends_at_least_squares(n, d):
    rest = [float(lsa.ladder(lsa.isotropic(d, n), k).fraction - max(d - n, 0)) for k in (5, 10, 20, 40)]
    assert all(a > 1.5 * b > 0 for a, b in itertools.pairwise(rest))


def test_recursion_coefficients_are_cached_and_rational():
    alpha, beta = jacobi(6, 3, 5)
    assert alpha[0] == 10
    assert beta[:2] == [18, 30]
    assert all(isinstance(value, Fraction) for value in (*alpha, *beta))
