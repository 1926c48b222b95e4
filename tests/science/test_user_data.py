"""A researcher's own data: it comes in easily and gives the right answer, or the error says why not."""

import numpy as np
import pytest
import torch

import lsa

task = lsa.isotropic(3, 5, 0.1)
prompts = task.sample(4, generator=0)
expected = lsa.gradient_descent(prompts, 0.1)
layer = lsa.LinearSelfAttention(3, generator=0)
stack = lsa.LinearSelfAttention.stack([layer, layer])
eye, nan, inf = torch.eye(3, dtype=torch.float64), float("nan"), float("inf")
Prompts = lsa.Prompts


def changed(**parts):
    return prompts._replace(**parts)


def of(change):
    """The prompts' parts, each changed by a function, through the checked constructor."""
    return Prompts.of(*map(change, prompts))


def numpy32(part):
    return part.numpy().astype(np.float32)


close = {"rtol": 1e-5, "atol": 1e-5}
RIGHT = {
    "numpy": lambda: (lsa.gradient_descent(of(torch.Tensor.numpy), 0.1), expected),
    "numpy, float32": lambda: (lsa.gradient_descent(of(numpy32), 0.1), expected),
    "lists": lambda: (lsa.gradient_descent(of(torch.Tensor.tolist), 0.1), expected),
    "float32": lambda: (lsa.gradient_descent(of(torch.Tensor.float), 0.1), expected),
    "integers": lambda: (Prompts.of([[1, 2]], [3], [4, 5]).x, torch.tensor([[[1.0, 2]]]).double()),
    "one prompt without a batch": lambda: (
        lsa.gradient_descent(Prompts.of(*(part[0] for part in prompts)), 0.1),
        expected[:1],
    ),
    "no answer": lambda: (lsa.gradient_descent(Prompts.of(*prompts[:3]), 0.1), expected),
    "a layer on numpy": lambda: (layer(of(torch.Tensor.numpy)), layer(prompts)),
    "ridge on float32": lambda: (lsa.ridge(of(torch.Tensor.float), task), lsa.ridge(prompts, task)),
    "P of numpy": lambda: (lsa.gradient_descent(prompts, np.float32(0.1)), expected),
    "P a numpy array of no dimension": lambda: (lsa.gradient_descent(prompts, np.array(0.1)), expected),
    "P a numpy matrix": lambda: (lsa.gradient_descent(prompts, 0.1 * np.eye(3)), expected),
    "P a list": lambda: (lsa.gradient_descent(prompts, (0.1 * eye).tolist()), expected),
    "P an integer": lambda: (lsa.gradient_descent(prompts, 0), 0 * expected),
    "P of float32": lambda: (lsa.gradient_descent(prompts, 0.1 * torch.eye(3)), expected),
    "a covariance of integers": lambda: (lsa.Gaussian(torch.eye(3).int()).covariance, eye),
    "a covariance of numpy": lambda: (lsa.Gaussian(np.eye(3)).covariance, eye),
    "a prior mean of integers": lambda: (
        lsa.Linear(eye, [1, 2, 3]).prior_mean,
        torch.tensor([1.0, 2, 3]).double(),
    ),
    "d of numpy": lambda: (torch.tensor(lsa.isotropic(np.int64(3), np.int32(5)).d), torch.tensor(3)),
    "n as a tensor of integers": lambda: (torch.tensor(lsa.isotropic(3, torch.tensor(5)).n), torch.tensor(5)),
    "noise of numpy": lambda: (
        torch.tensor(lsa.isotropic(3, 5, np.float32(0.5)).noise_variance),
        torch.tensor(0.5),
    ),
    "a seed of numpy": lambda: (task.sample(4, generator=np.int64(0)).x, prompts.x),
    "a tiny covariance": lambda: (
        torch.tensor(lsa.optimum(lsa.skewed(1e-40 * eye, 5, 0.1)).loss),
        torch.tensor(lsa.optimum(task).loss),
    ),
    "a huge covariance": lambda: (
        torch.tensor(lsa.optimum(lsa.skewed(1e40 * eye, 5, 0.1)).loss),
        torch.tensor(lsa.optimum(task).loss),
    ),
    "a badly conditioned covariance": lambda: (
        torch.tensor(
            lsa.optimum(lsa.skewed(torch.diag(torch.tensor([1e11, 1.0, 1.0]).double()), 5, 0.1)).loss
        ),
        torch.tensor(lsa.optimum(task).loss),
    ),
}


