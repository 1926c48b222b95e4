"""The mathematics of the live figures, run by node, against `lsa`: random cases, in float64, to 1e-12."""

import pytest
import torch
from helpers.javascript import node
from helpers.live_core import CODE, close, flat, question

import lsa
from lsa.show.live.playground import FAMILIES

CASES, STEPS = 120, 50


def positive(d, g, least):
    A = torch.randn(d, d, generator=g, dtype=torch.float64)
    return A @ A.T / d + least * torch.eye(d, dtype=torch.float64)


def case(seed):
    """A linear task and a layer: any d, n, Σ, Λ (singular too), μ, σ² (zero too), heads, residual or not."""
    g = torch.Generator().manual_seed(seed)

    def draw(low, high):
        return int(torch.randint(low, high + 1, (1,), generator=g))

    d, heads, residual, n = draw(1, 8), draw(1, 3), bool(draw(0, 1)), draw(1, 40)
    sigma, eye = positive(d, g, 0.1), torch.eye(d, dtype=torch.float64)
    singular = torch.diag((torch.arange(d) > 0).double())
    prior = [torch.linalg.inv(sigma), eye, positive(d, g, 0.05), singular][draw(0, 3)]
    mean = torch.randn(d, generator=g, dtype=torch.float64) * draw(0, 1)
    noise = 2 * torch.rand(1, generator=g, dtype=torch.float64).item() * min(draw(0, 4), 1)
    task = lsa.Task(lsa.Gaussian(sigma), lsa.Linear((prior + prior.T) / 2, mean), n, noise)
    layer = lsa.LinearSelfAttention(d, heads, residual=residual, scale=0.5, generator=g)
    return task, layer, task.sample(3, g)


@pytest.fixture(scope="module")
def answered():
    cases = [case(seed) for seed in range(CASES)]
    answers = node(CODE, [question(*each) for each in cases])
    return [(*each, answer) for each, answer in zip(cases, answers, strict=True)]


def test_loss_and_gradient(answered):
    for task, layer, _, answer in answered:
        layer.zero_grad()
        loss = lsa.population_loss(layer, task)
        loss.backward()
        close(answer["loss"], loss.item())
        close(answer["same"], loss.item())
        close(answer["gradient"], flat(layer, lambda w: torch.zeros_like(w) if w.grad is None else w.grad))


def test_optimum(answered):
    for task, layer, _, answer in answered:
        centred = lsa.Linear(task.target.prior_covariance)
        best = lsa.optimum(lsa.Task(task.covariates, centred, task.n, task.noise_variance))
        close(answer["best"], best.loss)
        close(answer["P"], best.preconditioner)
        if layer.residual or not task.target.prior_mean.any():
            close(answer["optimal"], best.loss, scale=best.loss + task.n)


def test_pythagoras(answered):
    """L − L* = E (ŷ − ŷ_GD)² for every θ, the one by lsa, the other by loss.js; relative to the larger, L."""
    for task, layer, _, answer in answered:
        loss = lsa.population_loss(layer, task).item()
        close(answer["distance"], loss - answer["best"], scale=loss)


def test_predictions(answered):
    for _, layer, prompts, answer in answered:
        close(answer["predictions"], layer(prompts).detach())


def test_nudge_moves_one_entry(answered):
    for _, layer, _, answer in answered:
        a, M = (part.detach().clone() for part in layer.effective())
        M[-1, 0, -1] += 0.25
        a[-1, -1] -= 0.5
        close(answer["a"], a, scale=1, tolerance=1e-9)  # a random key may be badly conditioned
        close(answer["M"], M, scale=1, tolerance=1e-9)


def test_adam_takes_the_same_path(answered):
    for task, layer, _, answer in answered[:20]:
        copy = lsa.LinearSelfAttention(layer.d, layer.heads, residual=layer.residual)
        copy.load_state_dict(layer.state_dict())
        optimizer, path = torch.optim.Adam(copy.parameters(), lr=0.01), []
        for _ in range(STEPS):
            optimizer.zero_grad()
            loss = lsa.population_loss(copy, task)
            loss.backward()
            optimizer.step()
            path.append(loss.item())
        path = torch.tensor(path, dtype=torch.float64)
        close(torch.tensor(answer["path"], dtype=torch.float64) / path, torch.ones(STEPS), tolerance=1e-9)


