"""One number of every live figure, computed again by `lsa`."""

import itertools
import math

import pytest
import torch

import lsa


def prompt_number(state, found):
    d, n, noise = (state[name] for name in ("d", "n", "noise_variance"))
    n0, noise0 = state["trained_n"], state["trained_noise"]
    x = torch.tensor([state["places"][:n]], dtype=torch.float64)
    given = (state["errors"], state["truth"], state["query"])
    errors, truth, query = (torch.tensor(each, dtype=torch.float64) for each in given)
    y = x @ truth + math.sqrt(noise) * errors[:n]
    prompts = lsa.Prompts(x, y, query[None], torch.zeros(1).double())
    trained, task = lsa.optimum(lsa.isotropic(d, n0, noise0)), lsa.isotropic(d, n, noise)
    layer = lsa.LinearSelfAttention.from_preconditioner(trained.preconditioner)
    assert n != n0  # the layer is frozen: it knows nothing of the prompt that it sees
    assert found["step"] == pytest.approx(trained.step, rel=1e-12)
    assert found["factor"] == pytest.approx(trained.step / lsa.optimum(task).step, rel=1e-12)
    assert found["layer"] == pytest.approx(layer(prompts).item(), rel=1e-12)
    assert found["gd"] == pytest.approx(lsa.gradient_descent(prompts, state["eta"]).item(), rel=1e-12)
    assert found["bayes"] == pytest.approx(lsa.ridge(prompts, task).item(), rel=1e-12)


def training_number(state, found):
    """The same start, trained by `lsa.fit`."""
    start = lsa.Playground(**{name: state[name] for name in ("d", "n", "noise_variance", "seed")})
    layer, best = start.layer, lsa.optimum(start.task)
    assert 0 < state["step"] < 400
    options = {"optimizer": "adam", "steps": 400, "learning_rate": 0.02}
    losses = lsa.fit(layer, start.task, **options).losses
    assert found["loss"] == pytest.approx(losses[state["step"]].item(), rel=1e-9)
    assert found["best"] == pytest.approx(best.loss, rel=1e-12)
    assert found["goal"] == pytest.approx(best.step, rel=1e-12)


def projection_number(state, found):
    task = isotropic(state)
    layer = lsa.LinearSelfAttention.from_preconditioner(torch.eye(state["d"]).double())
    with torch.no_grad():
        layer.value[0, -1, 0] = found["e"]  # a = (e, 0, …, 0, g), M = [I; 0]
        layer.value[0, -1, -1] = found["g"]
    loss, best = lsa.population_loss(layer, task).item(), lsa.optimum(task).loss
    assert found["loss"] == pytest.approx(loss, rel=1e-12)
    assert found["best"] == pytest.approx(best, rel=1e-12)
    assert found["distance"] == pytest.approx(loss - best, rel=1e-9)
    assert found["across"] ** 2 + found["rest"] ** 2 == pytest.approx(loss - best, rel=1e-9)
    assert found["traps"] == pytest.approx([trap.loss for trap in lsa.traps(task)], rel=1e-9)


def ellipses_number(state, found):
    task = lsa.Playground(d=2, condition=state["condition"], rotation=state["degrees"]).task
    best = lsa.optimum(lsa.skewed(task.covariates.covariance, state["n"], state["noise_variance"]))
    assert found["P"] == pytest.approx(best.preconditioner.flatten().tolist(), rel=1e-12)
    assert found["off"][1] == pytest.approx(0, abs=1e-5)  # an angle by its cosine
    assert found["off"][0] > 5


def units_number(state, found):
    covariates = lsa.Uniform(state["d"], half_width=state["size"])
    prior = state["prior_variance"] * torch.eye(state["d"]).double()
    best = lsa.optimum(lsa.Task(covariates, lsa.Linear(prior), state["n"], state["noise_variance"]))
    assert found["yourLoss"] == pytest.approx(best.loss / 2, rel=1e-12)
    assert found["yourStep"] == pytest.approx(state["n"] * best.preconditioner[0, 0].item(), rel=1e-12)


def flip_number(state, found):
    """The mean of r G over all turns and mirrors, by 8 of each: exact for polynomials of degree 3."""
    x, w = (torch.tensor(state[name], dtype=torch.float64) for name in ("points", "w"))
    step, means = lsa.optimum(lsa.isotropic(2, len(x), 0.1)).step, []
    for angle, sign in itertools.product(range(8), (1, -1)):
        c, s = math.cos(angle * math.pi / 4), math.sin(angle * math.pi / 4)
        Q = torch.tensor([[c, -sign * s], [s, sign * c]], dtype=torch.float64)
        image = lsa.Prompts.of((x @ Q.T)[None], (x @ w)[None], torch.zeros(1, 2), torch.zeros(1))
        r = Q @ w - lsa.gradient_descent_weights(image, step)[0]
        means.append(r[:, None, None] * image.gram)
    mean = torch.stack(means).mean(0)
    pairs = [(0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2)]
    expected = [mean[i, j, k].item() for i in (0, 1) for j, k in pairs]
    assert found["tensor"] == pytest.approx(expected, abs=1e-12)
    assert found["even"] == pytest.approx(0, abs=1e-12)
    assert abs(found["trace"]) > 0.1


