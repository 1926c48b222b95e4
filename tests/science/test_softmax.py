"""Softmax attention: its exact loss against brute force, samples and limits; the pair and the floor."""

import itertools
import math

import mpmath
import numpy as np
import pytest
import torch
from helpers.chapter_code import functions
from helpers.tasks import conditioned, z_score

import lsa
from lsa.softmax import score_moments

erf = np.vectorize(math.erf)
chapter = functions("softmax")


def head(d, beta, gain, pair=False):
    """The layer whose loss `softmax_loss` computes."""
    layer = lsa.SoftmaxAttention(d, 1 + pair, scale=0.0)
    with torch.no_grad():
        for k, sign in enumerate((1, -1)[: 1 + pair]):
            layer.M[k, :d] = sign * beta * torch.eye(d)
            layer.a[k, d] = sign * gain
    return layer


# ---- the layer ----


def test_forward_is_attention_by_hand():
    layer = lsa.SoftmaxAttention(3, 2, scale=1.5, generator=0)
    prompts = lsa.isotropic(3, 5, 0.2).sample(4, generator=1)
    found = []
    for tokens, x_query in zip(prompts.tokens, prompts.x_query, strict=True):
        answer = 0.0
        for a, M in zip(layer.a, layer.M, strict=True):
            scores = torch.stack([torch.exp(v @ M @ x_query) for v in tokens])
            answer += sum(score * (a @ v) for score, v in zip(scores / scores.sum(), tokens, strict=True))
        found.append(answer)
    torch.testing.assert_close(layer(prompts), torch.stack(found))
    assert layer.a.shape == (2, 4)
    assert layer.M.shape == (2, 4, 3)


def test_huge_scores_do_not_overflow():
    prompts = lsa.isotropic(2, 5).sample(3, generator=0)
    assert torch.isfinite(head(2, 1e6, 1.0)(prompts)).all()


# ---- the exact loss ----


def two_keys(t):
    """The moments for n = 2, of one head and of the pair, (3,) or (3, …) as t.

    With h = (g₁ − g₂)/√2 the weights are (1 ± tanh(th/√2))/2, and (g₁ + g₂)/√2 is free.
    """
    h = np.arange(-12, 12, 0.01)  # the trapezoidal sum of an analytic function, far finer than it has to be
    density, p = 0.01 * np.exp(-h * h / 2) / math.sqrt(2 * math.pi), np.tanh(np.multiply.outer(t, h) / 2**0.5)
    along, squared, crowd = ((f * density).sum(-1) for f in (h * p, (h * p) ** 2, p * p))
    one = np.array([along / 2**0.5, (1 + squared) / 2, (1 + crowd) / 2])
    return one, np.array([2**0.5 * along, 2 * squared, 2 * crowd])


@pytest.mark.parametrize("t", [0.1, 0.5, 1.2, 3.0])
def test_two_keys_by_one_integral(t):
    one, pair = two_keys(t)
    assert score_moments(t, 2) == pytest.approx(one, rel=1e-12)
    assert score_moments(t, 2, pair=True) == pytest.approx(pair, rel=1e-11)


@pytest.mark.parametrize("pair", [False, True])
@pytest.mark.parametrize(("d", "noise", "beta"), [(1, 0.3, 0.7), (2, 0.25, 1.3), (5, 0.0, 0.4)])
def test_the_loss_with_two_examples_to_eleven_digits(d, noise, beta, pair):
    """Gauss–Legendre for r = |x_q| in place of the trapezoidal rule, and the formula for two keys."""
    x, w = np.polynomial.legendre.leggauss(200)
    r = 7 * (x + 1)
    w = w * r ** (d - 1) * np.exp(-r * r / 2)
    w /= w.sum()
    moments = two_keys(beta * r)[pair]
    linear, square = w @ (r * moments[0]), w @ (moments[1] + (d - 1 + noise) * moments[2])
    found = lsa.softmax_loss(lsa.isotropic(d, 2, noise), beta, pair=pair)
    assert found.gain == pytest.approx(linear / square, rel=1e-10)
    assert found.loss == pytest.approx(d + noise - linear**2 / square, rel=1e-11)


@pytest.mark.parametrize(("t", "n"), [(0.5, 10**4), (1.0, 10**5), (1.5, 10**6)])
def test_how_many_examples_a_head_listens_to(t, n):
    """n E Σ π_i² → exp(t²)."""
    assert n * score_moments(t, n)[2] == pytest.approx(math.exp(t * t), rel=60 * math.exp(4 * t * t) / n)


