"""The theorems of the chapter on heads: enumeration, normal equations, Hessians, certificates, training."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
import sympy
import torch
from helpers.chapter_code import functions
from helpers.javascript import node

import lsa
from lsa.landscape import best_M, landscape, threshold
from lsa.population import white_moments, white_tokens

F = functions("heads")
Layer = lsa.LinearSelfAttention
pytestmark = pytest.mark.usefixtures("double")


def random_laws(d: int, seed: int):
    g = torch.Generator().manual_seed(seed)
    R = torch.randn(2, d, d, generator=g)
    return *(R @ R.mT + 0.2 * torch.eye(d)), torch.randn(d, generator=g), g


# ---- the same answer ----


def test_heads_do_not_help_where_only_f_is_symmetric():
    """Exact enumeration: four lopsided points in the plane, nonlinear f ~ −f, noise ±½, two examples."""
    points = np.array([[1, 0.3], [-0.2, 1.1], [0.7, -2], [2, 0.5]])
    chance = np.array([0.1, 0.4, 0.3, 0.2])
    values = np.array([[1, -2, 0.5, 0.3], [0.2, 0.7, -1.5, 2]])
    values, n = np.concatenate([values, -values]), 2
    sigma = (chance[:, None, None] * points[:, :, None] * points[:, None]).sum(0)
    features, weights, targets = [], [], []
    for f in values:
        best = np.linalg.solve(sigma, (chance * f) @ points)  # the best linear answer, Σ⁻¹ m_f
        for places in itertools.product(range(4), repeat=n):
            for noise in itertools.product((-0.5, 0.5), repeat=n):
                v = np.array([[*points[i], f[i] + e] for i, e in zip(places, noise, strict=True)])
                features.append((v.T @ v)[np.triu_indices(3)])
                weights.append(np.prod(chance[list(places)]) / len(values) / 2**n)
                targets.append(best)
    features, weights, targets = map(np.array, (features, weights, targets))
    T = np.linalg.solve(features.T @ (weights[:, None] * features), features.T @ (weights[:, None] * targets))
    power = (chance * values**2).sum(1).mean() + 0.25
    error = features @ T - targets
    explained = weights @ np.einsum("bi,ij,bj->b", targets, sigma, targets)
    least = power - explained + weights @ np.einsum("bi,ij,bj->b", error, sigma, error)
    m = [(chance * f) @ points for f in values]
    C = np.mean([np.outer(each, each) for each in m], 0)
    S = np.mean([np.einsum("k,ki,kj->ij", chance * (f**2 + 0.25), points, points) for f in values], 0)
    P = np.linalg.solve(sigma, C) @ np.linalg.inv(S + (n - 1) * C)
    assert least == pytest.approx(power - n * np.trace(P @ C), rel=1e-12)
    # and parity of x is absent: its third moments do not vanish
    assert abs(np.einsum("k,ki,kj,kl->ijl", chance, points, points, points)).max() > 0.1


@pytest.mark.parametrize("seed", range(6))
def test_least_loss_over_all_tensors_is_one_step(seed):
    d, n, noise = 1 + seed % 4, (1, 5, 20)[seed % 3], (0.0, 0.4)[seed % 2]
    Sigma, Lambda, *_ = random_laws(d, seed)
    task = lsa.Task(lsa.Gaussian(Sigma), lsa.Linear(Lambda), n, noise)
    assert F.least_loss(task) == pytest.approx(lsa.optimum(task).loss, rel=1e-9)


# ---- the curve and its traps ----


@pytest.mark.parametrize("d", [1, 2, 3, 6])
@pytest.mark.parametrize("heads", [1, 2, 5])
def test_the_page_and_the_package_have_one_curve(d, heads):
    for n, noise, t in itertools.product((1, 6, 40), (0.0, 0.3, 9.0), (0.0, 0.4, 7.0, 300.0)):
        known = landscape(lsa.isotropic(d, n, noise), heads)
        if known is None:
            continue
        assert F.curve(t, d, n, noise, heads) == pytest.approx(known(t), rel=1e-11)
        step = 1e-5 * (1 + t)
        numeric = known(t + step) - known(max(t - step, 0))
        if abs(numeric) > 1e-9:
            assert np.sign(numeric) == np.sign(F.slope(t, d, n, noise, heads))


def test_the_curve_from_the_moments_of_its_proof():
    """eq-heads-curve for all t, d, n, σ², H at once, from four means of χ² variables."""
    _, t, d, n, s, H = sympy.field("t d n s H", sympy.QQ)
    q = d + s
    xx, across, xc, cc = n * (n + 2), n**2, n * (n * q + 2), n * (n + 2) * (q**2 + 2 * d)
    others = (H - 1) / (xx + (H - 2) * across)  # what the trace of the others' block explains
    s0, s1, s2 = cc - others * xc**2, xc - others * xc * across, xx - others * across**2
    whole, D = s0 - 2 * s1 * t + s2 * t**2, n + 1 + q
    last = whole / (D * whole + t * (s0 * s2 - s1**2) / n)
    assert F.curve(t, d, n, s, H) == q - n * ((H - 1) / D + (d - H) / (D + t) + last)


@pytest.mark.parametrize(("d", "heads"), [(1, 1), (2, 2), (4, 1), (4, 3), (4, 4)])
def test_the_curve_by_the_normal_equations(d, heads):
    """Random spans, as many heads as dimensions too; t = 0 is the optimum, t = ∞ one step in H directions."""
    g = torch.Generator().manual_seed(d + heads)
    for n, noise in itertools.product((1, 3, 10), (0.0, 0.3, 4.0)):
        task, a = lsa.isotropic(d, n, noise), torch.randn(heads, d + 1, generator=g)
        M = best_M(white_moments(task), a, torch.eye(d + 1))
        loss = lsa.population_loss(Layer.from_effective(a, M), task).item()
        cosine = torch.linalg.svd(a, full_matrices=False)[2][:, -1].norm().item()
        assert F.curve(math.tan(math.acos(cosine)) ** 2, d, n, noise, heads) == pytest.approx(loss, rel=1e-8)
        best, D = lsa.optimum(task).loss, n + d + 1 + noise
        assert F.curve(0.0, d, n, noise, heads) == pytest.approx(best, rel=1e-12)
        assert F.curve(1e12, d, n, noise, heads) == pytest.approx(best + n * (d - heads) / D, rel=1e-8)


def sturm(polynomial: list[Fraction]) -> int:
    """How many roots it has in (0, ∞), none being at 0: Sturm's theorem; coefficients from the highest."""
    chain = [polynomial, [c * k for c, k in zip(polynomial, range(len(polynomial) - 1, 0, -1), strict=False)]]
    while len(chain[-1]) > 1:
        rest, by = list(chain[-2]), chain[-1]
        while len(rest) >= len(by):
            factor = rest[0] / by[0]
            rest = [c - factor * b for c, b in itertools.zip_longest(rest, by, fillvalue=Fraction(0))][1:]
        while rest and rest[0] == 0:
            rest = rest[1:]
        if not rest:
            break
        chain.append([-c for c in rest])

    def changes(values):
        signs = [value > 0 for value in values if value != 0]
        return sum(a != b for a, b in itertools.pairwise(signs))

    return changes([p[-1] for p in chain]) - changes([p[0] for p in chain])