@pytest.mark.parametrize("call", RIGHT.values(), ids=RIGHT)
def test_right_answers(call):
    found, wanted = call()
    torch.testing.assert_close(found, wanted.to(found.dtype), **close)


def own(values):
    return lsa.nonlinear(type("Own", (), {"draw": lambda self, batch, d, generator: values})(), 3, 5)


def frozen():
    still = lsa.LinearSelfAttention(3)
    return still.requires_grad_(False)


def half_frozen():
    still = lsa.LinearSelfAttention(3)
    still.key.requires_grad_(False)
    return still


def single():
    return lsa.LinearSelfAttention(3, generator=0).float()


WRONG = {
    "y of another length": (
        lambda: lsa.gradient_descent(changed(y=prompts.y[:, :4]), 0.1),
        "prompts.y",
        "(4, 4)",
        "(4, 5)",
    ),
    "y with a dimension too many": (
        lambda: layer(changed(y=prompts.y[..., None])),
        "prompts.y",
        "(4, 5, 1)",
        "(4, 5)",
    ),
    "a query of another batch": (
        lambda: layer(changed(x_query=prompts.x_query[:1])),
        "x_query",
        "(1, 3)",
        "(4, 3)",
    ),
    "an answer of another batch": (
        lambda: layer(changed(y_query=prompts.y_query[:1])),
        "y_query",
        "(1,)",
        "(4,)",
    ),
    "a prompt without a batch": (
        lambda: layer(Prompts(*(p[0] for p in prompts))),
        "prompts.x",
        "(5, 3)",
        "(B, n, 3)",
    ),
    "no examples": (
        lambda: layer(changed(x=prompts.x[:, :0], y=prompts.y[:, :0])),
        "prompts.x",
        "(4, 0, 3)",
        "(B, n, 3)",
    ),
    "float32": (lambda: layer(Prompts(*(p.float() for p in prompts))), "prompts.x", "float32", "Prompts.of"),
    "integers": (lambda: layer(changed(x=prompts.x.int())), "prompts.x", "int32", "Prompts.of"),
    "numpy": (
        lambda: lsa.gradient_descent(Prompts(*(p.numpy() for p in prompts)), 0.1),
        "prompts.x",
        "ndarray",
        "Prompts.of",
    ),
    "lists": (
        lambda: lsa.ridge(Prompts(*(p.tolist() for p in prompts)), task),
        "prompts.x",
        "list",
        "Prompts.of",
    ),
    "a plain tuple": (lambda: layer(tuple(prompts)), "prompts", "tensor", "Prompts.of"),
    "NaN in ridge": (lambda: lsa.ridge(changed(x=nan * prompts.x), task), "x", "nan", "finite"),
    "NaN through the constructor": (lambda: Prompts.of(nan * prompts.x, *prompts[1:]), "x", "nan", "finite"),
    "infinite labels": (lambda: Prompts.of(prompts.x, inf * prompts.y, *prompts[2:]), "y", "inf", "finite"),
    "complex prompts": (lambda: Prompts.of(prompts.x + 1j, *prompts[1:]), "x", "complex128", "real numbers"),
    "text": (lambda: Prompts.of("abc", *prompts[1:]), "x", "'abc'", "real numbers"),
    "ragged lists": (
        lambda: Prompts.of([[[1.0, 2.0], [3.0]]], [[1.0, 2.0]], [[1.0, 2.0]]),
        "x",
        "[3.0]",
        "real numbers",
    ),
    "prompts of mixed sizes": (
        lambda: Prompts.of(prompts.x, prompts.y[:, :3], *prompts[2:]),
        "prompts.y",
        "(4, 3)",
        "(4, 5)",
    ),
    "another dimension than the layer's": (
        lambda: layer(lsa.isotropic(2, 5).sample(4)),
        "prompts.x",
        "(4, 5, 2)",
        "dimension 3",
    ),
    "another dimension than the task's": (
        lambda: lsa.ridge(lsa.isotropic(2, 5).sample(4), task),
        "prompts.x",
        "(4, 5, 2)",
        "dimension 3",
    ),
    "a complex covariance": (lambda: lsa.Gaussian(eye + 0j), "covariance", "complex128", "square matrix"),
    "a complex prior": (lambda: lsa.Linear(eye + 0j), "prior_covariance", "complex128", "square matrix"),
    "a complex prior mean": (lambda: lsa.Linear(eye, eye[0] + 0j), "prior_mean", "complex128", "3 numbers"),
    "a covariance of truths": (lambda: lsa.Gaussian(eye.bool()), "covariance", "bool", "square matrix"),
    "a covariance beyond float64's squares": (
        lambda: lsa.Gaussian(1e200 * eye),
        "covariance",
        "1.0000e+200",
        "other units",
    ),
    "a covariance beneath them": (
        lambda: lsa.Gaussian(1e-200 * eye),
        "covariance",
        "1.0000e-200",
        "other units",
    ),
    "a prior beyond them": (lambda: lsa.Linear(1e80 * eye), "prior_covariance", "1.0000e+80", "other units"),
    "a condition number of 1e13": (
        lambda: lsa.skewed(torch.diag(torch.tensor([1e13, 1.0]).double()), 5),
        "covariance",
        "1.0000e+13",
        "below 1e12",
    ),
    "a covariance of no size": (
        lambda: lsa.Gaussian(torch.zeros(0, 0)),
        "covariance",
        "(0, 0)",
        "square matrix",
    ),
    "a covariance of three dimensions": (
        lambda: lsa.Gaussian(torch.zeros(2, 2, 2)),
        "covariance",
        "(2, 2, 2)",
        "square",
    ),
    "d a tensor of floats": (lambda: lsa.isotropic(torch.tensor(3.0), 5), "d", "tensor(3.)", "integer ≥ 1"),
    "d a tensor of many": (
        lambda: lsa.isotropic(torch.tensor([3, 4]), 5),
        "d",
        "tensor([3, 4])",
        "integer ≥ 1",
    ),
    "d text": (lambda: lsa.isotropic("3", 5), "d", "'3'", "integer ≥ 1"),
    "d None": (lambda: lsa.isotropic(None, 5), "d", "None", "integer ≥ 1"),
    "n beyond reason": (lambda: lsa.isotropic(3, 10**30), "n", "1000000", "≤ 1e+12"),
    "n a float": (lambda: lsa.isotropic(3, 5.0), "n", "5.0", "integer ≥ 1"),
    "noise beyond float64": (lambda: lsa.isotropic(3, 5, 10**400), "noise_variance", "1000", "finite number"),
    "noise complex": (lambda: lsa.isotropic(3, 5, 1j), "noise_variance", "1j", "finite number"),
    "noise a tensor of many": (
        lambda: lsa.isotropic(3, 5, eye[0]),
        "noise_variance",
        "tensor",
        "finite number",
    ),
    "noise infinite": (lambda: lsa.isotropic(3, 5, inf), "noise_variance", "inf", "finite number"),
    "a target that returns a number": (lambda: own(lambda x: 1.0).sample(4), "target", "Own", "float"),
    "a target that returns float32": (
        lambda: own(lambda x: x[..., 0].float()).sample(4),
        "target",
        "Own",
        "float32",
    ),
    "a target drawn in float32": (
        lambda: lsa.optimum(own(lambda x: (x @ torch.ones(3, 1))[..., 0])),
        "target",
        "Own",
        "dtype=torch.float64",
    ),
    "a target that returns NaN": (
        lambda: own(lambda x: nan * x[..., 0]).sample(4),
        "target",
        "Own",
        "finite",
    ),
    "a target that returns numpy": (
        lambda: own(lambda x: x[..., 0].numpy()).sample(4),
        "target",
        "Own",
        "ndarray",
    ),
    "a target of wrong shape": (lambda: own(lambda x: x).sample(4), "target", "Own", "(4, 6)"),
    "a target of wrong shape in optimum": (lambda: lsa.optimum(own(lambda x: x)), "target", "Own", "64)"),
    "a target that returns NaN in optimum": (
        lambda: lsa.optimum(own(lambda x: nan * x[..., 0])),
        "target",
        "Own",
        "finite",
    ),
    "a target that is a function": (
        lambda: lsa.nonlinear(torch.sin, 3, 5),
        "target",
        "sin",
        "draw(batch, d, generator)",
    ),
    "a target that is a class": (
        lambda: lsa.nonlinear(lsa.Sign, 3, 5),
        "target",
        "Sign",
        "draw(batch, d, generator)",
    ),
    "a layer in float32": (lambda: single()(prompts), "layer", "float32", "float64"),
    "a layer in float32 in the loss": (
        lambda: lsa.population_loss(single(), task),
        "layer",
        "float32",
        "float64",
    ),
    "the loss of a step on no task": (lambda: lsa.one_step_loss(0.1, "task"), "task", "'task'", "lsa.Task"),
    "a target that returns NaN now and then": (
        lambda: own(lambda x: x[..., 0].where(x[..., 0] > 0, nan)).sample(40, 0),
        "target",
        "Own",
        "finite",
    ),
    "a loss on no task": (lambda: lsa.population_loss(layer, "task"), "task", "'task'", "lsa.Task"),
    "the loss of a step where moments are not known": (
        lambda: lsa.one_step_loss(0.1, own(lambda x: x[..., 0])),
        "task",
        "Own",
        "moments are known",
    ),
    "a polynomial on a skewed task": (
        lambda: lsa.polynomial_loss(torch.ones_like, 1, lsa.Task(lsa.Gaussian(eye), lsa.Linear(2 * eye), 5)),
        "task",
        "tensor",
        "is not I",
    ),
    "a layer in float32 in fit": (lambda: lsa.fit(single(), task), "layer", "float32", "float64"),
    "a layer in float32 in compare": (
        lambda: lsa.compare(single(), 0.1, task),
        "layer",
        "float32",
        "float64",
    ),
    "a stack of layers and something else": (
        lambda: lsa.LinearSelfAttention.stack([layer, "layer"]),
        "layers",
        "'layer'",
        "nothing else",
    ),
    "a stack of stacks": (
        lambda: lsa.LinearSelfAttention.stack([stack]),
        "layers",
        "LinearSelfAttention",
        "single",
    ),
    "no layer in compare": (
        lambda: lsa.compare("layer", 0.1, task),
        "layer",
        "'layer'",
        "LinearSelfAttention",
    ),
    "no task in compare": (lambda: lsa.compare(layer, 0.1, "task"), "task", "'task'", "lsa.Task"),
    "a learning rate below zero for samples": (
        lambda: lsa.fit_samples(lsa.SoftmaxAttention(3), task, learning_rate=-0.1),
        "learning_rate",
        "-0.1",
        "> 0",
    ),
    "a stack in compare": (
        lambda: lsa.compare(stack, 0.1, task),
        "layer",
        "LinearSelfAttention",
        "not a stack",
    ),
    "a single layer unstacked": (lambda: layer.unstack(), "layer", "LinearSelfAttention", "a stack"),
    "a frozen layer": (lambda: lsa.fit(frozen(), task), "layer", "'key', 'query'", "require gradients"),
    "a frozen layer by Adam": (
        lambda: lsa.fit(frozen(), task, optimizer="adam"),
        "layer",
        "'key'",
        "require gradients",
    ),
    "a frozen key": (lambda: lsa.fit(half_frozen(), task), "layer", "['key']", "require gradients"),
    "a batch for the exact loss": (lambda: lsa.fit(layer, task, batch=64), "batch", "64", "no use"),
    "a rate for least squares": (
        lambda: lsa.fit(layer, task, optimizer="als", learning_rate=0.1),
        "learning_rate",
        "0.1",
        "no use",
    ),
    "a rate that is text": (
        lambda: lsa.fit(layer, task, learning_rate="fast"),
        "learning_rate",
        "'fast'",
        "number > 0",
    ),
    "a rate that is NaN": (
        lambda: lsa.fit(layer, task, learning_rate=nan),
        "learning_rate",
        "nan",
        "number > 0",
    ),
    "steps a float": (lambda: lsa.fit(layer, task, steps=1e3), "steps", "1000.0", "integer ≥ 1"),
    "snapshots negative": (lambda: lsa.fit(layer, task, snapshots=-1), "snapshots", "-1", "integer ≥ 0"),
    "a task for a layer": (lambda: lsa.fit(task, layer), "layer", "Task", "LinearSelfAttention"),
    "a layer of another size": (lambda: lsa.fit(lsa.LinearSelfAttention(2), task), "layer", "2", "d = 3"),
    "a seed that is a float": (lambda: task.sample(4, generator=1.0), "generator", "1.0", "integer seed"),
    "a seed that is text": (lambda: task.sample(4, generator="0"), "generator", "'0'", "integer seed"),
    "a seed beyond 64 bits": (lambda: task.sample(4, generator=2**80), "generator", "1208925", "64 bits"),
    "a seed that is a truth": (lambda: task.sample(4, generator=True), "generator", "True", "integer seed"),
    "P complex": (lambda: lsa.gradient_descent(prompts, 0.1j), "P", "0.1j", "finite number"),
    "P a complex matrix": (lambda: lsa.gradient_descent(prompts, eye * 1j), "P", "complex128", "3 × 3"),
    "P a vector": (lambda: lsa.gradient_descent(prompts, eye[0]), "P", "(3,)", "3 × 3"),
    "P text": (lambda: lsa.gradient_descent(prompts, "η"), "P", "'η'", "finite number"),
    "P None": (lambda: lsa.gradient_descent(prompts, None), "P", "None", "finite number"),
    "a start of another size": (
        lambda: lsa.gradient_descent(prompts, 0.1, start=[1.0, 2.0]),
        "start",
        "(2,)",
        "3 numbers",
    ),
    "a layer from a vector": (
        lambda: lsa.LinearSelfAttention.from_preconditioner(eye[0]),
        "P",
        "(3,)",
        "square matrix",
    ),
    "a layer of no dimension": (lambda: lsa.LinearSelfAttention(0), "d", "0", "integer ≥ 1"),
    "a layer of half a head": (lambda: lsa.LinearSelfAttention(3, heads=0.5), "heads", "0.5", "integer ≥ 1"),
    "a negative scale": (lambda: lsa.LinearSelfAttention(3, scale=-1), "scale", "-1", "number ≥ 0"),
    "a residual that is a number": (
        lambda: lsa.LinearSelfAttention(3, residual=1),
        "residual",
        "1",
        "True or False",
    ),
}


