"""The formulas of the chapter on objectives: finite groups, second quadratures, limits, sampling."""

import math

import mpmath
import numpy as np
import pytest
import torch
from helpers.chapter_code import functions
from helpers.javascript import node
from helpers.tasks import z_score

import lsa

F = functions("objectives")
pytestmark = pytest.mark.usefixtures("double")
softplus = torch.nn.functional.softplus
LOSSES = {
    "squared": lambda f, y: (f - y) ** 2,
    "fourth power": lambda f, y: (f - y) ** 4,
    "log cosh": lambda f, y: softplus(2 * (f - y)) - (f - y),
    "Huber": lambda f, y: torch.nn.functional.huber_loss(f, y, reduction="none", delta=0.7),
    "asymmetric": lambda f, y: torch.exp((f - y) / 3) - (f - y) / 3,
    "logistic": lambda f, y: softplus(-y * f),
    "exponential": lambda f, y: torch.exp(-y * f / 2),
}


def sign_prompts(batch, d, n, p, seed, noise=0.0):
    """Prompts with y = sign(w·x + ε), flipped with probability p; and the query's unflipped label."""
    g = torch.Generator().manual_seed(seed)
    w = torch.randn(batch, d, 1, generator=g)
    x = torch.randn(batch, n + 1, d, generator=g)
    values = (x @ w)[..., 0] + noise**0.5 * torch.randn(batch, n + 1, generator=g)
    y = values.sign() * (1 - 2 * (torch.rand(batch, n + 1, generator=g) < p).double())
    return lsa.Prompts(x[:, :-1], y[:, :-1], x[:, -1], y[:, -1]), values[:, -1].sign()


# ---- any convex loss ----


def test_signed_permutations_are_a_group():
    group = list(F.signed_permutations(3))
    assert len(group) == 48
    products = {tuple((a @ b).flatten().tolist()) for a in group for b in group}
    assert products == {tuple(a.flatten().tolist()) for a in group}


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(("d", "n", "count"), [(2, 5, 150), (3, 4, 60)])
def test_the_minimiser_on_closed_data_is_one_step(loss, d, n, count):
    g = torch.Generator().manual_seed(7)
    if loss in ("logistic", "exponential"):
        prompts, _ = sign_prompts(count, d, n, 0.15, 7)
    else:
        prompts = lsa.isotropic(d, n, 0.25).sample(count, g)
    T, features, data = minimum(loss, F.closed(prompts), g)
    S = F.one_step(d).flatten()
    eta = T @ S / d
    assert (T / eta - S).abs().max() < 1e-11
    # an independent look: no direction of the tensor goes down from there
    f = (features @ T).requires_grad_()
    (slope,) = torch.autograd.grad(LOSSES[loss](f, data.y_query).mean(), f)
    size = features.abs().mean(0) * slope.abs().mean()
    assert ((features.T @ slope).abs() / size / len(f)).max() < 1e-9


def minimum(loss, data, generator):
    features = F.features(data).flatten(1)
    start = 0.1 * torch.randn(features.shape[1], generator=generator)
    T = F.newton(lambda T: LOSSES[loss](features @ T, data.y_query).mean(), start)
    return T, features, data


def test_open_data_need_not_give_one_step():
    """Without the mirror images the minimiser is another: the check above can fail."""
    g = torch.Generator().manual_seed(7)
    T, _, _ = minimum("squared", lsa.isotropic(2, 5, 0.25).sample(150, g), g)
    assert T[F.one_step(2).flatten() == 0].abs().max() > 1e-3


def test_the_tensor_of_one_step():
    prompts = lsa.isotropic(3, 4, 0.5).sample(5, 0)
    found = F.features(prompts).flatten(1) @ F.one_step(3).flatten()
    torch.testing.assert_close(found, lsa.gradient_descent(prompts, 1.0))


def test_newton():
    """A convex function with a known minimum, from far away."""
    at = F.newton(lambda x: torch.cosh(x - torch.tensor([1.0, -2.0])).sum(), torch.tensor([9.0, 4.0]))
    torch.testing.assert_close(at, torch.tensor([1.0, -2.0]), rtol=1e-12, atol=0)


