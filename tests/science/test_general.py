"""The formulas of the chapter on the general theorem, against full solves, explicit averages and sampling."""

import itertools
import math

import numpy as np
import pytest
import torch
from helpers.chapter_code import functions
from helpers.javascript import node

import lsa

F = functions("general")
GROUPS = {"square": F.polygon(4), "octagon": F.polygon(8), "cube": F.signed_permutations(3)}


def monomials(x: np.ndarray, k: int) -> np.ndarray:
    choices = itertools.combinations_with_replacement(range(x.shape[1]), k)
    return np.stack([x[:, list(i)].prod(1) for i in choices], 1)


def acting(g: np.ndarray, k: int) -> np.ndarray:
    """The matrix R of g on monomials, φ(gx) = R φ(x), by interpolation."""
    x = np.random.default_rng(0).standard_normal((60, len(g)))
    return np.linalg.lstsq(monomials(x, k), monomials(x @ g.T, k), rcond=None)[0].T


@pytest.mark.parametrize("name", GROUPS)
def test_characters_and_the_dimension_of_the_invariants(name):
    """The mean of the squared trace is the rank of the Reynolds operator, made as a matrix."""
    for k in (1, 2, 3):
        R = [acting(g, k) for g in GROUPS[name]]
        traces = [np.trace(r) for r in R]
        assert [F.character(g, k) for g in GROUPS[name]] == pytest.approx(traces, abs=1e-8)
        if len(R[0]) <= 6:
            reynolds = np.mean([np.kron(r.T, r.T) for r in R], 0)
            np.testing.assert_allclose(reynolds @ reynolds, reynolds, atol=1e-8)
            assert round(np.trace(reynolds)) == np.linalg.matrix_rank(reynolds, 1e-6)
            assert F.invariants(GROUPS[name], k) == pytest.approx(np.trace(reynolds), abs=1e-8)


def test_the_counts_on_the_page():
    cases = [
        (F.polygon(8), [1, 2, 2]), (F.polygon(48), [1, 2, 2]), (F.polygon(4), [1, 3, 4]),
        (F.signed_permutations(3), [1, 3, 6]),
    ]  # fmt: skip
    for group, left in cases:
        assert [F.invariants(group, k) for k in (1, 2, 3)] == pytest.approx(left, abs=1e-8)
    assert len(F.signed_permutations(3)) == 48


def linear_reynolds(elements):
    """The average of χ(g) R(g) on G ⊗ x_q, elements (g, s): x → gx, y → sy."""
    total = 0
    for g, s in elements:
        d = len(g)
        token = np.eye(d + 1) * s
        token[:d, :d] = g
        total = total + s * np.kron(np.kron(token, token), g)
    return total / len(elements)


def test_what_is_left_of_linear_attention():
    """Among tensors symmetric in the two tokens: P for y → −y and for x → −x, one number for rotations."""
    swap = np.einsum("ab,cd,ef->adebcf", np.eye(4), np.eye(4), np.eye(3))
    symmetric = (np.eye(48) + swap.transpose(0, 1, 2, 4, 3, 5).reshape(48, 48)) / 2
    eye = np.eye(3)
    left = {
        "y": [(eye, 1), (eye, -1)], "x": [(eye, 1), (-eye, 1)],
        "cube": [(g, 1) for g in F.signed_permutations(3)],
    }  # fmt: skip
    averages = {name: linear_reynolds(group) @ symmetric for name, group in left.items()}
    ranks = {name: np.linalg.matrix_rank(average, 1e-8) for name, average in averages.items()}
    assert ranks == {"y": 9, "x": 9, "cube": 1}


@pytest.mark.parametrize(
    ("n", "d", "noise", "loss"),
    [(4, 2, 0.3, 6.243235572375), (10, 3, 0.5, 6.377093780006), (200, 3, 0.0, 4.533231474408)],
)
def test_cubic_attention(n, d, noise, loss):
    assert F.cubic_loss(n, d, noise) == pytest.approx(loss, abs=1e-12)
    assert F.solved(n, d, noise) == pytest.approx(loss, abs=1e-10)