@pytest.mark.parametrize(("call", "name", "value", "wanted"), WRONG.values(), ids=WRONG)
def test_errors_name_argument_value_and_expectation(call, name, value, wanted):
    with pytest.raises((TypeError, ValueError)) as caught:
        call()
    text = str(caught.value)
    argument, _, rest = text.partition(" = ")
    assert argument.endswith(name.removeprefix("prompts.")), text
    found, _, expectation = rest.partition(": expected ")
    assert value in found, text
    assert wanted in expectation, text


def test_the_tables_are_long_enough():
    from test_bad_input import CALLS

    assert len(RIGHT) + len(WRONG) + len(CALLS) >= 170


def test_what_is_kept_is_a_copy():
    sigma, mean = covariance(), torch.ones(3, dtype=torch.float64)
    laws = lsa.Gaussian(sigma), lsa.Linear(sigma, mean)
    before = [laws[0].covariance.clone(), laws[1].prior_covariance.clone(), laws[1].prior_mean.clone()]
    sigma *= 7
    mean *= 7
    after = [laws[0].covariance, laws[1].prior_covariance, laws[1].prior_mean]
    assert all(torch.equal(one, other) for one, other in zip(before, after, strict=True))
    x = prompts.x.clone()
    kept = Prompts.of(x, *prompts[1:])
    x *= 0
    assert torch.equal(kept.x, prompts.x)