def slope_of_one_head(d: int, n: int, noise: Fraction) -> list[Fraction]:
    """The numerator of V′, from another form of the curve: a 2 × 2 system solved for (ν, μ), in s = t."""
    mul, q = np.convolve, d + noise
    u, b, q2 = n + 1 + q, (n + 1) * (q + 1) + 2, q * q + 2 * d
    A, C = np.array([Fraction(n + 2), u]), np.array([u, (n + 2) * q2])
    s = np.array([Fraction(1), Fraction(0)])
    over = np.polyadd(mul(s, A), np.polyadd(C, -2 * b * s))
    under = np.polysub(mul(A, C), b * b * s)
    turn = np.polysub(mul(np.polyder(over), under), mul(over, np.polyder(under)))
    line = np.array([Fraction(1), u])
    return list(np.polysub((d - 1) * mul(under, under), mul(turn, mul(line, line))))


def test_sturm():
    """(t − 1)(t − 2)²(t + 3): two different positive roots; t² + 1: none."""
    assert sturm([Fraction(c) for c in (1, -2, -7, 20, -12)]) == 2
    assert sturm([Fraction(1), Fraction(0), Fraction(1)]) == 0


@pytest.mark.parametrize("d", [3, 4, 5, 6])
@pytest.mark.parametrize("noise", [Fraction(0), Fraction(3, 10), Fraction(1)])
def test_one_threshold(d, noise):
    """thm-heads-threshold: every n up to 300 by itself."""
    first = math.floor(threshold(d, float(noise))) + 1
    table = {3: (24, 23, 22), 4: (53, 52, 51), 5: (89, 89, 88), 6: (134, 133, 133)}
    assert first in table[d]
    for n in range(1, 301):
        polynomial = slope_of_one_head(d, n, noise)
        polynomial = list(itertools.dropwhile(lambda c: c == 0, polynomial))
        assert polynomial[-1] > 0  # V rises at t = 0
        assert sturm(polynomial) == (2 if n >= first else 0)
        assert polynomial[0] > 0  # and towards t = ∞: the second root is a minimum, and the last one