def playground_number(state, found):
    del state["speed"], state["preset"]
    playground = lsa.Playground(**state)
    loss = lsa.population_loss(playground.layer, playground.task).item()
    assert found["loss"] == pytest.approx(loss, rel=1e-12)
    assert found["best"] == pytest.approx(playground.best, rel=1e-12)
    assert found["pythagoras"] < 1e-13


def isotropic(state) -> lsa.Task:
    return lsa.isotropic(state["d"], state["n"], state["noise_variance"])


def target_number(state, found):
    """The first family of the menu: a network of three ReLUs in the plane."""
    task = lsa.nonlinear(lsa.ReLUNetwork(width=3), 2, state["n"], state["noise_variance"])
    best = lsa.optimum(task)
    assert found["step"] == pytest.approx(best.step, rel=1e-12)
    assert found["best"] == pytest.approx(best.loss, rel=1e-12)
    assert found["loss"] == pytest.approx(lsa.one_step_loss(state["eta"], task), rel=1e-12)


def lengths_number(state, found):
    """Shown twice, the labels and covariates of a prompt have the covariance of one with doubled sums."""
    trained, n, d, noise = isotropic(state), state["seen"], state["d"], state["noise_variance"]
    step = lsa.optimum(trained).step
    assert found["sum"] == pytest.approx(lsa.one_step_loss(2 * step, lsa.isotropic(d, n, noise)), rel=1e-12)
    assert found["silent"] == pytest.approx(d + noise, rel=1e-12)


def losses_number(state, found):
    best = lsa.optimum(isotropic(state))
    assert found["step"] == pytest.approx(best.step, rel=1e-5)  # by comparing heights
    assert found["least"] == pytest.approx(best.loss, rel=1e-9)


def traps_number(state, found):
    task = isotropic(state)
    traps = lsa.traps(task, state["heads"])
    assert traps
    assert found["traps"] == pytest.approx([trap.loss for trap in traps], rel=1e-9)
    assert found["best"] == pytest.approx(lsa.optimum(task).loss, rel=1e-12)


def ladder_number(state, found):
    ladder = lsa.ladder(isotropic(state), state["k"])
    assert found["loss"] == pytest.approx(ladder.loss, rel=1e-9)
    assert found["nodes"] == pytest.approx(sorted(ladder.nodes.tolist()), rel=1e-9)


def temperature_number(state, found):
    (lengths, *_), beta = lsa.live.temperature.__defaults__, math.exp(state["k"] / 10)
    n = lengths[state["length"]]
    task = lsa.isotropic(state["d"], n, state["noise_variance"])
    assert found["head"] == pytest.approx(lsa.softmax_loss(task, beta).loss, rel=1e-6)  # 8 digits
    assert found["pair"] == pytest.approx(lsa.softmax_loss(task, beta, pair=True).loss, rel=1e-6)
    assert found["linear"] == pytest.approx(lsa.optimum(task).loss, rel=1e-12)
    assert found["floor"] == pytest.approx(lsa.score_floor(task), rel=1e-9)


def flow_number(state, found):
    task = isotropic(state)
    (trap,) = lsa.traps(task)
    assert found["best"] == pytest.approx(lsa.optimum(task).loss, rel=1e-12)
    assert found["caught"] == pytest.approx(trap.loss, rel=1e-9)
    assert found["optimum"] + found["trap"] <= 30


def reynolds_number(state, found):
    """The dimension of the invariants is the mean character of Sym²(x ⊕ y) ⊗ x_q over the group."""
    d, characters = state["d"], []
    for permutation in itertools.permutations(range(d)):
        for signs in itertools.product((1, -1), repeat=d):
            g = torch.zeros(d, d)
            g[range(d), list(permutation)] = torch.tensor(signs).float()
            trace, square = g.trace().item(), (g @ g).trace().item()
            characters.append(((trace + 1) ** 2 + square + 1) / 2 * trace)
    assert found["left"] == round(sum(characters) / len(characters)) == 1
    assert found["entries"] == (d + 1) * (d + 2) // 2 * d


# figure: (what it begins with, the check); with nothing given, its first control is moved before
NUMBERS = {
    "prompt": ({"n": 13, "noise_variance": 0.4}, prompt_number),
    "training": ({}, training_number),
    "projection": ({"d": 3, "n": 40}, projection_number),
    "ellipses": ({}, ellipses_number),
    "units": ({}, units_number),
    "flip": ({"images": "mirror", "degrees": 360}, flip_number),
    "playground": ({}, playground_number),
    "target": ({}, target_number),
    "lengths": ({"copies": 2, "seen": 12}, lengths_number),
    "losses": ({"loss": "squared", "n": 12}, losses_number),
    "traps": ({"d": 3, "n": 40, "noise_variance": 0.25}, traps_number),
    "ladder": ({}, ladder_number),
    "temperature": ({}, temperature_number),
    "flow": ({"d": 3, "n": 60}, flow_number),
    "reynolds": ({"group": "signed"}, reynolds_number),
}
