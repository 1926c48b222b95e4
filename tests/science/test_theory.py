"""Every closed form against something that does not know it: quadrature, Monte Carlo, autograd, a limit."""

import itertools

import numpy as np
import pytest
import torch
from helpers.tasks import TARGETS, conditioned, covariance, linear_task, normal, z_score
from hypothesis import given, settings
from hypothesis import strategies as st

import lsa
from lsa.quadrature import chi_square_rule
from lsa.ridge_functions import RidgeFunctions

PAIRS = {f"Gaussian, {target}, {k}": lsa.nonlinear(target, 4, 9, 0.5) for k, target in enumerate(TARGETS)} | {
    f"{law}, linear, {k}": lsa.Task(law, lsa.Linear(covariance(4, 7), mu), 9, 0.5)
    for k, (law, mu) in enumerate(
        itertools.product(
            [
                lsa.Gaussian(torch.eye(4)),
                lsa.Gaussian(conditioned(4, 30, 1)),
                lsa.Gaussian(covariance(4, 8, rank=2)),
                lsa.Rademacher(4),
                lsa.Sphere(4),
                lsa.Uniform(4),
                lsa.Uniform(4, half_width=0.5),
            ],
            [None, normal(4, seed=9)],
        )
    )
}


@pytest.mark.parametrize("task", PAIRS.values(), ids=PAIRS)
def test_optimum_against_monte_carlo(task):
    """The loss is L*, and its derivative at P*, in a random direction, is zero."""
    best = lsa.optimum(task)
    assert best.exact
    assert best.standard_error == 0
    direction = normal(4, 4, seed=11)
    squares, slopes = [], []
    generator = torch.Generator().manual_seed(12)
    for _ in range(5 if best.loss < 6 else 25):  # cubes have heavy tails
        prompts = task.sample(50_000, generator)
        error = lsa.gradient_descent(prompts, best.preconditioner) - prompts.y_query
        squares.append(error**2)
        slopes.append(error * lsa.gradient_descent(prompts, direction))
    squares, slopes = torch.cat(squares), torch.cat(slopes)
    assert squares.std() / len(squares) ** 0.5 <= 0.01 * best.loss
    assert abs(z_score(squares, best.loss)) < 4
    assert abs(z_score(slopes, 0.0)) < 4
    torch.testing.assert_close(lsa.one_step_loss(best.preconditioner, task), best.loss)


@pytest.mark.parametrize("target", TARGETS, ids=str)
def test_known_moments_against_estimated_ones(target):
    task = lsa.nonlinear(target, 4, 9)
    known, groups = lsa.moments(task), lsa.estimate_moments(task, generator=1)
    for samples, expected in (
        (groups.C[:, 0, 0], known.C[0, 0].item()),
        (groups.S[:, 0, 0], known.S[0, 0].item()),
        (groups.power, known.power),
        (groups.fourth, known.fourth),
        (groups.square, known.square),
    ):
        if samples.std() > 1e-9:  # sign² is a constant
            assert abs(z_score(samples, expected)) < 4
        else:
            assert abs(samples.mean().item() - expected) < 1e-9


@pytest.mark.parametrize(
    "target", [t for t in TARGETS if isinstance(t, RidgeFunctions) and not isinstance(t, lsa.Sign)], ids=str
)
def test_closed_line_moments_against_the_integral(target):
    d = 4
    if isinstance(target, lsa.ReLUNetwork):  # homogeneous: the quadrature at the radius that counts
        target.radius = target.weight_scale * d**0.5
    torch.testing.assert_close(target.line(d), RidgeFunctions.line(target, d), rtol=1e-4, atol=1e-9)


@pytest.mark.parametrize("target", [lsa.Sign(), lsa.Cubic(), lsa.Hermite3(), lsa.AbsoluteValue()], ids=str)
def test_quartic_numbers_against_the_integral(target):
    one, _, same, _ = RidgeFunctions.units(target, 3)
    assert target.units(3)[0] == pytest.approx(one, rel=1e-3)
    assert target.units(3)[2] == pytest.approx(same, rel=1e-2)


