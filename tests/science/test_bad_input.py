"""Wrong arguments: the error comes at the call and names the argument, the value and what is expected."""

import re
from types import SimpleNamespace

import pytest
import torch

import lsa

nan, eye = float("nan"), torch.eye(3)
task = lsa.isotropic(3, 5, 0.1)
other = lsa.isotropic(4, 5, 0.1)
network = lsa.nonlinear(lsa.Sign(), 3, 5)
sphere = lsa.Task(lsa.Sphere(3), lsa.Linear(eye), 5)
stretched = lsa.Task(lsa.Gaussian(eye), lsa.Linear(2 * eye), 5)


class Own:
    """A target whose moments are not known."""

    def __repr__(self):
        return "Own()"

    def draw(self, batch, d, generator):
        return lsa.Sign().draw(batch, d, generator)


own = lsa.nonlinear(Own(), 3, 5)
prompts = task.sample(4, generator=0)
layer = lsa.LinearSelfAttention(3, generator=0)
stack = lsa.LinearSelfAttention.stack([layer, layer])
wrong_shape = SimpleNamespace(draw=lambda batch, d, generator: lambda x: x)

# what is called, the error, the argument, the value, what is expected
CALLS = [
    (lambda: lsa.isotropic(0, 5), ValueError, "d", "0", "integer ≥ 1"),
    (lambda: lsa.isotropic(2.5, 5), TypeError, "d", "2.5", "integer ≥ 1"),
    (lambda: lsa.isotropic(3, 0), ValueError, "n", "0", "integer ≥ 1"),
    (lambda: lsa.isotropic(3, True), TypeError, "n", "True", "integer ≥ 1"),
    (lambda: lsa.isotropic(3, 5, -0.1), ValueError, "noise_variance", "-0.1", "number ≥ 0"),
    (lambda: lsa.isotropic(3, 5, nan), ValueError, "noise_variance", "nan", "finite number"),
    (lambda: lsa.isotropic(3, 5, "0.1"), TypeError, "noise_variance", "'0.1'", "number"),
    (lambda: lsa.skewed(torch.zeros(3, 3), 5), ValueError, "covariance", "0.", "positive definite"),
    (lambda: lsa.skewed([[1.0, 2.0], [0.0, 1.0]], 5), ValueError, "covariance", "2.0", "symmetric"),
    (lambda: lsa.Gaussian(-eye), ValueError, "covariance", "-1", "positive semi-definite"),
    (lambda: lsa.Gaussian(torch.ones(2, 3)), ValueError, "covariance", "(2, 3)", "square matrix"),
    (lambda: lsa.Gaussian(nan * eye), ValueError, "covariance", "nan", "finite"),
    (lambda: lsa.Gaussian("white"), TypeError, "covariance", "'white'", "square matrix"),
    (lambda: lsa.Rademacher(-1), ValueError, "d", "-1", "integer ≥ 1"),
    (lambda: lsa.Sphere(0), ValueError, "d", "0", "integer ≥ 1"),
    (lambda: lsa.Uniform(3, half_width=0), ValueError, "half_width", "0", "number > 0"),
    (lambda: lsa.Linear(eye, [1.0, 2.0]), ValueError, "prior_mean", "(2,)", "3 numbers"),
    (lambda: lsa.Linear(eye, [1.0, 2.0, nan]), ValueError, "prior_mean", "nan", "finite"),
    (lambda: lsa.Linear([[1.0, 3.0], [3.0, 1.0]]), ValueError, "prior_covariance", "3.0", "semi-definite"),
    (lambda: lsa.ReLUNetwork(0), ValueError, "width", "0", "integer ≥ 1"),
    (lambda: lsa.ReLUNetwork(2, slope=nan), ValueError, "slope", "nan", "finite number"),
    (lambda: lsa.ErfNetwork(2, radius=-1), ValueError, "radius", "-1", "number > 0"),
    (lambda: lsa.TanhNetwork(None), TypeError, "width", "None", "integer ≥ 1"),
    (lambda: lsa.Cosine(0), ValueError, "frequency", "0", "number > 0"),
    (lambda: lsa.Task(eye, lsa.Linear(eye), 5), TypeError, "covariates", "tensor", "law of covariates"),
    (lambda: lsa.Task(lsa.Gaussian(eye), lsa.Sign, 5), TypeError, "target", "Sign", "method draw"),
    (
        lambda: lsa.Task(lsa.Gaussian(eye), lsa.Linear(torch.eye(2)), 5),
        ValueError,
        "prior_covariance",
        "(2, 2)",
        "(3, 3)",
    ),
    (lambda: lsa.nonlinear(torch.sin, 3, 5), TypeError, "target", "sin", "method draw"),
    (lambda: lsa.nonlinear(wrong_shape, 3, 5).sample(2), ValueError, "target", "(2, 6, 3)", "shape (2, 6)"),
    (lambda: task.sample(0), ValueError, "batch", "0", "integer ≥ 1"),
    (lambda: task.sample(4, generator="seed"), TypeError, "generator", "'seed'", "torch.Generator"),
    (lambda: task.sample_gram(-2), ValueError, "batch", "-2", "integer ≥ 1"),
    (lambda: network.gram_factor(2), TypeError, "target", "Sign()", "lsa.Linear"),
    (lambda: lsa.LinearSelfAttention(0), ValueError, "d", "0", "integer ≥ 1"),
    (lambda: lsa.LinearSelfAttention(3, heads=0), ValueError, "heads", "0", "integer ≥ 1"),
    (lambda: lsa.LinearSelfAttention(3, residual=1), TypeError, "residual", "1", "True or False"),
    (lambda: lsa.LinearSelfAttention(3, scale=-1), ValueError, "scale", "-1", "number ≥ 0"),
    (
        lambda: lsa.LinearSelfAttention.from_preconditioner(torch.ones(2, 3)),
        ValueError,
        "P",
        "(2, 3)",
        "square",
    ),
    (lambda: lsa.LinearSelfAttention.stack([]), TypeError, "layers", "[]", "at least one"),
    (
        lambda: lsa.LinearSelfAttention.stack([layer, lsa.LinearSelfAttention(2)]),
        ValueError,
        "layers",
        "(2, 1",
        "one kind",
    ),
    (lambda: layer.unstack(), ValueError, "layer", "d=3", "stack"),
    (lambda: layer(prompts.x), TypeError, "prompts", "tensor", "lsa.Prompts"),
    (lambda: layer(other.sample(2)), ValueError, "prompts", "(2, 5, 4)", "dimension 3"),
    (lambda: lsa.gradient_descent(prompts, eye[:2]), ValueError, "P", "(2, 3)", "3 × 3"),
    (lambda: lsa.gradient_descent(prompts, nan), ValueError, "P", "nan", "finite"),
    (lambda: lsa.gradient_descent(prompts, 0.1, steps=-1), ValueError, "steps", "-1", "integer ≥ 0"),
    (lambda: lsa.gradient_descent(prompts, 0.1, start=[1.0]), ValueError, "start", "(1,)", "3 numbers"),
    (lambda: lsa.ridge(prompts, network), TypeError, "task", "Sign()", "linear target"),
    (lambda: lsa.ridge(prompts, other), ValueError, "prompts", "(4, 5, 3)", "dimension 4"),
    (lambda: lsa.optimum("isotropic"), TypeError, "task", "'isotropic'", "lsa.Task"),
    (lambda: lsa.estimate_moments(task, samples=3), ValueError, "samples", "3", "integer ≥ 128"),
    (lambda: lsa.one_step_loss(nan, task), ValueError, "P", "nan", "finite"),
    (lambda: lsa.population_loss(layer, own), TypeError, "task", "Own()", "five moments are known"),
    (lambda: lsa.population_loss(layer, own, moments=3), TypeError, "moments", "3", "lsa.Moments"),
    (lambda: lsa.population_loss(layer, task, lsa.moments(task)), TypeError, "moments", "Moments", "None"),
    (lambda: lsa.traps(layer), TypeError, "task", "LinearSelfAttention", "lsa.Task"),
    (lambda: lsa.traps(task, heads=0), ValueError, "heads", "0", "integer ≥ 1"),
    (lambda: lsa.population_loss(layer, other), ValueError, "layer", "3", "d = 4"),
    (lambda: lsa.population_loss(task, layer), TypeError, "layer", "Task", "LinearSelfAttention"),
    (lambda: lsa.fit(layer, own, loss="exact"), TypeError, "task", "Own()", "five moments are known"),
    (lambda: lsa.fit(layer, task, loss="mse"), ValueError, "loss", "'mse'", "'exact', 'samples'"),
    (lambda: lsa.fit(layer, task, optimizer="sgd"), ValueError, "optimizer", "'sgd'", "'adam'"),
    (lambda: lsa.fit(stack, task, optimizer="lbfgs"), ValueError, "optimizer", "'lbfgs'", "'adam' or 'gd'"),
    (lambda: lsa.fit(layer, task, steps=0), ValueError, "steps", "0", "integer ≥ 1"),
    (lambda: lsa.fit(layer, task, learning_rate=0), ValueError, "learning_rate", "0", "number > 0"),
    (lambda: lsa.fit(layer, task, loss="samples", batch=0), ValueError, "batch", "0", "integer ≥ 1"),
    (lambda: lsa.fit(layer, lsa.nonlinear(lsa.Sign(), 4, 5)), ValueError, "layer", "3", "d = 4"),
    (lambda: lsa.compare(layer, eye[:2], task), ValueError, "P", "(2, 3)", "3 × 3"),
    (lambda: lsa.compare(stack, 0.1, task), ValueError, "layer", "d=3", "not a stack"),
    (lambda: lsa.compare(layer, 0.1, task, batch=1), ValueError, "batch", "1", "integer ≥ 2"),
    (lambda: lsa.ladder(task, -1), ValueError, "steps", "-1", "integer ≥ 0"),
    (lambda: lsa.ladder(task, 2.0), TypeError, "steps", "2.0", "integer ≥ 0"),
    (lambda: lsa.ladder("task", 2), TypeError, "task", "'task'", "lsa.Task"),
    (lambda: lsa.ladder(network, 2), TypeError, "task", "Sign()", "linear targets"),
    (lambda: lsa.ladder(sphere, 2), TypeError, "task", "Sphere", "Gaussian covariates"),
    (lambda: lsa.ladder(stretched, 2), ValueError, "task", "2.", "prior covariance Σ⁻¹"),
    (
        lambda: lsa.ladder(lsa.Task(lsa.Gaussian(eye), lsa.Linear(eye, [1, 0, 0]), 5), 2),
        ValueError,
        "task",
        "1.",
        "prior mean",
    ),
    (lambda: lsa.polynomial_loss(lambda x: x, -1, task), ValueError, "degree", "-1", "integer ≥ 0"),
    (lambda: lsa.LinearTransformer(0, 2), ValueError, "d", "0", "integer ≥ 1"),
    (lambda: lsa.LinearTransformer(3, 0), ValueError, "layers", "0", "integer ≥ 1"),
    (lambda: lsa.LinearTransformer(3, 2, scale=nan), ValueError, "scale", "nan", "number ≥ 0"),
    (lambda: lsa.LinearTransformer(3, 2)(other.sample(2)), ValueError, "prompts", "(2, 5, 4)", "dimension 3"),
    (lambda: lsa.LinearTransformer(3, 2).sampled_losses(other, 4), ValueError, "task", "4", "d = 3"),
    (lambda: lsa.LinearTransformer.from_steps(3, [0.1, nan]), ValueError, "steps", "nan", "finite"),
    (lambda: lsa.LinearTransformer.from_steps(3, [0.1], [1, 2]), ValueError, "moves", "(2,)", "1 numbers"),
    (lambda: lsa.SoftmaxAttention(3, heads=0), ValueError, "heads", "0", "integer ≥ 1"),
    (lambda: lsa.SoftmaxAttention(3)(other.sample(2)), ValueError, "prompts", "(2, 5, 4)", "dimension 3"),
    (lambda: lsa.softmax_loss(task, 0), ValueError, "beta", "0", "number > 0"),
    (lambda: lsa.softmax_loss(task, 1.0, gain="best"), TypeError, "gain", "'best'", "number"),
    (lambda: lsa.softmax_loss(stretched, 1.0), ValueError, "task", "2.", "prior covariance Σ⁻¹"),
    (lambda: lsa.softmax_loss(lsa.isotropic(3, 1), 1.0, pair=True), ValueError, "task", "1", "two examples"),
    (lambda: lsa.softmax_ladder(task, []), ValueError, "temperatures", "[]", "one or more different numbers"),
    (lambda: lsa.softmax_ladder(task, 0.7), ValueError, "temperatures", "0.7", "different numbers ≥ 0"),
    (lambda: lsa.softmax_ladder(task, [0.7, -1]), ValueError, "temperatures", "-1", "numbers ≥ 0"),
    (lambda: lsa.softmax_ladder(task, [1, 1.0]), ValueError, "temperatures", "[1, 1.0]", "different numbers"),
    (lambda: lsa.softmax_ladder(task, [1, nan]), ValueError, "temperatures", "nan", "every entry finite"),
    (lambda: lsa.softmax_ladder(task, "warm"), TypeError, "temperatures", "'warm'", "different numbers"),
    (lambda: lsa.softmax_ladder(stretched, [1]), ValueError, "task", "2.", "prior covariance Σ⁻¹"),
    (lambda: lsa.softmax_ladder(lsa.isotropic(3, 1), [1]), ValueError, "task", "1", "two examples"),
    (lambda: lsa.landscape.threshold(2, 0.1), ValueError, "d", "2", "integer ≥ 3"),
    (lambda: lsa.landscape.threshold(3, 5), ValueError, "noise_variance", "5", "0 to 4"),
    (lambda: lsa.score_floor(network), TypeError, "task", "Sign()", "linear targets"),
    (lambda: lsa.fit_samples(layer, task), TypeError, "model", "d=3", "LinearTransformer"),
    (lambda: lsa.fit_samples(lsa.SoftmaxAttention(3), task, steps=0), ValueError, "steps", "0", "≥ 1"),
    (lambda: lsa.fit_samples(lsa.SoftmaxAttention(3), task, clip=0), ValueError, "clip", "0", "> 0"),
]


@pytest.mark.parametrize(("call", "error", "name", "value", "expected"), CALLS, ids=range(len(CALLS)))
def test_bad_calls_say_what_is_wrong(call, error, name, value, expected):
    with pytest.raises(error) as caught:
        call()
    message = str(caught.value)
    assert re.match(rf"{name}\b", message), message
    assert value in message
    assert expected in message.partition("expected")[2] + message, message
    assert "expected" in message
