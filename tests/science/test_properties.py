"""What must hold for all tasks, layers and prompts: symmetries, scaling laws, the optimum, gradients, laws.

The examples are drawn by hypothesis, the same ones in every run.
"""

import pytest
import torch
from helpers.javascript import node
from helpers.live_core import CODE, close, flat, question
from helpers.tasks import TARGETS, loss_of_weights, normal
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.func import functional_call

import lsa

few = settings(derandomize=True, deadline=None, max_examples=20, database=None)
seeds = st.integers(0, 10**6)
same = {"rtol": 1e-7, "atol": 1e-8}


def rotation(d, seed):
    return torch.linalg.qr(normal(d, d, seed=seed))[0]


@st.composite
def covariances(draw, d):
    """Spectra from 1e-3 to 1e3, rotated; the identity and singular ones among them."""
    kind = draw(st.sampled_from(["identity", "regular", "singular"]))
    if kind == "identity":
        return torch.eye(d, dtype=torch.float64)
    logs = draw(st.lists(st.floats(-1.5, 1.5), min_size=d, max_size=d))
    values = 10 ** torch.tensor(logs, dtype=torch.float64)
    if kind == "singular":
        values[: d // 2] = 0
    U = rotation(d, draw(seeds))
    return U * values @ U.T


@st.composite
def linear_tasks(draw, means=True):
    d = draw(st.integers(1, 4))
    n = draw(st.integers(1, 9))
    law = draw(st.sampled_from(["Gaussian"] * 3 + ["Rademacher", "Sphere", "Uniform"]))
    law = lsa.Gaussian(draw(covariances(d))) if law == "Gaussian" else getattr(lsa, law)(d)
    mean = normal(d, seed=draw(seeds)) if means and draw(st.booleans()) else None
    return lsa.Task(law, lsa.Linear(draw(covariances(d)), mean), n, draw(st.sampled_from([0.0, 0.3, 2.0])))


@st.composite
def tasks(draw):
    """Linear ones with prior mean zero, and all others whose moments are known."""
    if draw(st.booleans()):
        return draw(linear_tasks(means=False))
    target = draw(st.sampled_from(TARGETS))
    return lsa.nonlinear(target, draw(st.integers(1, 4)), draw(st.integers(1, 9)), draw(st.floats(0, 2)))


def layer_for(task, seed):
    options = {"heads": 1 + seed % 3, "residual": seed % 2 == 1, "scale": 0.5, "generator": seed}
    return lsa.LinearSelfAttention(task.d, **options)


def predictors(task, seed, U):
    """Every predictor, and the one that does to U x what the first does to x."""
    d, T = task.d, torch.block_diag(U, torch.ones(1, 1, dtype=torch.float64))
    P, start = normal(d, d, seed=seed) / 20, normal(d, seed=seed + 1)
    turned_P, turned_start = U @ P @ U.T, U @ start
    yield (
        lambda p: lsa.gradient_descent(p, P, 3, start),
        lambda p: lsa.gradient_descent(p, turned_P, 3, turned_start),
    )
    yield lambda p: lsa.ridge(p, task), lambda p: lsa.ridge(p, moved(task, U))
    layer = layer_for(task, seed)
    yield layer, turned(layer, T)
    deep, deeper = (lsa.LinearTransformer(d, 2, scale=0.2, generator=seed) for _ in range(2))
    soft, softer = (lsa.SoftmaxAttention(d, 2, generator=seed) for _ in range(2))
    with torch.no_grad():
        deeper.P.copy_(T @ deep.P @ T.T)
        deeper.Q.copy_(T @ deep.Q @ T.T)
        softer.a.copy_(soft.a @ T.T)
        softer.M.copy_(T @ soft.M @ U.T)
    yield deep, deeper
    yield soft, softer


def turned(layer, T):
    """The layer that does to tokens T v what the given one does to v."""
    other = lsa.LinearSelfAttention(layer.d, layer.heads, residual=layer.residual)
    with torch.no_grad():
        other.key.copy_(layer.key @ T.T)
        other.query.copy_(layer.query @ T.T)
        other.value.copy_(T @ layer.value @ T.T)
        other.readout.copy_(T @ layer.readout)
    return other


def moved(task, U, x=1.0, y=1.0):
    """The law of (x·Ux_i, y·y_i) for the prompts of a Gaussian linear task."""
    sigma, prior = task.covariates.covariance, task.target.prior_covariance
    w = y / x
    linear = lsa.Linear(w**2 * U @ prior @ U.T, w * (U @ task.target.prior_mean))
    return lsa.Task(lsa.Gaussian(x**2 * U @ sigma @ U.T), linear, task.n, y**2 * task.noise_variance)


@few
@given(linear_tasks(), seeds)
def test_predictors_turn_with_the_covariates_and_do_not_know_the_order(task, seed):
    U, prompts = rotation(task.d, seed), task.sample(5, seed)
    order = torch.randperm(task.n, generator=torch.Generator().manual_seed(seed))
    shuffled = prompts._replace(x=prompts.x[:, order], y=prompts.y[:, order])
    rotated = prompts._replace(x=prompts.x @ U.T, x_query=prompts.x_query @ U.T)
    for predict, turned_predict in predictors(task, seed, U):
        torch.testing.assert_close(predict(shuffled), predict(prompts), **same)
        torch.testing.assert_close(turned_predict(rotated), predict(prompts), **same)


@few
@given(linear_tasks(), seeds, st.floats(0.1, 10), st.floats(0.1, 10))
def test_losses_and_optima_turn_and_scale_with_the_task(task, seed, x, y):
    """In units of x and y the loss has those of y², the preconditioner those of 1/x²."""
    if not isinstance(task.covariates, lsa.Gaussian):
        task = lsa.Task(lsa.Gaussian(torch.eye(task.d)), task.target, task.n, task.noise_variance)
    U = rotation(task.d, seed)
    other, best = moved(task, U, x, y), lsa.optimum(task)
    again = lsa.optimum(other)
    assert again.loss == pytest.approx(y**2 * best.loss, rel=1e-6, abs=1e-8 * y**2)
    assert (again.step is None) == (best.step is None)
    P = U @ best.preconditioner @ U.T / x**2
    assert lsa.one_step_loss(P, other) == pytest.approx(y**2 * best.loss, rel=1e-6, abs=1e-8 * y**2)
    layer = lsa.LinearSelfAttention(task.d, 2, scale=0.5, generator=seed)
    a, M = (part.detach() for part in layer.effective())
    units = torch.block_diag(U / x, torch.full((1, 1), 1 / y, dtype=torch.float64))  # of 1/x and 1/y
    changed = lsa.LinearSelfAttention.from_effective(y * a @ units.T, units @ M @ U.T / x)
    expected = y**2 * lsa.population_loss(layer, task)
    torch.testing.assert_close(lsa.population_loss(changed, other), expected, **same)


@few
@given(linear_tasks(), seeds, st.floats(0.1, 10))
def test_one_step_and_ridge_scale_with_the_labels(task, seed, y):
    prompts = task.sample(5, seed)
    scaled = prompts._replace(y=y * prompts.y)
    P = normal(task.d, task.d, seed=seed) / 20
    expected = y * lsa.gradient_descent(prompts, P, 3)
    torch.testing.assert_close(lsa.gradient_descent(scaled, P, 3), expected, **same)
    linear = lsa.Linear(y**2 * task.target.prior_covariance, y * task.target.prior_mean)
    other = lsa.Task(task.covariates, linear, task.n, y**2 * task.noise_variance)
    torch.testing.assert_close(lsa.ridge(scaled, other), y * lsa.ridge(prompts, task), **same)


@few
@given(tasks(), seeds)
def test_no_weights_do_better_than_the_optimum(task, seed):
    best = lsa.optimum(task)
    layer = layer_for(task, seed)
    assert lsa.population_loss(layer, task).item() >= best.loss - 1e-9 * (1 + best.loss)
    near = lsa.LinearSelfAttention.from_preconditioner(best.preconditioner)
    assert lsa.population_loss(near, task).item() == pytest.approx(best.loss, rel=1e-7, abs=1e-8)
    with torch.no_grad():
        for weight in near.parameters():
            weight += 1e-3 * normal(*weight.shape, seed=seed)
    assert lsa.population_loss(near, task).item() >= best.loss - 1e-9 * (1 + best.loss)
    P = best.preconditioner + 0.01 * normal(task.d, task.d, seed=seed)
    assert lsa.one_step_loss(P, task) >= best.loss - 1e-9 * (1 + best.loss)


@settings(few, max_examples=6)
@given(tasks(), seeds)
def test_gradients(task, seed):
    """By finite differences: of the exact loss in all weights, of every trainable model, and of P and η."""
    layer, prompts = layer_for(task, seed), task.sample(2, seed)
    assert torch.autograd.gradcheck(*loss_of_weights(layer, task))
    models = [
        layer,
        lsa.LinearTransformer(task.d, 2, scale=0.2, generator=seed),
        lsa.SoftmaxAttention(task.d, 2, generator=seed),
    ]
    for model in models:
        names, weights = zip(*model.named_parameters(), strict=True)

        def predict(*values, model=model, names=names):
            return functional_call(model, dict(zip(names, values, strict=True)), (prompts,))

        assert torch.autograd.gradcheck(predict, weights, atol=1e-4)
    P = (normal(task.d, task.d, seed=seed) / 20).requires_grad_()
    assert torch.autograd.gradcheck(lambda P: lsa.gradient_descent(prompts, P, 2), P, atol=1e-4)
    step = torch.tensor([0.03, 0.02], dtype=torch.float64, requires_grad=True)
    white = lsa.isotropic(task.d, task.n, task.noise_variance)
    polynomial = lambda s: lsa.polynomial_loss(lambda lam: s[0] - s[1] * lam, 1, white)  # noqa: E731
    assert torch.autograd.gradcheck(polynomial, step, rtol=1e-2)


@settings(few, max_examples=15)
@given(linear_tasks(), seeds)
def test_gram_matrices_are_drawn_from_the_law_of_prompts(task, seed):
    """Their mean and the mean of their squares, entry by entry; the factor's weights w go with them."""
    count = 4000
    real, (factor, w) = task.sample(count, seed), task.gram_factor(count, seed + 1)
    drawn = factor @ factor.mT
    assert torch.equal(drawn, task.sample_gram(count, seed + 1))
    known = lsa.ridge_weights(real, task)  # E[w | prompt]
    together = drawn[:, -1, :-1] * w, real.gram[:, -1, :-1] * known
    for one, other in ((drawn, real.gram), (drawn**2, real.gram**2), together):
        gap, spread = one.mean(0) - other.mean(0), ((one.var(0) + other.var(0)) / count).sqrt()
        assert (gap.abs() <= 5 * spread + 1e-9 * one.abs().max()).all()


@settings(few, max_examples=3)
@given(st.lists(st.tuples(linear_tasks(), seeds), min_size=15, max_size=15))
def test_the_core_of_the_live_figures_computes_the_same(cases):
    """Loss, gradient, predictions and optimum of loss.js; regular Σ, any Λ, as in its figures."""
    regular = []
    for task, seed in cases:
        sigma = task.covariates.covariance + 0.01 * torch.eye(task.d)
        gaussian = lsa.Task(lsa.Gaussian(sigma), task.target, task.n, task.noise_variance)
        regular.append((gaussian, layer_for(task, seed), gaussian.sample(2, seed)))
    for (task, layer, prompts), answer in zip(
        regular, node(CODE, [question(*each) for each in regular]), strict=True
    ):
        loss = lsa.population_loss(layer, task)
        loss.backward()
        close(answer["loss"], loss.item(), tolerance=1e-11)
        gradient = flat(layer, lambda w: torch.zeros_like(w) if w.grad is None else w.grad)
        close(answer["gradient"], gradient, tolerance=1e-10)
        close(answer["predictions"], layer(prompts).detach(), tolerance=1e-11)
        prior = lsa.Linear(task.target.prior_covariance)
        centred = lsa.Task(task.covariates, prior, task.n, task.noise_variance)
        scale = lsa.moments(centred).power + 1
        close(answer["best"], lsa.optimum(centred).loss, tolerance=1e-9, scale=scale)