@pytest.mark.parametrize("level", [0.05, 0.8])
def test_pinball_is_half_the_absolute_loss_for_any_weights(level):
    """On prompts, sampled: a layer with random weights; the odd part of the loss has mean zero."""
    prompts = lsa.isotropic(3, 6, 0.5).sample(200_000, generator=0)
    with torch.no_grad():
        error = lsa.LinearSelfAttention(3, heads=2, scale=0.7, generator=1)(prompts) - prompts.y_query
    assert abs(z_score(torch.maximum(level * error, (level - 1) * error) - error.abs() / 2, 0.0)) < 4


# ---- the step of a loss ----


def test_the_law_of_the_radius():
    """ρ² from four numbers has the moments of ρ² from prompts: E ρ² exactly, E ρ⁴ and E ρ sampled."""
    d, n, noise, eta = 3, 4, 0.5, 0.1
    weight, r0, r1, r2 = F.radius(d, n, noise)
    square = r0 - 2 * eta * r1 + eta**2 * r2
    exact = lsa.one_step_loss(eta, lsa.isotropic(d, n, noise))
    assert (weight @ square).item() == pytest.approx(exact, rel=1e-12)
    g = torch.Generator().manual_seed(2)
    w = torch.randn(300_000, d, generator=g)
    x = torch.randn(300_000, n, d, generator=g)
    y = (x @ w[:, :, None])[..., 0] + math.sqrt(noise) * torch.randn(300_000, n, generator=g)
    drawn = (eta * (y[:, None] @ x)[:, 0] - w).square().sum(-1) + noise
    for power in (0.5, 2):
        assert abs(z_score(drawn**power, (weight @ square**power).item())) < 4


def test_squared_loss_gives_the_closed_form():
    for d, n, noise in [(1, 5, 0.3), (5, 10, 0.25), (4, 2, 3.0), (2, 30, 0.0)]:
        step = F.best_step(lambda s: s, d, n, noise)
        assert step == pytest.approx(lsa.optimum(lsa.isotropic(d, n, noise)).step, rel=1e-11)


def test_absolute_step_by_two_quadratures():
    assert F.absolute_step(5, 10, 0.25) == pytest.approx(0.06244883, abs=5e-9)
    assert F.best_step(torch.sqrt, 5, 10, 0.25) == pytest.approx(0.06244883, rel=2e-6)
    assert F.absolute_step(5, 10, 4.0) == pytest.approx(F.best_step(torch.sqrt, 5, 10, 4.0), rel=1e-7)
    assert F.absolute_step(5, 10, 0.0) == pytest.approx(0.063744, abs=1e-6)


@pytest.mark.parametrize(("d", "n"), [(1, 3), (2, 10), (5, 4)])
@pytest.mark.parametrize("noise", [0.0, 1.0, 4.0, 9.0])
def test_the_fourth_power_changes_sides_at_noise_four(d, n, noise):
    """Its slope at η*, by Gauss rules, which are exact for these polynomials."""
    star = 1 / (n + d + 1 + noise)
    weight, r0, r1, r2 = F.radius(d, n, noise)
    slope = weight @ (2 * (r0 - 2 * star * r1 + star**2 * r2) * (2 * star * r2 - 2 * r1))
    formula = -8 * n * d * (n + 2) * (d + 2) * (noise - 4) * star**3
    assert slope.item() == pytest.approx(formula, rel=1e-9, abs=1e-9)


def test_the_absolute_loss_changes_sides_a_little_earlier():
    for d, noise, sign in (
        (2, 3.3, 1),
        (2, 3.4, -1),
        (5, 3.3, 1),
        (5, 3.4, -1),
        (5, 16.0, -1),
        (2, 16.0, -1),
    ):
        assert sign * (F.absolute_step(d, 10, noise) * (11 + d + noise) - 1) > 1e-6


@pytest.mark.parametrize(
    ("expected", "slope"),
    [
        (torch.sqrt, lambda square, change: change / (2 * square.sqrt())),
        (F.huber(1.0), lambda square, change: change / 2 * torch.erf(1 / (2 * square).sqrt())),
        (lambda s: s**2, lambda square, change: 2 * square * change),
        (F.insensitive(1.0), None),
    ],
    ids=["absolute", "Huber", "fourth power", "insensitive"],
)
def test_steps_on_prompts(expected, slope):
    """Sampled: the derivative of the loss at its step, with the query integrated out, is zero."""
    d, n, noise = 5, 10, 0.25
    eta = F.best_step(expected, d, n, noise)
    g, size = torch.Generator().manual_seed(3), 200_000
    w, x = torch.randn(size, d, generator=g), torch.randn(size, n, d, generator=g)
    y = (x @ w[:, :, None])[..., 0] + math.sqrt(noise) * torch.randn(size, n, generator=g)
    total = (y[:, None] @ x)[:, 0]
    square = (eta * total - w).square().sum(-1) + noise
    change = 2 * ((eta * total - w) * total).sum(-1)
    if slope is None:
        inner = square.clone().requires_grad_()
        (each,) = torch.autograd.grad(expected(inner).sum(), inner)
        sample = each * change
    else:
        sample = slope(square, change)
    assert abs(z_score(sample, 0.0)) < 4