@pytest.mark.parametrize("n", [2, 7, 50, 1000])
@pytest.mark.parametrize("t", [0.3, 1.0, 2.5, 6.0])
def test_steins_identity(t, n):
    """E Σ π_i g_i = t (1 − E Σ π_i²)."""
    mean, _, squares = score_moments(t, n)
    assert mean == pytest.approx(t * (1 - squares), abs=1e-11)


@pytest.mark.parametrize("n", [3, 20])
@pytest.mark.parametrize("pair", [False, True])
def test_score_moments_by_sampling(n, pair):
    t, g = 1.5, torch.randn(200_000, n, generator=torch.Generator().manual_seed(n), dtype=torch.float64)
    a = (t * g).softmax(-1) - ((-t * g).softmax(-1) if pair else 0)
    samples = [(a * g).sum(-1), (a * g).sum(-1).square(), a.square().sum(-1)]
    for sample, expected in zip(samples, score_moments(t, n, pair=pair), strict=True):
        assert abs(z_score(sample, expected)) < 4


@pytest.mark.parametrize("pair", [False, True])
@pytest.mark.parametrize(("d", "n", "beta"), [(2, 10, 1.0), (3, 5, 0.4), (1, 4, 2.0)])
def test_the_exact_loss_is_the_layers(d, n, beta, pair):
    task = lsa.isotropic(d, n, 0.25)
    loss, gain = lsa.softmax_loss(task, beta, pair=pair)
    with torch.no_grad():
        losses = head(d, beta, gain, pair).sampled_losses(task, 200_000, 1)
    assert abs(z_score(losses, loss)) < 4
    # the gain is the best: the loss is a parabola in it
    for other in (0.9 * gain, 1.1 * gain):
        assert lsa.softmax_loss(task, beta, pair=pair, gain=other).loss > loss


def test_skewed_tasks_have_the_same_loss():
    sigma = conditioned(3, 5.0, seed=3)
    task = lsa.skewed(sigma, 8, 0.2)
    found = lsa.softmax_loss(task, 0.7)
    assert found == pytest.approx(lsa.softmax_loss(lsa.isotropic(3, 8, 0.2), 0.7), rel=1e-13)
    layer = head(3, 0.7, found.gain)
    with torch.no_grad():
        layer.M[0, :3] = 0.7 * torch.linalg.inv(sigma)
        losses = layer.sampled_losses(task, 100_000, 1)
    assert abs(z_score(losses, found.loss)) < 4


def golden(f, low, high, tolerance):
    """The place of the minimum of a unimodal function."""
    ratio = (math.sqrt(5) - 1) / 2
    a, b = high - ratio * (high - low), low + ratio * (high - low)
    fa, fb = f(a), f(b)
    while high - low > tolerance:
        if fa < fb:
            high, b, fb = b, a, fa
            a = high - ratio * (high - low)
            fa = f(a)
        else:
            low, a, fa = a, b, fb
            b = low + ratio * (high - low)
            fb = f(b)
    return (low + high) / 2


@pytest.mark.parametrize(
    ("d", "one", "two", "limit", "linear", "floor"),
    [
        (2, (1.37645, 0.78159, 1.094338), (0.657, 0.9894, 0.753977), 0.780612, 0.740566, 0.511443),
        (3, (1.13662, 0.79958, 1.733504), (0.547, 0.8947, 1.182703), 1.212264, 1.144737, 0.879017),
        (5, (0.85887, 0.79869, 3.240098), (0.377, 0.7366, 2.274142), 2.299180, 2.173077, 1.888523),
    ],
)
def test_the_tabled_optima(d, one, two, limit, linear, floor):
    task = lsa.isotropic(d, 10, 0.25)
    beta = golden(lambda b: lsa.softmax_loss(task, b).loss, 0.5 * one[0], 1.5 * one[0], 1e-5)
    loss, gain = lsa.softmax_loss(task, beta)
    assert (beta, gain, loss) == pytest.approx(one, abs=2e-5)
    assert loss == pytest.approx(one[2], abs=6e-7)
    beta = golden(lambda b: lsa.softmax_loss(task, b, pair=True).loss, 0.8 * two[0], 1.2 * two[0], 2e-3)
    loss, gain = lsa.softmax_loss(task, beta, pair=True)
    assert (beta, 2 * beta * gain) == pytest.approx(two[:2], abs=2e-3)
    assert loss == pytest.approx(two[2], abs=1e-6)
    assert pair_limit(d, 10, 0.25) == pytest.approx(limit, abs=6e-7)
    assert lsa.optimum(task).loss == pytest.approx(linear, abs=6e-7)
    assert lsa.score_floor(task) == pytest.approx(floor, abs=6e-7)


