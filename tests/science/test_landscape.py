"""The closed-form landscape against solved normal equations, Hessians, Sturm's theorem and trained layers."""

import itertools
import math
from fractions import Fraction

import pytest
import sympy
import torch
from helpers.tasks import conditioned, covariance, linear_task, near_twins, normal

import lsa
from lsa.landscape import best_M
from lsa.population import white_moments

Layer = lsa.LinearSelfAttention
RELU = lsa.nonlinear(lsa.ReLUNetwork(3), 4, 9, 0.5)
SPHERE = lsa.Task(lsa.Sphere(4), lsa.Linear(torch.eye(4)), 7, 0.2)
TASKS = {
    "isotropic": lsa.isotropic(4, 6, 0.3),
    "one example": lsa.isotropic(3, 1, 0.0),
    "Λ = Σ⁻¹": lsa.skewed(conditioned(4, 30, 1), 10, 4.0),
    "Λ = 3Σ⁻¹": lsa.Task(lsa.Gaussian(2 * torch.eye(3)), lsa.Linear(1.5 * torch.eye(3)), 6, 0.4),
    "ReLU": RELU,
    "sphere": SPHERE,
    "sign": lsa.nonlinear(lsa.Sign(), 3, 8),
    "cubic": lsa.nonlinear(lsa.Cubic(), 3, 8, 0.1),
}


@pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)
def test_the_curve_is_the_least_loss_over_M(task):
    """Random spans: M is solved for, the loss compared with V(tan² of the angle to the label's axis)."""
    d, white = task.d, white_moments(task)
    eye = torch.eye(d + 1, dtype=torch.float64)
    tokens, R = (torch.linalg.inv(matrix) for matrix in lsa.population.white_tokens(task))
    for heads, seed in itertools.product(range(1, d), range(4)):
        a = normal(heads, d + 1, seed=10 * heads + seed)
        basis = torch.linalg.qr(a.T)[0]
        cosine = basis[-1].square().sum()  # of the angle, squared
        layer = Layer.from_effective(a @ tokens, tokens.T @ best_M(white, a, eye) @ R)
        curve = lsa.landscape.landscape(task, heads)
        loss = lsa.population_loss(layer, task).item()
        assert curve((1 / cosine - 1).item()) == pytest.approx(loss, rel=1e-10)
    assert curve(0.0) == pytest.approx(lsa.optimum(task).loss, rel=1e-12)


@pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)
def test_the_slope_has_the_sign_of_the_curve_s_derivative(task):
    curve = lsa.landscape.landscape(task, 1)
    for t in (0.01, 0.3, 2.0, 9.0, 50.0):
        step = 1e-4 * t
        numeric = (curve(t + step) - curve(t - step)) / (2 * step)
        exact = sum(c * Fraction(t) ** k for k, c in enumerate(curve.slope()))
        assert (numeric > 0) == (exact > 0)


def least_trapped(d, noise, lengths):
    return next((n for n in lengths if lsa.traps(lsa.isotropic(d, n, noise))), None)


FIRST = {
    0.0: {3: 24, 4: 53, 5: 89, 6: 134, 7: 186, 8: 246, 10: 391, 12: 567},
    0.3: {3: 23, 4: 52, 5: 89, 6: 133, 7: 186, 8: 246, 10: 391, 12: 569},
    1.0: {3: 22, 4: 51, 5: 88, 6: 133, 7: 186, 8: 247},
}