@pytest.mark.parametrize("family", list(FAMILIES))
def test_nonlinear_families(family):
    """Loss, gradient, optimum and distance with the five moments of a family."""
    cases = []
    sizes = [(1, 1, 6, 0.3), (2, 2, 1, 0.0), (4, 1, 9, 0.5), (8, 3, 25, 1.0)]
    for seed, (d, heads, n, noise) in enumerate(sizes):
        task = lsa.nonlinear(FAMILIES[family], d, n, noise)
        layer = lsa.LinearSelfAttention(d, heads, residual=bool(seed % 2), scale=0.5, generator=seed)
        cases.append((task, layer, task.sample(2, seed)))
    answers = node(CODE, [question(*each, family=family) for each in cases])
    for (task, layer, prompts), answer in zip(cases, answers, strict=True):
        loss, best = lsa.population_loss(layer, task), lsa.optimum(task)
        loss.backward()
        close(answer["loss"], loss.item())
        close(answer["gradient"], flat(layer, lambda w: torch.zeros_like(w) if w.grad is None else w.grad))
        close(answer["best"], best.loss)
        close(answer["P"], best.preconditioner, scale=1)
        close(answer["distance"], loss.item() - best.loss, scale=loss.item())
        close(answer["predictions"], layer(prompts).detach())


def test_prompts_of_a_family_have_its_moments():
    """Drawn in JavaScript: E y² and E|Xᵀy|² of the sampled prompts are those of the task, within 5 errors."""
    code = """
    import { makeTask, samplePrompts } from "./task.js";
    console.log(JSON.stringify(given.map((family) => {
      const task = makeTask({ d: 3, n: 4, noise: 0.2, family });
      const square = ({ gram }) => [3, 7, 11].reduce((s, k) => s + gram[k] ** 2, 0);
      const drawn = samplePrompts(task, 20000, 5).map((prompt) => [prompt.y ** 2, square(prompt)]);
      return [0, 1].map((k) => {
        const values = drawn.map((each) => each[k]), mean = values.reduce((s, x) => s + x, 0) / values.length;
        const spread = Math.sqrt(values.reduce((s, x) => s + (x - mean) ** 2, 0)) / values.length;
        return (mean - [task.q, task.bb.reduce((s, x) => s + x, 0)][k]) / spread;
      });
    })));
    """
    scores = node(code, ["linear", *FAMILIES])
    assert max(abs(score) for pair in scores for score in pair) < 5


# ---- the playground ----

SKEWED = {"condition": 17.0, "rotation": 31.0, "prior_condition": 5.0, "mean": 0.7}
PRIORS = ("matched", "identity", "custom")
SETTINGS = [SKEWED | {"prior": prior, "d": d} for prior in PRIORS for d in (1, 2, 5, 8)]


def test_the_sliders_mean_the_same_task_in_python():
    code = """
    import { DEFAULTS, taskOf } from "./presets.js";
    const tasks = given.map((state) => taskOf({ ...DEFAULTS, ...state }));
    console.log(JSON.stringify(tasks.map(({ sigma, prior, mean, n, noise, best }) =>
      ({ sigma: [...sigma], prior: [...prior], mean: [...mean], n, noise, best }))));
    """
    for settings, got in zip(SETTINGS, node(code, SETTINGS), strict=True):
        playground = lsa.Playground(**settings)
        task = playground.task
        close(got["sigma"], task.covariates.covariance)
        close(got["prior"], task.target.prior_covariance)
        close(got["mean"], task.target.prior_mean)
        close(got["best"], playground.best)
        assert (got["n"], got["noise"]) == (task.n, task.noise_variance)


def test_the_defaults_are_the_same():
    browser = node('import { DEFAULTS } from "./presets.js"; console.log(JSON.stringify(DEFAULTS));')
    here = lsa.Playground().values
    del browser["speed"]  # frames are a matter of the browser
    assert browser == {name: here[name] for name in browser}
    assert here.keys() - browser.keys() == {"weights", "step", "preset"}