# ---- the pair ----


def pair_limit(d, n, noise):
    return d + noise - (n - 1) * d / (n + d + noise)


def test_the_cold_limit_of_the_pair_is_centred_gradient_descent():
    """β → 0: (1/n) Σ y_i (x_i − x̄)·x_q times n/(n + d + σ²), with the Gram matrix of n − 1 tokens."""
    d, n, noise = 3, 6, 0.2
    prompts, beta = lsa.isotropic(d, n, noise).sample(50, generator=0), 1e-4
    centred = prompts._replace(x=prompts.x - prompts.x.mean(1, keepdim=True))
    said = head(d, beta, 1 / (2 * beta), pair=True)(prompts)
    torch.testing.assert_close(said, lsa.gradient_descent(centred, 1 / n), rtol=1e-6, atol=1e-6)
    prompts = lsa.isotropic(d, n, noise).sample(200_000, generator=1)
    centred = prompts._replace(x=prompts.x - prompts.x.mean(1, keepdim=True))
    losses = (lsa.gradient_descent(centred, 1 / (n + d + noise)) - prompts.y_query).square()
    assert abs(z_score(losses, pair_limit(d, n, noise))) < 4
    linear = d + noise - n * d / (n + d + 1 + noise)
    gap = d * (d + 1 + noise) / ((n + d + 1 + noise) * (n + d + noise))
    assert pair_limit(d, n, noise) - linear == pytest.approx(gap, rel=1e-12)


@pytest.mark.parametrize(("d", "n", "noise"), [(2, 10, 0.25), (3, 5, 0.0), (5, 20, 0.3)])
def test_finite_temperature_beats_the_limit(d, n, noise):
    """L = L₀ − 4d(d+2)(n−1) / (n (n+d+σ²)²) β² + O(β⁴), by Richardson's extrapolation in β²."""
    task, total = lsa.isotropic(d, n, noise), n + d + noise
    slope = -4 * d * (d + 2) * (n - 1) / (n * total**2)

    one, two, three = (chapter.quotient(0.06 / k, d, n, noise) for k in (1, 2, 4))
    assert (one - 20 * two + 64 * three) / 45 == pytest.approx(slope, rel=1e-4)
    assert lsa.softmax_loss(task, 0.1, pair=True).loss < pair_limit(d, n, noise)


def test_the_best_temperature_of_long_prompts():
    """β*² ≈ 12 / (n (d+4)(d+3+σ²)) for the pair."""
    for n, expected in ((200, 0.0449), (800, 0.0220)):
        task = lsa.isotropic(2, n, 0.25)
        beta = golden(lambda b, task=task: lsa.softmax_loss(task, b, pair=True).loss, 0.01, 0.09, 2e-4)
        assert beta == pytest.approx(expected, abs=3e-4)
        assert beta == pytest.approx(math.sqrt(12 / (n * 6 * 5.25)), rel=0.04)


@pytest.mark.parametrize(
    ("d", "n", "pair"),
    [
        (1, 5, None),
        (1, 8, 0.467573),
        (1, 10, 0.433187),
        (1, 12, None),
        *((d, n, None) for d in (2, 3) for n in (2, 4, 8, 16)),
    ],
)
def test_pair_against_linear_attention(d, n, pair):
    """At the pair's best temperature: it wins for d = 1, n = 8 and 10, and loses in the other cases."""
    task = lsa.isotropic(d, n, 0.25)
    beta = golden(lambda b: lsa.softmax_loss(task, b, pair=True).loss, 0.2, 2.5 / d, 0.04)
    loss = lsa.softmax_loss(task, beta, pair=True).loss
    assert (loss < lsa.optimum(task).loss) is (pair is not None)
    if pair:
        assert loss == pytest.approx(pair, abs=2e-6)


# ---- long prompts ----


rate = chapter.rate  # lim n (L − σ²) of one head with β² = v and βγ = 1


def best_temperature(d, noise):
    return chapter.best_rate(d, noise)[0] ** 2


def test_the_bounds_behind_the_rate():
    """thm-softmax-rate: both moments, over what bounds them, for short and long prompts, cold and warm."""
    for n, t in itertools.product((2, 5, 30, 1000, 10**5), (0.2, 1.0, 2.0, 3.0, 5.0)):
        mean, square, squares = score_moments(t, n)
        assert n * squares <= (4 + 8 / math.e) * math.exp(t * t)
        assert n * (square - 2 * t * mean + t * t) <= 4 * (1 + t * t) * math.exp(t * t)