def test_the_certificate_for_the_plane():
    more, s2, t = sympy.symbols("more s2 t", positive=True)
    certificate = sympy.Poly(sympy.expand(-F.slope(3 * (2 + s2), 2, 1 + more, s2)), more, s2)
    assert len(certificate.coeffs()) == 35
    assert min(certificate.coeffs()) > 0
    # `slope` is V′ up to a positive factor: V′ = n slope / ((D + t) (D F + tΔ))²
    n, noise = 1 + more, s2
    derivative = sympy.diff(F.curve(t, 2, n, noise), t)
    values = {more: 5, s2: sympy.Rational(3, 10), t: sympy.Rational(7, 2)}
    D, whole, delta, _ = F.parts(t, 2, n, noise, 1)
    quotient = F.slope(t, 2, n, noise) * n / ((D + t) * (D * whole + t * delta)) ** 2
    assert sympy.simplify((derivative - quotient).subs(values)) == 0
    for length, noise in itertools.product((1, 2, 17, 300), (0.0, 0.3, 10.0, 200.0)):
        assert lsa.traps(lsa.isotropic(2, length, noise))


def test_noise_brings_traps_to_short_prompts():
    assert all(lsa.traps(lsa.isotropic(3, n, 100.0)) for n in range(1, 31))
    assert not any(lsa.traps(lsa.isotropic(3, n, 1.0)) for n in range(1, 22))
    for d, n in itertools.product((3, 4, 5, 6), (1, 2, 3, 8, 40)):  # rem-heads-noise, and its limit
        for noise in (0.5, 3.0, 20.0, 1e7):
            q, D = d + noise, n + d + 1 + noise
            end = (n + 2) ** 2 * (q * q + 2 * d) - (n * q + 2) ** 2 > (d - 1) * (n + 2) * D * D
            assert (math.inf in [trap.tangent for trap in lsa.traps(lsa.isotropic(d, n, noise))]) == end
        assert end == (4 * n + 4 > (d - 1) * (n + 2))


def test_long_prompts():
    for d in (2, 3, 7):
        (trap,) = lsa.traps(lsa.isotropic(d, 10**7))
        excess = trap.loss - lsa.optimum(lsa.isotropic(d, 10**7)).loss
        assert excess == pytest.approx(2 * math.sqrt(2 * d * (d - 1) / 1e7), rel=5e-3)
        assert trap.tangent == pytest.approx(math.sqrt(2 * d * 1e7 / (d - 1)), rel=2e-2)
    d, nu = 4000, 6.0  # the limit n = νd²
    for s in (0.3, 1.0, 4.0):
        gap = F.curve(s * d, d, nu * d * d, 0.0) - F.curve(0.0, d, nu * d * d, 0.0)
        assert gap == pytest.approx(s / nu + 2 * s / (1 + s * s), rel=5e-3)
    assert not lsa.traps(lsa.isotropic(60, int(3.6 * 3600), 0.0))
    assert lsa.traps(lsa.isotropic(60, int(4.4 * 3600), 0.0))