def test_a_layer_starts_as_in_the_browser():
    code = """
    import { randomWeights } from "./descend.js";
    console.log(JSON.stringify(given.map((each) => [...randomWeights(...each)])));
    """
    cases = [(1, 1, 0.1, 1), (5, 2, 0.5, 7), (3, 3, 1.0, 123456)]
    for (d, heads, scale, seed), got in zip(cases, node(code, cases), strict=True):
        close(got, flat(lsa.Playground(d=d, heads=heads, scale=scale, seed=seed).layer), tolerance=1e-13)


@pytest.mark.parametrize("preset", ["theorem-1", "theorem-2", "theorem-3", "trap", "two-heads", "mean"])
def test_the_copied_python_takes_the_same_steps(preset, capsys):
    code = """
    import { Objective } from "./loss.js";
    import { METHODS, randomWeights } from "./descend.js";
    import { presetState, python, taskOf } from "./presets.js";
    const state = presetState(given), f = new Objective(taskOf(state), state.heads, state.residual);
    const w = randomWeights(state.d, state.heads, state.scale, state.seed), method = new METHODS.adam(f);
    for (let k = 0; k < 60; k++) method.step(w, state.rate);
    const moved = python(state, 60, w);
    console.log(JSON.stringify({ code: python(state, 60), moved, loss: f.loss(w), best: f.task.best }));
    """
    got = node(code, preset)
    excess = got["loss"] / got["best"] - 1
    expected = f"L = {got['loss']:.8f}, L* = {got['best']:.8f}, relative excess {excess:.2e}\n"
    for text in (got["code"], got["moved"]):
        exec(text, {})
        assert capsys.readouterr().out == expected


def square_with(layer, step, task):
    """E (ŷ + step · x_qᵀXᵀy)²: half of L(ŷ) + L(−ŷ), less E y_q²."""
    plain = lsa.LinearSelfAttention.from_preconditioner(torch.eye(task.d).double())
    (a, M), (b, N) = layer.effective(), plain.effective()
    ends = [(sign * torch.cat([a, step * b]), torch.cat([M, N])) for sign in (1, -1)]
    layers = [lsa.LinearSelfAttention.from_effective(*end) for end in ends]
    losses = [lsa.population_loss(each, task).item() for each in layers]
    return sum(losses) / 2 - task.d - task.noise_variance


def test_a_layer_in_the_plane_of_why():
    """`across` is its component along x_qᵀXᵀy, by least squares; what is left is at a right angle to it."""
    code = """
    import { placeOf } from "./training.js";
    import { Objective } from "./loss.js";
    import { makeTask } from "./task.js";
    console.log(JSON.stringify(given.map(({ d, n, noise, weights }) =>
      placeOf(new Objective(makeTask({ d, n, noise })), Float64Array.from(weights)))));"""
    cases = []
    for seed in range(20):
        g = torch.Generator().manual_seed(seed)
        d, n = 1 + seed % 5, 1 + 3 * seed
        cases.append((lsa.isotropic(d, n, 0.1 * seed), lsa.LinearSelfAttention(d, scale=0.5, generator=g)))
    given = [
        {"d": task.d, "n": task.n, "noise": task.noise_variance, "weights": flat(layer)}
        for task, layer in cases
    ]
    for (task, layer), found in zip(cases, node(code, given), strict=True):
        best, power = lsa.optimum(task), task.d + task.noise_variance
        low, mid, high = (square_with(layer, t, task) for t in (-best.step, 0.0, best.step))
        bend = (low + high) / 2 - mid  # of the parabola, in units of the step
        across = ((high - low) / (4 * bend) - 1) * bend**0.5
        distance = lsa.population_loss(layer, task).item() - best.loss
        close([found["across"]], [across], distance**0.5, 1e-9)
        close([found["distance"]], [distance], power)
        close([found["across"] ** 2 + found["rest"] ** 2], [distance], power)