@pytest.mark.parametrize(("d", "beta"), [(2, 0.35), (5, 0.3)])
def test_the_rate_of_one_head(d, beta):
    def scaled(n):
        return n * (lsa.softmax_loss(lsa.isotropic(d, n, 0.25), beta, gain=1 / beta).loss - 0.25)

    one, two = scaled(4000), scaled(16000)
    assert (4 * two - one) / 3 == pytest.approx(rate(beta**2, d, 0.25), rel=2e-4)  # the error is like 1/n


def test_the_best_temperature_of_one_head():
    assert best_temperature(2, 0.0) == pytest.approx((3 - math.sqrt(5)) / 4, rel=1e-12)
    assert rate(best_temperature(2, 0.0), 2, 0.0) == pytest.approx(11 + 5 * math.sqrt(5), rel=1e-12)
    table = {1: (0.49219, 9.8886), 2: (0.44132, 24.2904), 3: (0.40422, 44.0772)}
    table |= {5: (0.35149, 99.8937), 10: (0.27673, 334.4416)}
    for d, expected in table.items():
        v = best_temperature(d, 0.25)
        assert (math.sqrt(v), rate(v, d, 0.25)) == pytest.approx(expected, abs=6e-5)
        assert rate(v, d, 0.25) < min(rate(0.98 * v, d, 0.25), rate(1.02 * v, d, 0.25))
        assert 2.9 < rate(v, d, 0.25) / (d * (d + 1.25)) < 4.5


@pytest.mark.parametrize("n", [1000, 4000])
def test_the_rate_of_the_pair(n):
    d, noise, v = 2, 0.25, 0.09

    def part(sign):
        return (1 - sign * 2 * v) ** (-d / 2), (1 - sign * 2 * v) ** (-d / 2 - 1)

    (a, b), (c, e) = part(1), part(-1)
    limit = (d + noise) / (2 * v) * (a - c) + d / 2 * (b + e)
    found = lsa.softmax_loss(lsa.isotropic(d, n, noise), 0.3, pair=True, gain=1 / 0.6).loss
    assert n * (found - noise) == pytest.approx(limit, rel=5 / n)


def test_long_prompts_make_softmax_linear():
    """Scores vᵀMx_q and values aᵀv of Gaussian tokens: ŷ → aᵀ Ψ_w M x_q, as for linear attention."""
    d, noise, n = 2, 0.3, 100_000
    layer = lsa.SoftmaxAttention(d, scale=0.5, generator=0)
    prompts, scores = lsa.isotropic(d, n, noise).sample(12, generator=1), []
    with torch.no_grad():
        said = layer(prompts)
        for k in range(12):
            tokens, q = prompts.tokens[k], prompts.x_query[k]
            w = torch.linalg.lstsq(prompts.x[k], prompts.y[k]).solution  # w to 1e-3
            top = torch.cat([torch.eye(d), w[:, None]], 1)
            psi = torch.cat([top, torch.cat([w, (w @ w + noise)[None]])[None]])
            weights = (tokens @ layer.M[0] @ q).softmax(0)
            error = (weights * (tokens @ layer.a[0] - said[k])).norm()
            scores.append(((said[k] - layer.a[0] @ psi @ layer.M[0] @ q) / error).item())
    assert abs(np.mean(scores)) < 1.2
    assert np.abs(scores).max() < 4


# ---- nonlinear targets ----

U = np.arange(-12, 12.0005, 0.001)
DENSITY = np.exp(-(U**2) / 2) * 0.001 / math.sqrt(2 * math.pi)


@pytest.mark.parametrize(("beta", "floor"), [(1.0, 0.25), (2.0, 0.158461), (5.0, 0.070975)])
def test_the_smoothed_sign(beta, floor):
    """E sign(x₁ + βu) = erf(βu/√2), and what its best multiple leaves of sign(u)."""
    smooth = erf(beta * U / math.sqrt(2))
    slope, power = (DENSITY * np.sign(U) * smooth).sum(), (DENSITY * smooth**2).sum()
    assert slope == pytest.approx(2 / math.pi * math.atan(beta), abs=1e-6)
    assert power == pytest.approx(2 / math.pi * math.asin(beta**2 / (1 + beta**2)), abs=1e-9)
    assert 1 - slope**2 / power == pytest.approx(floor, abs=2e-6)
    assert chapter.sign_floor(beta)[0] == pytest.approx(floor, abs=6e-7)
    assert chapter.sign_floor(beta)[1] == pytest.approx(slope / power, rel=1e-6)  # the best γ