def test_cubic_attention_s_floor_and_tokens_with_x():
    assert F.cubic_loss(10**9, 3, 0.2) == pytest.approx(0.2 + 18 / 7, abs=1e-4)
    assert F.solved(4, 2, 0.3, (1, 3)) == pytest.approx(5.767781999333, abs=1e-10)
    assert F.solved(50, 3, 0.5, (1, 3)) == pytest.approx(4.165767617382, abs=1e-10)
    assert F.solved(10**7, 3, 0.2, (1, 3)) == pytest.approx(0.2, abs=1e-3)
    assert F.pair_loss(4, 2, 0.3) == pytest.approx(5.767781999333, abs=1e-10)
    assert F.pair_loss(50, 3, 0.5) == pytest.approx(4.165767617382, abs=1e-10)
    assert F.pair_loss(10**7, 5, 0.2) == pytest.approx(0.2, abs=5e-3)


@pytest.mark.parametrize("d", [1, 2, 3, 5])
def test_the_moments_of_the_cubic_target(d):
    """E He₃(t)²|x|⁶ and Σ of (x, |x|²x) by the moments of t and of χ²: E χ⁶ and so on, as exact integers."""
    moment = {k: math.prod(range(k - 1, 0, -2)) for k in (2, 4, 6, 8, 10, 12)} | {0: 1}  # E t^k
    chi = [math.prod(d - 1 + 2 * i for i in range(k)) for k in range(4)]  # E (|x|² − t²)^k
    square = {6: 1, 4: -6, 2: 9}  # He₃(t)²
    s6 = sum(
        c * math.comb(3, j) * moment[power + 2 * j] * chi[3 - j]
        for power, c in square.items()
        for j in range(4)
    )
    assert s6 == 5670 + 1350 * (d - 1) + 126 * (d * d - 1) + 6 * (d - 1) * (d + 1) * (d + 3)
    if d > 1:
        n = 7
        assert 6 - F.cubic_loss(n, d, 0.0) == pytest.approx(216 * n * (d + 1) / (d + 4) / (s6 + 36 * (n - 1)))
    x, weight = F.gauss_rule(min(d, 3))
    size = (x**2).sum(1)
    k = min(d, 3)
    assert weight @ (size * x[:, 0] ** 2) == pytest.approx(k + 2)
    assert weight @ (size**2 * x[:, 0] ** 2) == pytest.approx((k + 2) * (k + 4))


def test_schur():
    """Averages over a group: a number on an irreducible part, zero between types, r² for r copies."""
    rng = np.random.default_rng(2)
    group = [np.kron(np.eye(2), g) for g in F.polygon(5)]  # two copies of the plane
    other = [acting(g, 2) for g in F.polygon(5)]  # |x|², and a plane that turns twice as fast
    scale = np.diag([1, math.sqrt(2), 1])
    other = [scale @ R @ np.linalg.inv(scale) for R in other]
    zero = np.zeros((4, 3))
    both = [np.block([[g, zero], [zero.T, h]]) for g, h in zip(group, other, strict=True)]
    A = rng.standard_normal((7, 7))
    A = A + A.T
    mean = np.mean([g @ A @ g.T for g in both], 0)
    np.testing.assert_allclose(mean[:4, 4:], 0, atol=1e-12)
    blocks = mean[:4, :4].reshape(2, 2, 2, 2).transpose(0, 2, 1, 3)
    for block in blocks.reshape(4, 2, 2):
        np.testing.assert_allclose(block, block[0, 0] * np.eye(2), atol=1e-12)
    values = np.linalg.eigvalsh(mean[4:, 4:])
    assert min(np.diff(values)) < 1e-12  # the other plane: one number, twice
    assert max(np.diff(values)) > 1e-3