@pytest.mark.parametrize("delta", [0.3, 1.0, 3.0])
def test_expected_losses_of_a_normal_error(delta):
    t = torch.linspace(-12, 12, 400_001)
    weight = torch.exp(-t * t / 2) / math.sqrt(2 * math.pi) * (t[1] - t[0])
    for rho in (0.2, 1.0, 4.0):
        e = rho * t
        huber = torch.where(e.abs() < delta, e**2 / 2, delta * (e.abs() - delta / 2))
        square = torch.tensor(rho**2)
        assert F.huber(delta)(square).item() == pytest.approx((weight @ huber).item(), rel=1e-7)
        free = (e.abs() - delta).clamp_min(0)
        direct = (weight @ free).item()
        assert F.insensitive(delta)(square).item() == pytest.approx(direct, rel=1e-6, abs=1e-12)


@pytest.mark.parametrize("n", [1, 5, 12])
def test_one_dimension_gives_the_median(n):
    """E|η ξ_n − 1| against its incomplete-gamma form: least at 1/median(χ²_{n+2})."""
    median = mpmath.findroot(
        lambda m: mpmath.gammainc(mpmath.mpf(n + 2) / 2, 0, m / 2, regularized=True) - 0.5, n + 1.34
    )

    def loss(eta):
        density = lambda x: x ** (n / 2 - 1) * mpmath.exp(-x / 2) * abs(eta * x - 1)  # noqa: E731
        return mpmath.quad(density, [0, 1 / eta, 6 * n + 30])

    best = 1 / median
    assert loss(best) < min(loss(best * 1.001), loss(best * 0.999))
    if n == 5:
        assert float(best) == pytest.approx(0.157584, abs=5e-7)


def test_a_loss_can_forbid_the_prompt():
    """E cosh(bρζ) = E e^{b²ρ²/2}: finite sums of its series grow without bound for any η ≠ 0."""
    weight, r0, _, _ = F.radius(3, 4, 0.5)
    b2 = 0.25
    zero = (weight @ torch.exp(b2 * r0 / 2)).item()
    assert zero == pytest.approx(math.exp(b2 * 0.5 / 2) * (1 - b2) ** -1.5, rel=1e-9)
    # the terms (b²/2)^k E ρ^{2k} / k!: E ξ_n^{2k} ~ (2k)! 4^k outruns k! for every η
    eta, log_terms = 0.01, []
    for k in (10, 200, 2000):
        log_moment = sum(math.log(4 + 2 * j) for j in range(2 * k))  # E ξ_4^{2k}
        log_w = sum(math.log(3 + 2 * j) for j in range(k))  # E |w|^{2k}, d = 3
        log_terms.append(k * math.log(b2 / 2 * eta**2) + log_moment + log_w - math.lgamma(k + 1))
    assert log_terms[-1] > 1000


# ---- labels ±1 ----