def test_linear_attention_is_the_limit_of_small_beta():
    beta = 1e-3
    left = 1 - (2 / math.pi * math.atan(beta)) ** 2 / (2 / math.pi * math.asin(beta**2 / (1 + beta**2)))
    assert left == pytest.approx(1 - 2 / math.pi, abs=1e-6)


@pytest.mark.parametrize("beta", [0.3, 2.0])
def test_the_smoothed_hermite_polynomial(beta):
    """E He₃(x + βu) = (βu)³; the best multiple of u³ leaves 6 − 36/15 of E He₃² = 6."""
    x, weight = np.polynomial.hermite_e.hermegauss(40)
    weight /= weight.sum()
    smooth = np.array([(weight * ((x + beta * u) ** 3 - 3 * (x + beta * u))).sum() for u in x])
    assert smooth == pytest.approx((beta * x) ** 3, abs=1e-8)
    target = x**3 - 3 * x
    slope, power = (weight * target * smooth).sum(), (weight * smooth**2).sum()
    assert 6 - slope**2 / power == pytest.approx(3.6, abs=1e-9)
    assert lsa.optimum(lsa.nonlinear(lsa.Hermite3(), 3, 1000)).loss == pytest.approx(6)


@pytest.mark.parametrize(("target", "floor"), [(lsa.Sign(), 0.25), (lsa.Hermite3(), 3.6)])
def test_long_prompts_smooth_the_target(target, floor):
    """A head with β = 1 on 5,000 examples is near the floor; linear attention is at 1 − 2/π or 6."""
    task = lsa.nonlinear(target, 1, 5_000)
    gain = math.atan(1) / math.asin(0.5) if floor == 0.25 else 6 / 15
    with torch.no_grad():
        losses = torch.cat([head(1, 1.0, gain).sampled_losses(task, 400, k) for k in range(4)])
    assert abs(z_score(losses, floor)) < 4


def test_a_pair_with_one_key_says_nothing():
    assert score_moments(0.7, 1, pair=True) == pytest.approx((0.0, 0.0, 0.0), abs=1e-12)


# ---- the floor ----


@pytest.mark.parametrize(("d", "n", "noise"), [(2, 10, 0.25), (2, 3, 0.0), (3, 1, 0.0), (4, 300, 2.0)])
def test_the_floor_is_an_exponential_integral(d, n, noise):
    b = mpmath.mpf(d - 1 + noise)
    expected = noise + d * b / 2 * mpmath.exp(b / 2) * mpmath.expint(mpmath.mpf(n) / 2, b / 2)
    assert lsa.score_floor(lsa.isotropic(d, n, noise)) == pytest.approx(float(expected), rel=1e-12)


def test_the_normaliser_attains_the_floor():
    d, n, noise = 5, 10, 0.25
    task = lsa.isotropic(d, n, noise)
    x, y, q, y_query = task.sample(200_000, generator=1)
    scores = (x @ q[..., None])[..., 0]
    normaliser = scores.square().sum(-1) / q.square().sum(-1) + d - 1 + noise
    losses = ((scores * y).sum(-1) / normaliser - y_query).square()
    assert abs(z_score(losses, lsa.score_floor(task))) < 4
    assert lsa.score_floor(task) < lsa.optimum(task).loss


def test_in_one_dimension_the_floor_is_bayes():
    """d = 1: the normalised layer is ridge itself."""
    task = lsa.isotropic(1, 6, 0.3)
    prompts = task.sample(100_000, generator=0)
    scores = prompts.x[..., 0] * prompts.x_query
    normaliser = scores.square().sum(-1) / prompts.x_query[:, 0].square() + 0.3
    torch.testing.assert_close((scores * prompts.y).sum(-1) / normaliser, lsa.ridge(prompts, task))
    losses = (lsa.ridge(prompts, task) - prompts.y_query).square()
    assert abs(z_score(losses, lsa.score_floor(task))) < 4
    assert lsa.score_floor(lsa.isotropic(1, 6)) == 0


# ---- training ----


def test_two_trained_heads_are_a_pair():
    task = lsa.isotropic(2, 10, 0.25)
    layer = lsa.SoftmaxAttention(2, heads=2, generator=0)
    lsa.fit_samples(layer, task, steps=600, learning_rate=0.03, batch=512, generator=0)
    with torch.no_grad():
        tested = layer.sampled_losses(task, 100_000, 1).mean().item()
        beta = layer.M[:, :2].diagonal(dim1=1, dim2=2).mean(1)
    best = 0.753977
    assert best - 0.02 < tested < best + 0.04
    assert beta.prod() < 0
    assert beta.abs().tolist() == pytest.approx([0.657, 0.657], abs=0.12)
    assert abs(layer.a[:, 2].sum().item()) < 0.08