def test_cubic_attention_on_prompts():
    """The theorem's kernel on sampled prompts: its loss, and a residual uncorrelated with other kernels."""
    n, d, noise, count = 4, 2, 0.3, 400_000
    g = torch.Generator().manual_seed(0)
    b = torch.randn(count, d, generator=g, dtype=torch.float64)
    b /= b.norm(dim=1, keepdim=True)
    x = torch.randn(count, n + 1, d, generator=g, dtype=torch.float64)
    t = (x @ b[..., None])[..., 0]
    y = t**3 - 3 * t + math.sqrt(noise) * torch.randn(count, n + 1, generator=g, dtype=torch.float64)
    q, x, yq, y = x[:, -1:], x[:, :-1], y[:, -1], y[:, :-1]
    dot, sizes = (x * q).sum(-1), x.square().sum(-1) * q.square().sum(-1)
    s6 = 5670 + 1350 + 126 * 3 + 6 * 15 + noise * 48
    answer = 6 / (s6 + 36 * (n - 1)) * (y * (dot**3 - 3 / (d + 4) * sizes * dot)).sum(-1)
    loss = (answer - yq).square()
    assert abs(loss.mean() - F.cubic_loss(n, d, noise)) < 4 * loss.std() / math.sqrt(count)
    for kernel in (
        dot**3,
        sizes * dot,
        x[..., 0] ** 3 * q[..., 1] ** 3,
        x[..., 0] ** 2 * x[..., 1] * q[..., 0] ** 3,
    ):
        pair = (yq - answer) * (y * kernel).sum(-1)
        assert abs(pair.mean()) < 4 * pair.std() / math.sqrt(count)


def test_one_step_in_feature_space_by_enumeration():
    """Four points, six functions in ± pairs, all prompts; all weights of G_φ ⊗ φ_q are solved for."""
    rng, n, noise = np.random.default_rng(1), 2, 0.3
    phi, f = rng.standard_normal((4, 2)), rng.standard_normal((3, 4))
    f, points = np.concatenate([f, -f]), range(4)
    rows, targets = [], []
    signs = (1, -1)  # noise ±σ: symmetric, variance σ²
    for h, i, j, k, e1, e2 in itertools.product(f, points, points, points, signs, signs):
        tokens = np.array([[*phi[i], h[i] + e1 * math.sqrt(noise)], [*phi[j], h[j] + e2 * math.sqrt(noise)]])
        rows.append(np.einsum("ab,c->abc", tokens.T @ tokens, phi[k]).ravel())
        targets.append(h[k])
    rows, targets = np.array(rows), np.array(targets)
    best = np.linalg.lstsq(rows, targets, rcond=None)[0]
    loss = ((rows @ best - targets) ** 2).mean() + noise
    m, Sigma = f @ phi / 4, phi.T @ phi / 4
    C, S = m.T @ m / 6, np.einsum("fx,xi,xj->ij", f**2 + noise, phi, phi) / 24
    P, gain = F.best_P(C, S, Sigma, n)
    assert (f**2).mean() + noise - gain == pytest.approx(loss, abs=1e-10)
    step = np.zeros((3, 3, 2))
    step[:2, 2] = P.T
    np.testing.assert_allclose(rows @ step.ravel(), rows @ best, atol=1e-9)
    theta = rng.standard_normal(18)  # Pythagoras, for weights that are not those of any layer
    excess = ((rows @ theta - targets) ** 2).mean() + noise - loss
    assert excess == pytest.approx(((rows @ (theta - best)) ** 2).mean(), rel=1e-10)


def test_a_triangle_is_enough():
    """All prompts of three examples at the corners: no weights beat a plain step with η = c/(s + (n−1)c)."""
    angle = 2 * np.pi * np.arange(3) / 3
    x = math.sqrt(2) * np.stack([np.cos(angle), np.sin(angle)], -1)
    tables = np.random.default_rng(3).standard_normal((2, 3))
    f = np.concatenate([np.roll(sign * tables, j, 1) for j in range(3) for sign in (1, -1)])
    rows, targets = [], []
    for h, i, j, k in itertools.product(f, range(3), range(3), range(3)):
        tokens = np.array([[*x[i], h[i]], [*x[j], h[j]]])
        rows.append(np.einsum("ab,c->abc", tokens.T @ tokens, x[k]).ravel())
        targets.append(h[k])
    rows, targets = np.array(rows), np.array(targets)
    best = np.linalg.lstsq(rows, targets, rcond=None)[0]
    m = f @ x / 3
    c, s = (m**2).sum() / len(f), (f**2 * (x**2).sum(1)).mean()
    step = np.zeros((3, 3, 2))
    step[:2, 2] = c / (s + c) * np.eye(2)
    np.testing.assert_allclose(rows @ step.ravel(), rows @ best, atol=1e-9)