def test_the_trap_in_the_plane():
    task = lsa.isotropic(2, 6, 0.3)
    (trap,) = lsa.traps(task)
    assert trap.loss == pytest.approx(1.590746094387, abs=1e-11)
    assert trap.excess == pytest.approx(0.575499327, abs=1e-9)
    a, M = (weight.detach() for weight in trap.layer().effective())
    scale = (M.norm() / a.norm()).sqrt()
    one = F.hessian(a * scale, M / scale, task)
    assert (one.abs() < 1e-7).sum() == 2
    assert one[2] > 3
    rest = torch.zeros_like(a), torch.zeros_like(M)
    two = F.hessian(torch.cat([a * scale, rest[0]]), torch.cat([M / scale, rest[1]]), task)
    assert two[0] == pytest.approx(-15.49, abs=5e-3)


@pytest.mark.parametrize(("d", "n", "noise"), [(2, 1, 0.0), (3, 40, 0.3), (3, 5, 100.0), (4, 60, 0.0)])
def test_a_resting_head_opens_every_trap(d, n, noise):
    """The lowest eigenvalue is minus the largest singular value of ∂L/∂T, as the proof says."""
    task = lsa.isotropic(d, n, noise)
    for trap in lsa.traps(task):
        a, M = (weight.detach() for weight in trap.layer().effective())
        values = F.hessian(torch.cat([a, 0 * a]), torch.cat([M, 0 * M]), task)
        assert values[0] < -1e-3
        unit = torch.eye(d + 1)
        T = torch.zeros(d + 1, d + 1, d, requires_grad=True)  # ∂L/∂T, by autograd over d + 2 heads
        heads = torch.cat([a, unit]), torch.cat([M, T])
        loss = lsa.population_loss(_layer(*heads), task)
        (slope,) = torch.autograd.grad(loss, T)
        largest = torch.linalg.matrix_norm(slope.reshape(d + 1, -1), 2)
        assert values[0].item() == pytest.approx(-largest.item(), rel=1e-6)


def _layer(a, M):
    """A layer whose query holds M with its graph."""
    layer = Layer.from_effective(a.detach(), M.detach())
    query = torch.cat([M, torch.zeros(*M.shape[:2], 1)], -1)
    del layer.query
    layer.query = query
    return layer


@pytest.mark.parametrize("seed", range(6))
def test_excess_of_d_heads_by_the_missing_direction(seed):
    """eq-heads-missing for any Λ: the excess of the best layer with values orthogonal to z."""
    d, n, noise = 2 + seed % 3, 2 + seed, 0.2 * seed
    g = torch.Generator().manual_seed(seed)
    lam, z = torch.rand(d, generator=g) * 3 + 0.1, torch.randn(d + 1, generator=g)
    task = lsa.Task(lsa.Gaussian(torch.eye(d)), lsa.Linear(torch.diag(lam)), n, noise)
    white, eye = white_moments(task), torch.eye(d + 1)
    a = torch.linalg.svd(z[None])[2][1:]
    loss = lsa.population_loss(Layer.from_effective(a, best_M(white, a, eye)), task).item()
    pairs = itertools.product(eye[:, :, None], repeat=2)
    gram = torch.stack([white.gram_square(left, right, eye) for left, right in pairs])  # E[G e_j e_kᵀ G]
    second = gram.reshape(d + 1, d + 1, d + 1, d + 1).permute(2, 0, 1, 3).reshape((d + 1) ** 2, -1)
    zz = torch.outer(z, z).flatten()
    inverse = zz @ torch.linalg.pinv(second, hermitian=True, rtol=1e-10) @ zz
    P = lsa.optimum(task).preconditioner
    promised = lsa.optimum(task).loss + z[-1] ** 2 * (P @ z[:-1]).square().sum() / inverse
    assert loss == pytest.approx(promised.item(), rel=1e-8)


def test_d_heads_are_never_caught():
    """Twelve starts, an anisotropic prior, as many heads as dimensions."""
    task = lsa.Task(lsa.Gaussian(torch.eye(2)), lsa.Linear(torch.diag(torch.tensor([4.0, 0.3]))), 6, 0.3)
    for seed in range(12):
        run = lsa.fit(Layer(2, heads=2, generator=seed), task, optimizer="als")
        assert run.excess[-1].item() < 1e-6