def moment_rule(n, p, count):
    """A Gauss rule for Σ ±|ζ_i| from its moments, in high precision: independent of `evidence`."""
    mpmath.mp.dps = 100
    size = 2 * count + 1
    one = [mpmath.mpf(1)]
    for j in range(1, size):
        moment = mpmath.sqrt(mpmath.mpf(2) ** j / mpmath.pi) * mpmath.gamma(mpmath.mpf(j + 1) / 2)
        one.append(moment * (1 if j % 2 == 0 else 1 - 2 * mpmath.mpf(p)))
    total = [mpmath.mpf(1)] + [mpmath.mpf(0)] * (size - 1)
    for _ in range(n):
        total = [
            mpmath.fsum(mpmath.binomial(j, i) * total[i] * one[j - i] for i in range(j + 1))
            for j in range(size)
        ]
    gram = mpmath.matrix(count + 1, count + 1)
    for i in range(count + 1):
        for j in range(count + 1):
            gram[i, j] = total[i + j] if i + j < size else 0
    R = mpmath.cholesky(gram[:count, :count]).T  # Golub and Welsch, from the Hankel matrix
    last = [mpmath.mpf(0)] * count
    for i in range(count):
        last[i] = (total[i + count] - mpmath.fsum(R[k, i] * last[k] for k in range(i))) / R[i, i]
    a = [
        (R[i, i + 1] if i + 1 < count else last[i]) / R[i, i] - (R[i - 1, i] / R[i - 1, i - 1] if i else 0)
        for i in range(count)
    ]
    a, b = (
        np.array(a, dtype=float),
        np.array([R[i + 1, i + 1] / R[i, i] for i in range(count - 1)], dtype=float),
    )
    J = np.diag(a) + np.diag(b, 1) + np.diag(b, -1)
    nodes, vectors = np.linalg.eigh(J)
    mpmath.mp.dps = 15
    return nodes, vectors[0] ** 2


def test_evidence_by_its_moments():
    nodes, weights = (part.numpy() for part in F.evidence(10, 0.1))
    other, gauss = moment_rule(10, 0.1, 12)
    for power in range(8):
        assert weights @ nodes**power == pytest.approx(gauss @ other**power, rel=1e-8)
    assert weights @ np.cos(nodes) == pytest.approx(gauss @ np.cos(other), abs=1e-4)


def test_cross_entropy_step():
    coarse, fine = F.cross_entropy(5, 10, 0.1), F.cross_entropy(5, 10, 0.1, count=32, dt=0.1)
    eta = F.newton(coarse, torch.tensor([0.05]))
    assert eta.item() == pytest.approx(0.12212719, abs=5e-9)
    assert coarse(eta).item() == pytest.approx(0.58425421, abs=5e-9)
    assert fine(eta).item() == pytest.approx(coarse(eta).item(), rel=1e-10)
    assert F.newton(fine, eta).item() == pytest.approx(eta.item(), rel=1e-9)


def test_cross_entropy_by_the_margin():
    """A second way to the mean: y_q x_qᵀXᵀy = ±(|x_∥| ζ∥ + √n |x_⊥| ζ), with the query's own two parts."""
    d, n, p, eta = 3, 6, 0.2, 0.15
    half = np.polynomial.legendre.leggauss(30)
    along = torch.tensor(5 * (half[0] + 1))
    law = torch.tensor(5 * half[1]) * torch.exp(-along.square() / 2) * math.sqrt(2 / math.pi)
    rules = F.evidence(n, p), (along, law), F.chi_square_rule(d - 1, 20), F.normal_rule(20)
    (a, x, across, zeta), weight = F.product_rule(*rules)
    margin = x * a + (n * across).sqrt() * zeta
    direct = weight @ ((1 - p) * softplus(-eta * margin) + p * softplus(eta * margin))
    assert F.cross_entropy(d, n, p)(torch.tensor([eta])).item() == pytest.approx(direct.item(), rel=1e-8)


def test_cross_entropy_has_no_slope_in_any_direction_of_the_tensor():
    prompts, _ = sign_prompts(200_000, 3, 6, 0.1, 0)
    eta = F.newton(F.cross_entropy(3, 6, 0.1), torch.tensor([0.1])).item()
    features, z = F.features(prompts).flatten(1), lsa.gradient_descent(prompts, 1.0)
    slope = -prompts.y_query * torch.sigmoid(-eta * prompts.y_query * z)
    each = slope[:, None] * features
    scores = each.mean(0) / (each.std(0) / len(each) ** 0.5)
    assert scores.abs().max() < 4.5


@pytest.mark.parametrize(("d", "n", "p"), [(5, 10, 0.1), (2, 7, 0.0), (9, 6, 0.3)])
def test_accuracy_by_the_angle_of_the_query(d, n, p):
    """A query at angle θ to w is put right with probability Φ(ζ∥ cot θ / √n): a smooth integral."""
    x, w = map(torch.tensor, np.polynomial.legendre.leggauss(300))
    angle = math.pi / 4 * (x + 1)
    w = w * angle.sin() ** (d - 2)
    (along, angle), weight = F.product_rule(F.evidence(n, p), (angle, w / w.sum()))
    right = weight @ torch.special.ndtr(along / angle.tan() / n**0.5)
    assert F.accuracy(d, n, p) == pytest.approx(right.item(), abs=1e-8)