def test_the_average_never_raises_a_convex_loss():
    """A finite law closed under the square's symmetries: |error| of any θ against that of its average."""
    rng, group = np.random.default_rng(5), F.polygon(4)
    seeds = rng.standard_normal((6, 4, 2))  # two examples, the query, b
    data = [s @ g.T for s in seeds for g in group]
    for _ in range(20):
        P = rng.standard_normal((2, 2))
        mean = np.mean([g.T @ P @ g for g in group], 0)
        np.testing.assert_allclose(mean, np.trace(mean) / 2 * np.eye(2), atol=1e-12)

        def loss(P):
            prompts = ((s[:2], s[2], s[3]) for s in data)
            return np.mean([abs(q @ P @ (x.T @ (x @ b)) - (q @ b) ** 3) for x, q, b in prompts])

        assert loss(mean) <= loss(P) + 1e-12


def test_a_prior_mean_breaks_both_symmetries():
    eye = torch.eye(2, dtype=torch.float64)
    task = lsa.Task(lsa.Gaussian(eye), lsa.Linear(eye, torch.ones(2).double()), 6, 0.3)
    layer = lsa.LinearSelfAttention.from_preconditioner(lsa.optimum(task).preconditioner)
    run = lsa.fit(layer, task, progress=False)
    assert run.losses[-1] < run.losses[0] - 0.01


LIVE = """
import { action, average, dimension, monomials, power } from "./average.js";
const { T, groups, g } = given, result = { left: [], monomials: monomials(3, 3), power: power(g, 3) };
for (const [model, d, group] of groups) result.left.push(dimension(action(model, group, d)));
for (const group of ["signed", "orthogonal"]) result[group] = average(T, action("cubic", group, 3));
console.log(JSON.stringify(result));
"""
LEFT = {  # (model, d): numbers left under each group
    ("linear", 2): {"none": 12, "flip": 4, "signed": 1, "orthogonal": 1},
    ("linear", 3): {"none": 30, "flip": 9, "signed": 1, "orthogonal": 1},
    ("quadratic", 2): {"signed": 3, "orthogonal": 2},
    ("quadratic", 3): {"signed": 3, "orthogonal": 2},
    ("cubic", 2): {"signed": 4, "orthogonal": 2},
    ("cubic", 3): {"signed": 6, "orthogonal": 2},
}


def test_the_live_figure_s_averages():
    """Dimensions and averages by node: signed permutations by their list here, O(3) by its invariance."""
    rng = np.random.default_rng(0)
    T, g = rng.standard_normal((10, 10)), np.linalg.qr(rng.standard_normal((3, 3)))[0]
    groups = [(model, d, group) for (model, d), table in LEFT.items() for group in table]
    answer = node(LIVE, {"T": T.tolist(), "groups": groups, "g": g.tolist()})
    assert answer["left"] == pytest.approx([LEFT[model, d][group] for model, d, group in groups], abs=1e-9)
    letters = [np.bincount(monomial) for monomial in answer["monomials"]]
    scale = np.sqrt([math.factorial(3) // math.prod(map(math.factorial, counts)) for counts in letters])

    def unit(g):
        return scale[:, None] * acting(g, 3) / scale

    np.testing.assert_allclose(answer["power"], unit(g), atol=1e-9)
    signed = np.mean([unit(h).T @ T @ unit(h) for h in F.signed_permutations(3)], 0)
    np.testing.assert_allclose(answer["signed"], signed, atol=1e-9)
    mean = np.array(answer["orthogonal"])
    np.testing.assert_allclose(unit(g).T @ mean @ unit(g), mean, atol=1e-9)  # invariant, and keeps what is:
    x, q = rng.standard_normal((2, 10, 3))
    kernel = (scale * monomials(q, 3)) @ mean @ (scale * monomials(x, 3)).T
    dot, sizes = q @ x.T, np.outer((q**2).sum(1), (x**2).sum(1))
    basis = np.stack([(dot**3).ravel(), (sizes * dot).ravel()], 1)
    left = np.linalg.lstsq(basis, kernel.ravel(), rcond=None)
    assert left[1].sum() < 1e-16 * kernel.size
    assert np.trace(mean) == pytest.approx(np.trace(T), abs=1e-9)
