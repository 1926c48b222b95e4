"""Every closed form against something that does not know it: quadrature, Monte Carlo, autograd, a limit."""

import itertools

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from laws import TARGETS, conditioned, covariance, layer_from, linear_task, normal, z_score

import lsa
from lsa.ridge_functions import RidgeFunctions


def quadrature_loss(layer, task):
    """E (ŷ − y_q)² by a tensor grid of three Gauss–Hermite nodes a variable.

    Three nodes are exact to degree five; given the query, which integrates out by hand, the loss has degree
    at most four in every variable.
    """
    d, n = task.d, task.n
    nodes = torch.tensor([-(3**0.5), 0, 3**0.5], dtype=torch.float64)
    weights = torch.tensor([1 / 6, 2 / 3, 1 / 6], dtype=torch.float64)
    index = torch.tensor(list(itertools.product(range(3), repeat=n * d + d + n)))
    z, probability = nodes[index], weights[index].prod(-1)
    x = z[:, : n * d].reshape(-1, n, d) @ lsa.covariates.root(task.covariates.covariance)
    w = task.target.prior_mean + z[:, n * d : n * d + d] @ lsa.covariates.root(task.target.prior_covariance)
    y = (x @ w[..., None])[..., 0] + task.noise_variance**0.5 * z[:, n * d + d :]
    query = torch.zeros(len(z), d, dtype=torch.float64)
    error = layer.in_context_weights(lsa.Prompts(x, y, query, query[:, 0])) - w
    return probability @ (((error @ task.covariates.covariance) * error).sum(-1)) + task.noise_variance


@pytest.mark.parametrize(("d", "n"), [(1, 1), (1, 4), (2, 1), (2, 2), (2, 3), (3, 1), (3, 2)])
@pytest.mark.parametrize("heads", [1, 2, 3])
@pytest.mark.parametrize("extras", [False, True], ids=["plain", "mean and residual"])
def test_exact_loss_is_the_quadrature(d, n, heads, extras):
    task = linear_task(d, n, seed=10 * d + n, mean=extras, noise=0.7)
    layer = lsa.LinearSelfAttention(d, heads, residual=extras, scale=2.0, generator=heads)
    exact, expected = lsa.population_loss(layer, task).item(), quadrature_loss(layer, task).item()
    assert abs(exact / expected - 1) <= 1e-12


@pytest.mark.parametrize(
    "task",
    [
        lsa.Task(lsa.Gaussian(covariance(2, 1, rank=1)), lsa.Linear(covariance(2, 2)), 3, 0.5),
        lsa.Task(lsa.Gaussian(covariance(2, 1)), lsa.Linear(covariance(2, 2, rank=1), [0.3, -1.0]), 3, 0.0),
        lsa.Task(lsa.Gaussian(torch.zeros(2, 2)), lsa.Linear(torch.zeros(2, 2)), 2, 0.5),
    ],
    ids=["singular Σ", "singular Λ, no noise", "nothing but noise"],
)
def test_exact_loss_of_degenerate_tasks(task):
    layer = lsa.LinearSelfAttention(2, 2, residual=True, scale=2.0, generator=0)
    torch.testing.assert_close(
        lsa.population_loss(layer, task), quadrature_loss(layer, task), rtol=1e-12, atol=0
    )


def test_exact_loss_is_the_loss_of_sampled_prompts():
    task = linear_task(4, 9, seed=3, mean=True)
    layer = lsa.LinearSelfAttention(4, 2, residual=True, scale=0.5, generator=1)
    prompts = task.sample(200_000, generator=2)
    squares = (layer(prompts) - prompts.y_query).square().detach()
    assert abs(z_score(squares, lsa.population_loss(layer, task).item())) < 4


def test_exact_loss_has_the_right_gradient():
    task = linear_task(2, 4, seed=5, mean=True)
    layer = lsa.LinearSelfAttention(2, 2, residual=True, scale=1.0, generator=0)
    names, weights = zip(*layer.named_parameters(), strict=True)

    class Loss(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = layer

        def forward(self):
            return lsa.population_loss(self.layer, task)

    def loss(*values):
        state = {f"layer.{name}": value for name, value in zip(names, values, strict=True)}
        return torch.func.functional_call(Loss(), state, ())

    values = tuple(weight.detach().clone().requires_grad_() for weight in weights)
    assert torch.autograd.gradcheck(loss, values)


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


@pytest.mark.parametrize(
    "task",
    [lsa.isotropic(3, 5, 0.4), lsa.skewed(conditioned(3, 40, 1), 6, 0.2), linear_task(4, 7, seed=2)],
    ids=["Theorem 1", "Theorem 2", "general Σ and Λ"],
)
@pytest.mark.parametrize("heads", [1, 2])
def test_pythagoras(task, heads):
    """L(θ) − L* = E (ŷ_θ − ŷ_GD)², the right side from the exact loss of t·(ŷ_θ − ŷ_GD), a parabola in t."""
    best = lsa.optimum(task)
    layer = lsa.LinearSelfAttention(task.d, heads, scale=1.0, generator=3)
    step = lsa.LinearSelfAttention.from_preconditioner(best.preconditioner)
    a, M = (torch.cat(pair).detach() for pair in zip(layer.effective(), step.effective(), strict=True))
    a[-1] *= -1
    at = {t: lsa.population_loss(layer_from(a, M, t), task).item() for t in (-1.0, 0.0, 1.0)}
    squared_distance = (at[1.0] + at[-1.0]) / 2 - at[0.0]
    excess = lsa.population_loss(layer, task).item() - best.loss
    assert abs(excess / squared_distance - 1) < 1e-10


def test_one_step_loss_is_the_loss_of_the_constructed_layer():
    task, P = linear_task(3, 6, seed=4, mean=True), normal(3, 3, seed=5) / 10
    layer = lsa.LinearSelfAttention.from_preconditioner(P)
    assert lsa.one_step_loss(P, task) == pytest.approx(lsa.population_loss(layer, task).item(), rel=1e-12)