def test_accuracy_by_sampling():
    promised = F.accuracy(5, 10, 0.1)
    assert promised == pytest.approx(0.758066, abs=5e-7)
    prompts, clean = sign_prompts(400_000, 5, 10, 0.1, 1)
    right = (lsa.gradient_descent(prompts, 1.0).sign() == clean).double()
    assert abs(z_score(right, promised)) < 4
    # one example, no flips, d = 2: the angle between w and a Gaussian x on its side is uniform up to π/2
    prompts, clean = sign_prompts(400_000, 2, 1, 0.0, 2)
    right = (lsa.gradient_descent(prompts, 1.0).sign() == clean).double()
    assert abs(z_score(right, 0.75)) < 4


def test_flipped_labels():
    clean = lsa.nonlinear(lsa.Sign(), 2, 3).sample(100_000, 0)
    found = F.flipped(clean, 0.2, torch.Generator().manual_seed(0))
    assert torch.equal(found.x, clean.x)
    for flipped, label in ((found.y, clean.y), (found.y_query, clean.y_query)):
        assert set(flipped.unique().tolist()) == {-1.0, 1.0}
        assert abs(z_score((flipped != label).double().flatten(), 0.2)) < 4


@pytest.mark.parametrize(("noise", "p"), [(0.0, 0.0), (1.0, 0.0), (0.5, 0.1)])
def test_binary_labels_under_the_squared_loss(noise, p):
    d, n = 5, 10
    c, step, loss = F.binary(d, n, noise, p)
    law = lambda r: r ** (d - 1) * mpmath.exp(-r * r / 2)  # noqa: E731  of |w|, up to a factor
    share = mpmath.quad(lambda r: law(r) * r**2 / (r**2 + noise), [0, 2, 12]) / mpmath.quad(law, [0, 2, 12])
    assert c == pytest.approx(2 / math.pi * (1 - 2 * p) ** 2 * float(share), rel=1e-10)
    prompts, _ = sign_prompts(300_000, d, n, p, 4, noise)
    error = lsa.gradient_descent(prompts, step) - prompts.y_query
    assert abs(z_score(error.square(), loss)) < 4
    assert abs(z_score(error * lsa.gradient_descent(prompts, 1.0), 0.0)) < 4
    if not noise and not p:
        known = lsa.optimum(lsa.nonlinear(lsa.Sign(), d, n))
        assert (step, loss) == pytest.approx((known.step, known.loss), rel=1e-12)


# ---- the live figure ----


@pytest.mark.parametrize(("d", "n", "noise"), [(1, 4, 0.3), (5, 10, 0.25), (3, 20, 6.0)])
def test_the_live_figure_finds_the_same_steps(d, n, noise):
    code = """
    import { erf, meanLoss, radius } from "./quadrature.js";
    import { lowest } from "./scalar.js";
    const { d, n, noise } = given, nodes = radius(d, n, noise);
    const more = { level: 0.9, delta: 1 };
    const step = (loss) => lowest((eta) => meanLoss(nodes, loss, eta, more), 0, 1, 60);
    console.log(JSON.stringify({
      steps: ["squared", "absolute", "pinball", "Huber", "fourth"].map(step),
      losses: ["squared", "absolute", "fourth"].map((loss) => meanLoss(nodes, loss, 0.05)),
      erf: [0.1, 1, 2.4, 2.6, 5].map(erf),
    }));"""
    found, sizes = node(code, {"d": d, "n": n, "noise": noise}), (12, 20, 10, 8)
    kinds = [lambda s: s, torch.sqrt, torch.sqrt, F.huber(1.0), lambda s: s**2]
    expected = [F.best_step(kind, d, n, noise, sizes=sizes) for kind in kinds]
    assert found["steps"] == pytest.approx(expected, rel=1e-6)  # golden section: the root of rounding
    weight, r0, r1, r2 = F.radius(d, n, noise, sizes)
    square = r0 - 0.1 * r1 + 0.0025 * r2
    means = [weight @ square, math.sqrt(2 / math.pi) * (weight @ square.sqrt()), 3 * (weight @ square**2)]
    assert found["losses"] == pytest.approx([mean.item() for mean in means], rel=1e-11)
    assert found["erf"] == pytest.approx(torch.erf(torch.tensor([0.1, 1, 2.4, 2.6, 5])).tolist(), abs=1e-14)