@pytest.mark.parametrize("d", [1, 2, 3, 7, 40, 1000])
def test_fourth_order_moments_against_other_rules(d):
    """Two units by Mehler's series Σ_k (E g He_k)² ρ^k / k!, ρ the cosine of a random angle."""
    erf = lsa.ErfNetwork(2, radius=0.8)
    degree = 120
    u, w = np.polynomial.hermite_e.hermegauss(300)
    w = w / w.sum()
    even = [1.0]  # E ρ^2j of a random direction in R^d
    for j in range(degree):
        even.append(even[-1] * (2 * j + 1) / (d + 2 * j))

    def series(g):
        he, past, out = np.ones_like(u), np.zeros_like(u), []
        for k in range(degree):  # normalised Hermite polynomials
            out.append((w @ (g * he)) ** 2)
            he, past = (u * he - k**0.5 * past) / (k + 1) ** 0.5, he
        return np.array(out)

    g = erf.activation(torch.from_numpy(0.8 * u)).numpy()
    K, Q = series(g), series(g**2)
    both = np.convolve(K, K)[:degree]
    different = sum(c * even[k // 2] for k, c in enumerate(both) if k % 2 == 0)
    two = sum(c * even[k // 2] for k, c in enumerate(Q) if k % 2 == 0)
    found = erf.units(d)
    assert found[1] == pytest.approx(two, rel=1e-10)
    assert found[3] == pytest.approx(different, rel=1e-10)


@pytest.mark.parametrize("slope", [0.0, 0.3])
def test_two_rectifiers_against_the_plane(slope):
    """In R² two directions enclose a uniform angle, and the mean over it is a plain trapezoid sum."""
    target, angles = lsa.ReLUNetwork(2, slope=slope), torch.linspace(0, np.pi, 2001, dtype=torch.float64)
    around = torch.linspace(0, 2 * np.pi, 4001, dtype=torch.float64)[:-1]
    K = (target.activation(around.cos()) * target.activation((around - angles[:, None]).cos())).mean(1) * 2
    square = torch.trapezoid(K**2, angles) / np.pi  # E |x|² = 2 in K, E |b|² = 2 below, twice
    assert target.units(2)[3] == pytest.approx(4 * square.item(), rel=1e-6)


@settings(max_examples=60, deadline=None)
@given(d=st.integers(1, 8), n=st.integers(1, 40), noise=st.floats(0, 5), seed=st.integers(0, 999))
def test_one_formula_gives_the_three_theorems(d, n, noise, seed):
    best = lsa.optimum(lsa.isotropic(d, n, noise))
    eta = 1 / (n + d + 1 + noise)
    assert best.step == pytest.approx(eta, rel=1e-12)
    assert best.loss == pytest.approx(d + noise - n * d * eta, rel=1e-10)

    sigma = conditioned(d, 50, seed)
    skewed = lsa.optimum(lsa.skewed(sigma, n, noise))
    assert skewed.step == pytest.approx(eta, rel=1e-9)
    assert skewed.loss == pytest.approx(best.loss, rel=1e-9)
    torch.testing.assert_close(skewed.preconditioner @ sigma, eta * torch.eye(d, dtype=torch.float64))

    prior = covariance(d, seed + 1) + 0.1 * torch.eye(d)
    task = lsa.Task(lsa.Gaussian(sigma), lsa.Linear(prior), n, noise)
    power = (sigma * prior).sum()
    P = torch.linalg.inv((n + 1) * sigma + (power + noise) * torch.linalg.inv(prior))
    torch.testing.assert_close(lsa.optimum(task).preconditioner, P, rtol=1e-6, atol=1e-9)

    relu = lsa.optimum(lsa.nonlinear(lsa.ReLUNetwork(3, weight_scale=0.5), d, n, noise))
    assert relu.step == pytest.approx(1 / (n + 2 * d + 3 + 4 * noise / 0.25), rel=1e-12)


@pytest.mark.parametrize(
    ("law", "denominator"), [(lsa.Rademacher, 9 + 4 - 1), (lsa.Uniform, 9 + 4 - 0.2), (lsa.Sphere, 9 + 4 - 1)]
)
def test_steps_of_other_covariates(law, denominator):
    best = lsa.optimum(lsa.Task(law(4), lsa.Linear(torch.eye(4)), 9, 0.5))
    assert best.step == pytest.approx(1 / (denominator + 0.5), rel=1e-12)


@pytest.mark.parametrize("n", [5, 500])
def test_the_step_of_the_paper_is_a_ratio_of_expectations(n):
    """Theorem 1 writes η* as E[ŵᵀXᵀy] / E[yᵀXXᵀy] with the ridge solution ŵ."""
    task = lsa.isotropic(3, n, 0.4)
    prompts = task.sample(20_000, generator=0)
    correlation = (prompts.y[:, None] @ prompts.x)[:, 0]
    bayes = lsa.ridge_weights(prompts, task)
    step = lsa.optimum(task).step
    assert abs(z_score((bayes * correlation).sum(-1) - step * correlation.square().sum(-1), 0.0)) < 4


def test_a_step_exists_only_where_the_preconditioner_is_a_multiple_of_the_inverse():
    assert lsa.optimum(linear_task(3, 5, seed=1)).step is None
    assert lsa.optimum(lsa.nonlinear(lsa.Hermite3(), 3, 5)).step == 0
    assert lsa.optimum(lsa.skewed(conditioned(5, 1000, 2), 5)).step is not None


class OwnLinear:
    """A reader's own target, with nothing but `draw`."""

    def draw(self, batch, d, generator):
        w = torch.randn(batch, d, 1, generator=generator, dtype=torch.float64)
        return lambda x: (x @ w)[..., 0]


class OwnInvariant(OwnLinear):
    rotation_invariant = True


@pytest.mark.parametrize("target", [OwnLinear(), OwnInvariant()])
def test_own_targets_get_an_honest_estimate(target):
    expected = lsa.optimum(lsa.isotropic(3, 8, 0.2))
    losses = [lsa.optimum(lsa.nonlinear(target, 3, 8, 0.2), samples=4096, generator=k) for k in range(20)]
    assert not any(best.exact for best in losses)
    scores = torch.tensor([(best.loss - expected.loss) / best.standard_error for best in losses])
    assert scores.abs().max() < 4
    assert 0.5 < scores.std() < 2  # the standard error is neither too small nor too large
    invariant = hasattr(target, "rotation_invariant")
    assert all((best.step is not None) == invariant for best in losses)


def test_one_step_loss_is_the_loss_of_the_constructed_layer():
    task, P = linear_task(3, 6, seed=4, mean=True), normal(3, 3, seed=5) / 10
    layer = lsa.LinearSelfAttention.from_preconditioner(P)
    assert lsa.one_step_loss(P, task) == pytest.approx(lsa.population_loss(layer, task).item(), rel=1e-12)


def test_the_standard_error_is_the_jackknife():
    """√((N − 1)/N Σ_k (θ_k − θ̄)²), θ_k the loss of the best step from all groups but the k-th."""
    task = lsa.nonlinear(OwnLinear(), 2, 5, 0.3)
    best = lsa.optimum(task, samples=1024, generator=3)
    C, S, power, *_ = lsa.estimate_moments(task, 1024, 3)

    def loss(kept):
        c, s = C[kept].mean(0), S[kept].mean(0) + 0.3 * torch.eye(2, dtype=torch.float64)
        return power[kept].mean() + 0.3 - 5 * torch.trace(c @ torch.linalg.inv(s + 4 * c) @ c)

    count = len(power)
    assert count == 64
    others = torch.stack([loss(torch.arange(count) != k) for k in range(count)])
    error = ((count - 1) / count * (others - others.mean()).square().sum()).sqrt()
    assert best.loss == pytest.approx(loss(torch.ones(count, dtype=torch.bool)).item(), rel=1e-10)
    assert best.standard_error == pytest.approx(error.item(), rel=1e-8)


def test_a_weak_direction_counts_and_what_rounding_leaves_of_none_does_not():
    """Spectra of x over eleven decades; and a singular Σ in a rotated basis, where zeros come as 1e-16."""
    n, noise = 5, 0.3
    for least in (1e-3, 1e-6, 1e-9, 1e-11):
        sigma = torch.diag(torch.tensor([1.0, least], dtype=torch.float64))
        best = lsa.optimum(lsa.skewed(sigma, n, noise))
        assert best.loss == pytest.approx(2 + noise - 2 * n / (n + 3 + noise), rel=1e-6)
        assert best.step == pytest.approx(1 / (n + 3 + noise), rel=1e-6)
    for seed in range(20):
        basis = torch.linalg.qr(normal(8, 8, seed=seed))[0][:, :3]
        singular = lsa.Task(lsa.Gaussian(basis @ basis.T), lsa.Linear(torch.eye(8)), n, noise)
        best = lsa.optimum(singular)
        assert best.loss == pytest.approx(3 + noise - 3 * n / (n + 4 + noise), rel=1e-9)
        assert best.step == pytest.approx(1 / (n + 4 + noise), rel=1e-9)
        torch.testing.assert_close(best.preconditioner, best.step * basis @ basis.T)


@pytest.mark.parametrize(
    ("prior", "n"), [([[1.0, 0.0], [0.0, 2.0]], 10_000), ([[1.0, -0.5], [-0.5, 1.0]], 5)]
)
def test_what_is_no_step(prior, n):
    """In a long prompt P* Σ is of the order 1/n, and 1/n² away from a multiple of the identity."""
    assert lsa.optimum(lsa.Task(lsa.Gaussian(torch.eye(2)), lsa.Linear(prior), n, 0.1)).step is None


@pytest.mark.parametrize(("least", "counts"), [(1e-12, True), (5e-14, False)])
def test_a_direction_without_covariates_has_no_step(least, counts):
    law = lsa.Gaussian(torch.diag(torch.tensor([1.0, least], dtype=torch.float64)))
    assert (lsa.optimum(lsa.Task(law, lsa.Linear(torch.eye(2)), 5, 0.3)).preconditioner[1, 1] > 0) == counts


@pytest.mark.parametrize(("gap", "plain"), [(1e-10, True), (1e-6, False)])
def test_what_rounding_leaves_is_no_preconditioner(gap, plain):
    prior = lsa.Linear(torch.diag(torch.tensor([1.0, 1.0 + gap], dtype=torch.float64)))
    step = lsa.optimum(lsa.Task(lsa.Gaussian(torch.eye(2)), prior, 10, 0.1)).step
    assert (step is not None) == plain


def test_a_centred_target_has_no_mean():
    for mean in ([1.0, 0.0], [0.0, 0.0], [2.0, -1.0]):
        assert lsa.Linear(torch.eye(2), torch.tensor(mean)).centred.prior_mean.abs().max() == 0


def test_only_invariant_targets_are_averaged_over_rotations():
    prior = torch.diag(torch.tensor([1.0, 3.0], dtype=torch.float64))
    groups = lsa.estimate_moments(lsa.Task(lsa.Gaussian(torch.eye(2)), lsa.Linear(prior), 5), 8192, 0)
    for k, expected in ((0, 1.0), (1, 3.0)):
        assert abs(z_score(groups.C[:, k, k], expected)) < 4
    stretched = lsa.Task(lsa.Gaussian(prior), OwnInvariant(), 5)  # f is invariant, the law of x is not
    C = lsa.estimate_moments(stretched, 8192, 0).C.mean(0)
    assert C[1, 1] > 5 * C[0, 0]
    silent = lsa.estimate_moments(lsa.nonlinear(OwnLinear(), 2, 5), 1024, 0)  # says nothing of invariance
    assert silent.S[:, 0, 1].all()
    even = lsa.estimate_moments(lsa.Task(lsa.Gaussian(2 * torch.eye(2)), OwnInvariant(), 5), 8192, 0)
    assert torch.equal(even.S[:, 0, 0], even.S[:, 1, 1])
    assert not even.S[:, 0, 1].any()
    assert abs(z_score(even.C[:, 0, 0], 4.0)) < 4


def test_moments_of_linear_targets_with_a_prior_mean():
    task = linear_task(3, 5, seed=1, mean=True)
    known, groups = lsa.moments(task), lsa.estimate_moments(task, generator=1)
    for name in ("power", "fourth", "square"):
        assert abs(z_score(getattr(groups, name), getattr(known, name))) < 4
    for name in ("C", "S"):
        assert abs(z_score(getattr(groups, name)[:, 0, 1], getattr(known, name)[0, 1].item())) < 4
    mu = normal(3, seed=2)  # without spread f is μ·x itself
    for law, excess in ((lsa.Gaussian(torch.eye(3)), 0.0), (lsa.Rademacher(3), -2 * (mu**4).sum().item())):
        found = lsa.moments(lsa.Task(law, lsa.Linear(torch.zeros(3, 3), mu), 5))
        power = (mu @ mu).item()
        assert found[2:] == pytest.approx((power, 3 * power**2 + excess, power**2))


@pytest.mark.parametrize("d", [3, 6])
def test_two_rectifiers_in_any_dimension(d):
    """E K₁₂² is that of unit directions, by the trapezoid rule, times (E|b|²)²; scales enter as powers."""
    target = lsa.ReLUNetwork(2, slope=0.3)
    unit = RidgeFunctions.units(target, d)[3]
    assert target.units(d)[3] == pytest.approx(d**2 * unit, rel=1e-2)
    leaky = lsa.ReLUNetwork(2, slope=0.8)
    one, two, same, _ = (moment / (d * (d + 2)) for moment in leaky.units(d))  # E|b|⁴
    u = torch.linspace(-12, 12, 200_001, dtype=torch.float64)
    density = torch.exp(-(u**2) / 2) * (u[1] - u[0]) / (2 * np.pi) ** 0.5
    g = leaky.activation(u)
    assert one == pytest.approx((density @ g**4).item(), rel=1e-6)
    assert two == same == pytest.approx((density @ g**2).item() ** 2, rel=1e-6)
    law, wide = lsa.Gaussian(torch.eye(d)), lsa.ReLUNetwork(2, 0.3, weight_scale=2.0, output_scale=3.0)
    for found, one, power in zip(wide.moments(law), target.moments(law), (2, 2, 2, 4, 4), strict=True):
        torch.testing.assert_close(torch.as_tensor(found), 6**power * torch.as_tensor(one))
    erf, large = (lsa.ErfNetwork(2, 0.8, scale).moments(law) for scale in (1.0, 3.0))
    for found, one, power in zip(large, erf, (2, 2, 2, 4, 4), strict=True):
        torch.testing.assert_close(torch.as_tensor(found), 3**power * torch.as_tensor(one))


@pytest.mark.parametrize("d", [1, 2, 3, 5])
def test_fourth_order_moments_of_quadratic_forms(d):
    """Given x, f is Gaussian; its variance, from the definition, is integrated over |x|² ~ χ²_d."""
    known = lsa.Quadratic().moments(lsa.Gaussian(torch.eye(d)))
    square, weight = chi_square_rule(d, 8)
    variance = (square**2 - 2 * square + d) / (d * (d + 1))  # of Σ a_ij (x_i x_j − δ_ij) / √(d(d+1))
    assert known.power == pytest.approx((weight @ variance).item(), rel=1e-12)
    assert known.S[0, 0].item() == pytest.approx((weight @ (variance * square)).item() / d, rel=1e-12)
    assert known.fourth == pytest.approx(3 * (weight @ variance**2).item(), rel=1e-12)
    a = normal(200_000, d, d, seed=d)
    traces = ((a + a.mT) / 2).square().sum((1, 2)) * 2 / (d * (d + 1))  # E_x f² = 2 tr Q²
    assert abs(z_score(traces**2, known.square)) < 4


@pytest.mark.parametrize("d", [1, 2, 5])
def test_fourth_order_moments_of_cosines(d):
    """E_x f² = ½ + ½ exp(−2|b|²) cos 2φ: squared, and averaged over a uniform φ and |b|² ~ ω² χ²_d."""
    known = lsa.Cosine(frequency=0.6).moments(lsa.Gaussian(torch.eye(d)))
    square, weight = chi_square_rule(d, 60)
    assert known.fourth == 3 / 8
    expected = 1 / 4 + (weight @ torch.exp(-4 * 0.36 * square)).item() / 8
    assert known.square == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("target", [lsa.Quadratic(), lsa.Cosine()], ids=str)
def test_other_covariates_are_sampled_and_averaged_over_rotations(target):
    best = lsa.optimum(lsa.Task(lsa.Uniform(2), target, 8), samples=1024)
    assert not best.exact
    assert best.step is not None