def test_wilson():
    assert F.wilson(0, 64)[0] == pytest.approx(0, abs=1e-12)
    low, high = F.wilson(122, 200)
    assert (low, high) == pytest.approx((0.541, 0.675), abs=1e-3)
    for bound in (low, high):  # the bounds are where the observed share is 1.96 standard deviations away
        assert abs(0.61 - bound) == pytest.approx(1.96 * math.sqrt(bound * (1 - bound) / 200), rel=1e-9)


# ---- a prior mean ----


@pytest.mark.parametrize("seed", range(6))
def test_price_of_a_mean(seed):
    d, n, noise = 1 + seed % 3, (1, 4, 30)[seed % 3], (0.0, 0.5)[seed % 2]
    Sigma, Lambda, mu, _ = random_laws(d, seed)
    with_mean, without = (
        lsa.Task(lsa.Gaussian(Sigma), lsa.Linear(Lambda, mean), n, noise) for mean in (mu, 0 * mu)
    )
    paid = F.least_loss(with_mean) - lsa.optimum(without).loss
    assert paid == pytest.approx(F.price(with_mean), rel=1e-6)
    assert F.price(without) == 0
    assert lsa.optimum(F.centred(with_mean)).loss == pytest.approx(lsa.optimum(without).loss, rel=1e-14)
    if not noise:
        assert F.price(with_mean) == pytest.approx((2 * mu @ Sigma @ mu / (n * d + 2)).item(), rel=1e-12)


@pytest.mark.parametrize(("mean", "noise"), [(1.0, 0.0), (3.0, 0.0), (3.0, 0.3)])
def test_in_one_dimension_without_noise_a_mean_costs_no_head_anything(mean, noise):
    prior = lsa.Linear(torch.eye(1), torch.tensor([mean]))
    task = lsa.Task(lsa.Gaussian(torch.eye(1)), prior, 4, noise)
    gain = 1 - F.least_loss(task) / lsa.optimum(task).loss
    assert gain == pytest.approx(0, abs=1e-12) if noise == 0 else gain > 1e-3


def test_a_residual_pays_nothing():
    Sigma, Lambda, mu, _ = random_laws(3, 0)
    task = lsa.Task(lsa.Gaussian(Sigma), lsa.Linear(Lambda, mu), 6, 0.3)
    base = lsa.optimum(lsa.Task(lsa.Gaussian(Sigma), lsa.Linear(Lambda), 6, 0.3))
    layer = Layer(3, residual=True, scale=0.0)
    with torch.no_grad():
        layer.key[0] = torch.eye(4)
        layer.query[0, :3, :3] = base.preconditioner.T
        layer.readout.copy_(torch.cat([mu, torch.ones(1)]))
        layer.value[0, 3] = torch.cat([-mu, torch.ones(1)])
    assert lsa.population_loss(layer, task).item() == pytest.approx(base.loss, rel=1e-12)


def d_heads(d, n, noise, length, places):
    """The excess of d heads over d + 1 whose values miss z = (s μ, 1), least over the given s."""
    mu = torch.zeros(d)
    mu[0] = length
    task = lsa.Task(lsa.Gaussian(torch.eye(d)), lsa.Linear(torch.eye(d), mu), n, noise)
    losses = []
    for s in places:
        z = torch.cat([s * mu, torch.ones(1)])  # in tokens [x; y − μ·x]
        losses.append(_least(torch.linalg.svd(z[None])[2][1:], task))
    return min(losses) - F.least_loss(task)


def _least(a, task):
    """The least loss over M, for a (H, d+1) in tokens [x; y − μ·x]; Σ = I."""
    white, (tokens, _), (heads, size) = white_moments(task), white_tokens(task), a.shape
    matrix = white.gram_square(a[:, None, :, None], a[:, :, None], torch.eye(size))
    matrix = matrix.transpose(1, 2).reshape(heads * size, -1)
    right = white.n * white.cross(a, -task.target.prior_mean).flatten(0, 1)
    M = torch.linalg.pinv((matrix + matrix.T) / 2, hermitian=True, rtol=1e-12) @ right
    back = torch.linalg.inv(tokens)
    layer = Layer.from_effective(a @ back, back.T @ M.unflatten(0, (heads, size)))
    return lsa.population_loss(layer, task).item()