def covariance():
    root = torch.randn(3, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    return root @ root.T


def test_a_covariance_estimated_in_single_precision_is_welcome():
    data = torch.randn(4, 200, generator=torch.Generator().manual_seed(0))
    estimate = torch.cov(data)
    assert estimate.dtype == torch.float32
    torch.testing.assert_close(lsa.Gaussian(estimate).covariance, estimate.double(), rtol=1e-6, atol=1e-7)
    numpy = np.cov(data.numpy()).astype(np.float32)
    assert lsa.optimum(lsa.skewed(numpy, 10)).loss == pytest.approx(
        lsa.optimum(lsa.isotropic(4, 10)).loss, rel=1e-5
    )


def test_a_step_that_is_a_tensor_keeps_its_gradient():
    step = torch.tensor(0.1, dtype=torch.float64, requires_grad=True)
    loss = (lsa.gradient_descent(prompts, step) - prompts.y_query).square().mean()
    loss.backward()
    assert step.grad.abs() > 0
    matrix = (0.1 * eye).requires_grad_()
    lsa.gradient_descent(prompts, matrix).sum().backward()
    assert matrix.grad.abs().max() > 0


def test_one_step_on_one_prompt_is_allowed():
    assert lsa.fit_samples(lsa.SoftmaxAttention(3), task, steps=1, batch=1, generator=0).shape == (1,)


def test_an_error_does_not_print_a_whole_array():
    with pytest.raises(TypeError, match=r"prompts = .* … \(tuple\): expected lsa.Prompts") as caught:
        lsa.gradient_descent((np.zeros((50, 10, 3)), np.zeros((50, 10)), np.zeros((50, 3))), 0.1)
    assert len(str(caught.value)) < 400