@pytest.mark.parametrize(("noise", "d"), [(s, d) for s, row in FIRST.items() for d in row])
def test_the_shortest_prompt_with_a_trap(noise, d):
    first = FIRST[noise][d]
    assert least_trapped(d, noise, range(first - 3, first + 4)) == first
    assert not lsa.traps(lsa.isotropic(d, first // 2, noise))
    assert len(lsa.traps(lsa.isotropic(d, 2 * first, noise))) == 1


@pytest.mark.parametrize("d", [3, 4, 5, 6])
@pytest.mark.parametrize("noise", [Fraction(0), Fraction(3, 10), Fraction(1), Fraction(100)])
def test_traps_are_counted_as_sturm_counts_them(d, noise):
    """The positive roots of the slope, counted by Sturm sequences in exact arithmetic."""
    t = sympy.Symbol("t")
    lengths = [1, 2, 10, 21, 22, 23, 24, 50, 51, 52, 53, 87, 88, 89, 90, 131, 132, 133, 134, 200]
    for n in lengths:
        s2 = sympy.Rational(noise.numerator, noise.denominator)
        q = d + s2
        q2, D = q**2 + 2 * d, n + d + 1 + s2
        F = (n + 2) * (q2 + t**2) - 2 * t * (n * q + 2)
        delta = (n + 2) ** 2 * q2 - (n * q + 2) ** 2
        slope = (d - 1) * (t * delta + D * F) ** 2 - delta * ((n + 2) * t**2 - (n + 2) * q2) * (D + t) ** 2
        slope = sympy.Poly(sympy.expand(slope), t)
        roots = slope.count_roots(0, sympy.oo)
        falls_at_infinity = bool(slope.LC() < 0)
        minima = (roots + falls_at_infinity) // 2
        assert (roots + falls_at_infinity) % 2 == 0
        found = lsa.traps(lsa.isotropic(d, n, float(noise)))
        assert len(found) == minima
        assert any(trap.tangent == math.inf for trap in found) == falls_at_infinity


def test_in_the_plane_there_is_a_trap_wherever_we_looked():
    for n, noise in itertools.product([1, 2, 3, 6, 10, 30, 100, 1000], [0.0, 0.3, 1.0, 3.0, 10.0]):
        assert len(lsa.traps(lsa.isotropic(2, n, noise))) == 1


def test_the_trap_of_the_plane_in_numbers():
    (trap,) = lsa.traps(lsa.isotropic(2, 6, 0.3))
    assert trap.tangent == pytest.approx(17.1493115354, rel=1e-10)
    assert trap.loss == pytest.approx(1.590746094387, rel=1e-12)
    assert trap.excess == pytest.approx(0.575499, abs=1e-6)


TRAPPED = {
    "d = 2": lsa.isotropic(2, 6, 0.3),
    "d = 3": lsa.isotropic(3, 40, 0.25),
    "Λ = Σ⁻¹": lsa.skewed(conditioned(3, 20, 2), 40, 0.25),
    "ReLU, at infinity": RELU,
    "cubic": lsa.nonlinear(lsa.Cubic(), 4, 9, 0.5),
}


def hessian(layer, task):
    """Curvatures of the loss in (a, M), balanced: |a| = |M|."""
    a, M = (weight.detach() for weight in layer.effective())
    scale = (M.norm() / a.norm()).sqrt()
    weights = torch.cat([(a * scale).flatten(), (M / scale).flatten()])

    def loss(vector):
        twin = Layer.from_effective(a, M)
        key, readout = twin.key.detach(), twin.readout.detach()
        del twin.value, twin.query, twin.key, twin.readout
        twin.key, twin.readout = key, readout
        twin.value = readout[:, None] * vector[: a.numel()].view_as(a)[:, None]
        twin.query = torch.cat([vector[a.numel() :].view_as(M), torch.zeros(*M.shape[:-1], 1).double()], -1)
        return lsa.population_loss(twin, task)

    slope = torch.autograd.functional.jacobian(loss, weights)
    return slope, torch.linalg.eigvalsh(torch.autograd.functional.hessian(loss, weights))


@pytest.mark.parametrize("task", TRAPPED.values(), ids=TRAPPED)
def test_a_trap_is_a_local_minimum_and_a_second_head_opens_it(task):
    (trap,) = lsa.traps(task)
    layer = trap.layer()
    assert lsa.population_loss(layer, task).item() == pytest.approx(trap.loss, rel=1e-12)
    slope, curvatures = hessian(layer, task)
    assert slope.abs().max() <= 1e-9 * curvatures[-1]
    assert curvatures[0] >= -1e-9 * curvatures[-1]
    a, M = (weight.detach() for weight in layer.effective())
    two = Layer.from_effective(*(torch.cat([weight, torch.zeros_like(weight)]) for weight in (a, M)))
    slope, curvatures = hessian(two, task)
    assert slope.abs().max() <= 1e-9 * curvatures[-1]
    assert curvatures[0] < -1e-3 * curvatures[-1]
    if task is TRAPPED["d = 2"]:
        assert curvatures[0] == pytest.approx(-15.49, abs=0.01)


@pytest.mark.parametrize("starts", [3, pytest.param(12, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("task", TRAPPED.values(), ids=TRAPPED)
def test_training_ends_in_the_predicted_trap_or_at_the_optimum(task, starts):
    (trap,) = lsa.traps(task)
    runs = [lsa.fit(Layer(task.d, generator=seed), task) for seed in range(starts)]
    excess = torch.tensor([run.excess[-1] for run in runs])
    caught = excess > 1e-6
    assert 0 < caught.sum() < starts
    assert excess[~caught].abs().max() <= 1e-12
    expected = torch.full_like(excess[caught], trap.excess)
    torch.testing.assert_close(excess[caught], expected, rtol=1e-7, atol=0)


@pytest.mark.parametrize("starts", [4, pytest.param(10, marks=pytest.mark.nightly)])
def test_where_no_trap_is_none_is_met(starts):
    for task in (lsa.isotropic(3, 22, 0.3), lsa.isotropic(5, 10, 0.25), lsa.nonlinear(lsa.Sign(), 4, 9, 0.5)):
        assert lsa.traps(task) == []
        ends = {lsa.fit(Layer(task.d, generator=seed), task).ending for seed in range(starts)}
        assert ends == {"at the optimum"}


def test_two_heads_have_few_traps_and_d_heads_none():
    for n in range(1, 31):
        assert bool(lsa.traps(lsa.isotropic(3, n, 0.3), heads=2)) == (n <= 4)
        assert bool(lsa.traps(lsa.isotropic(3, n, 1.0), heads=2)) == (n <= 5)
        assert bool(lsa.traps(lsa.isotropic(4, n, 0.3), heads=3)) == (n <= 4)
        assert not lsa.traps(lsa.isotropic(5, n, 0.3), heads=3)
    assert lsa.traps(lsa.isotropic(2, 6, 0.3), heads=2) == []
    assert lsa.traps(lsa.isotropic(1, 6, 0.3)) == []
    (trap,) = lsa.traps(lsa.isotropic(3, 2, 0.3), heads=2)
    assert trap.loss - lsa.optimum(trap.task).loss == pytest.approx(0.317460, abs=1e-6)
    assert lsa.population_loss(trap.layer(), trap.task).item() == pytest.approx(trap.loss, rel=1e-12)


def test_long_prompts_in_the_limit():
    """t ≈ √(2dn/(d−1)) and excess ≈ 2√(2d(d−1)/n) as n → ∞."""
    for d in (2, 3):
        n = 10**6
        (trap,) = lsa.traps(lsa.isotropic(d, n, 0.3))
        assert trap.tangent == pytest.approx((2 * d * n / (d - 1)) ** 0.5, rel=0.01)
        excess = trap.loss - lsa.optimum(trap.task).loss
        assert excess == pytest.approx(2 * (2 * d * (d - 1) / n) ** 0.5, rel=0.01)


def test_a_target_without_a_linear_part_has_no_traps():
    assert lsa.traps(lsa.nonlinear(lsa.Hermite3(), 3, 8, 0.1)) == []


@pytest.mark.parametrize(
    "task",
    [
        linear_task(3, 6, seed=1),
        lsa.Task(lsa.Rademacher(3), lsa.Linear(torch.eye(3)), 6),
        lsa.Task(lsa.Gaussian(torch.eye(3)), lsa.Linear(torch.eye(3), torch.ones(3)), 6),
        lsa.Task(lsa.Gaussian(covariance(3, 1)), lsa.Linear(torch.eye(3)), 6),
        lsa.Task(lsa.Gaussian(torch.eye(3)), lsa.Linear(1.5 * torch.eye(3) - 0.5), 6),
    ],
    ids=["general", "Rademacher", "a prior mean", "Λ = I", "weights that shun each other"],
)
def test_other_tasks_are_refused(task):
    with pytest.raises(ValueError, match=r"task = .* expected a task that no rotation changes"):
        lsa.traps(task)


@pytest.mark.parametrize("scale", [1e-3, 1e3])
def test_traps_do_not_know_the_units_of_the_labels(scale):
    eye = torch.eye(3, dtype=torch.float64)
    (trap,) = lsa.traps(lsa.isotropic(3, 40, 0.25))
    task = lsa.Task(lsa.Gaussian(eye), lsa.Linear(scale**2 * eye), 40, 0.25 * scale**2)
    (scaled,) = lsa.traps(task)
    assert scaled.excess == pytest.approx(trap.excess, rel=1e-9)
    assert "heads" not in repr(trap)
    assert scaled.tangent == pytest.approx(trap.tangent * scale**2, rel=1e-9)
    assert lsa.traps(lsa.Task(lsa.Gaussian(eye), lsa.Linear(scale**2 * eye), 3, 0.25 * scale**2)) == []


def test_two_heads_that_are_nearly_one_count_as_two_down_to_what_rounding_leaves():
    """At 1e-4 apart their normal equations are regular to 1e-9; at 1e-6, 1e-13, that is noise over noise."""
    task, eye = lsa.isotropic(3, 6, 0.3), torch.eye(4, dtype=torch.float64)
    basis = torch.linalg.qr(near_twins(1.0).T)[0]
    two = lsa.landscape.landscape(task, 2)((1 / basis[-1].square().sum() - 1).item())
    for gap, loss, size in ((1e-4, two, 1e4), (1e-6, None, 1.0)):
        a = near_twins(gap)
        M = best_M(white_moments(task), a, eye)
        assert M.abs().max() < size
        if loss:
            assert lsa.population_loss(Layer.from_effective(a, M), task).item() == pytest.approx(
                loss, rel=1e-6
            )


@pytest.mark.parametrize(("excess", "slope", "said"), [
    (0.9e-9, 0.0, "at the optimum"),
    (-0.9e-9, 0.0, "at the optimum"),
    (1.1e-9, 0.0, "at a local minimum or saddle"),
    (0.5, 1.1e-6, "stopped early"),
    (0.5, 0.9e-6, "at a local minimum or saddle"),
    (-0.5, 0.9e-6, "at a stationary point below the best single step from zero"),
])  # fmt: skip
def test_an_ending_in_words(excess, slope, said):
    assert lsa.history._in_words(lsa.isotropic(5, 10, 0.3), 1, excess, slope) == said


def test_the_name_of_a_trap_is_given_to_runs_that_end_within_1e_5_of_it():
    task = lsa.isotropic(3, 40, 0.25)
    (trap,) = lsa.traps(task)
    for factor, named in ((1 + 0.9e-5, True), (1 - 0.9e-5, True), (1 + 1.1e-5, False), (1 - 1.1e-5, False)):
        said = lsa.history._in_words(task, 1, factor * trap.excess, 0.0)
        assert said.startswith("at the local minimum that lsa.traps predicts") == named