def test_how_many_heads_a_mean_takes():
    most = F.most_mean(2, 6, 0.3)
    assert most == pytest.approx(6.095253, abs=1e-6)
    for factor in (0.5, 0.99, 1.3):
        length, inner = factor * most, 2.3**2 + 14
        b, kappa = 0.3 / (2 * inner), 6 + 6 * 0.09 / (2 * inner)
        roots = np.roots([(0.5 - b) * length**2, (1 + kappa) / 9.3, b])
        assert np.isreal(roots).all() == (factor < 1)
        if factor < 1:
            assert abs(d_heads(2, 6, 0.3, length, roots)) < 1e-9
        else:
            assert d_heads(2, 6, 0.3, length, -np.geomspace(1e-5, 10, 300)) > 1e-3
    mu = torch.tensor([1.0, 0.0, 0.0])  # d − 1 heads are not enough: the trained table of the chapter
    task = lsa.Task(lsa.Gaussian(torch.eye(3)), lsa.Linear(torch.eye(3), mu), 6, 0.3)
    runs = [lsa.fit(Layer(3, heads=h, generator=0), task, optimizer="als") for h in (1, 2, 3, 4)]
    paid = [run.losses[-1].item() - lsa.optimum(lsa.isotropic(3, 6, 0.3)).loss for run in runs]
    assert paid == pytest.approx([0.31587246, 0.16005589, 0.09991541, 0.09991541], abs=2e-6)


# ---- the live figure ----


def test_the_live_curve_and_its_traps():
    cases = itertools.product((2, 3, 5), (1, 6, 40), (0.0, 0.3, 10.0), (1, 2))
    cases = [case for case in cases if case[3] < case[0]]
    code = """
    import { angleOf, atAngle, leastLoss, trapAngles } from "./landscape.js";
    console.log(JSON.stringify(given.map(([d, n, noise, heads]) => {
      const task = { d, n, noise, heads };
      const curve = [0, 0.5, 3, 80].map((t) => leastLoss(t, task));
      const traps = trapAngles(task).map((x) => atAngle(x, task));
      return { curve, traps, angle: angleOf(Float64Array.from([3, 0, 4, 0, 2, 0]), 2, 3) };
    })));"""
    for (d, n, noise, heads), found in zip(cases, node(code, cases), strict=True):
        task = lsa.isotropic(d, n, noise)
        known = landscape(task, heads)
        assert found["curve"] == pytest.approx([known(t) for t in (0.0, 0.5, 3.0, 80.0)], rel=1e-11)
        losses = [trap.loss for trap in lsa.traps(task, heads)]
        assert sorted(found["traps"]) == pytest.approx(losses, rel=1e-9)
        assert found["angle"] == pytest.approx(math.acos(0.8), rel=1e-12)


def test_with_unequal_priors_a_trap_comes_sooner():
    """w ~ N(0, diag(4, 1, ¼)), n = 10: four of twelve fits end in one trap, and it is a minimum."""
    prior = lsa.Linear(torch.diag(torch.tensor([4.0, 1.0, 0.25])))
    task = lsa.Task(lsa.Gaussian(torch.eye(3)), prior, 10, 0.3)
    assert task.n < threshold(3, 0.3)
    layers = [lsa.LinearSelfAttention(3, generator=seed) for seed in range(12)]
    ends = [lsa.fit(layer, task, progress=False).excess[-1].item() for layer in layers]
    caught = [seed for seed, end in enumerate(ends) if end > 1e-6]
    assert len(caught) == 4
    assert [ends[seed] for seed in caught] == pytest.approx([0.4140] * 4, abs=1e-4)
    a, M = (weight.detach() for weight in layers[caught[0]].effective())
    scale = (M.norm() / a.norm()).sqrt()
    eigenvalues = F.hessian(a * scale, M / scale, task)
    assert eigenvalues[0].abs() < 1e-6 < 0.1 < eigenvalues[1]
