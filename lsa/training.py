"""Training the layer: on the exact loss, which has no sampling noise at all, or on fresh prompts."""

import math
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from . import checks
from .baselines import gradient_descent
from .data import Task
from .history import History, Run, power, progress_bar
from .minimise import alternating_least_squares, lbfgs, step_aside
from .model import LinearSelfAttention
from .population import check_layer, known, population_loss, white_moments
from .theory import Optimum

STEPS = {"lbfgs": 300, "als": 300, "adam": 2000, "gd": 2000}


def fit(
    layer: LinearSelfAttention,
    task: Task,
    *,
    loss: str | None = None,
    optimizer: str | None = None,
    steps: int | None = None,
    learning_rate: float | None = None,
    batch: int | None = None,
    generator: torch.Generator | int | None = None,
    snapshots: int = 0,
    progress: bool = True,
) -> Run:
    """Train `layer` in place.

    loss: "exact" (the default wherever the moments of the task are known) or "samples".
    optimizer: "lbfgs" (the default for the exact loss of one layer: L-BFGS, then "als" for the last digits;
        from a saddle it steps aside once), "als" (alternating least squares: given a the loss is quadratic in
        M, given M in a), both for one layer at a time and stopping by themselves; "adam" (the default for
        samples and for stacks; the learning rate falls to zero along a cosine) or "gd" (plain gradient
        descent on the weights).
    batch: fresh prompts a step, for samples (2048). The runs of a stack share them and differ by their start.
    snapshots: keep a copy of the layer every so many steps, the start and the end included; 0 keeps none.

    The default `learning_rate` is 1 for L-BFGS, 0.01 for Adam, and for gradient descent what suits the task.
    Ctrl-C ends the run and returns what there is, with the weights of the lowest loss so far. A run that
    diverges gets those weights back, too: alone it raises FloatingPointError, in a stack `ending` names it.
    """
    check_layer(layer, task)
    loss = checks.choice("loss", loss or ("exact" if known(task) else "samples"), ("exact", "samples"))
    if loss == "exact":
        white_moments(task)  # an error where they are not known
    single = layer.readout.ndim == 1
    optimizer = optimizer or ("lbfgs" if loss == "exact" and single else "adam")
    checks.choice("optimizer", optimizer, tuple(STEPS))
    if optimizer in ("lbfgs", "als") and not (loss == "exact" and single):
        checks.fail("optimizer", optimizer, "'adam' or 'gd' for samples and for a stack of layers")
    frozen = [name for name, weight in layer.named_parameters() if not weight.requires_grad]
    if len(frozen) == 4 or (frozen and optimizer in ("lbfgs", "als")):
        checks.fail("layer", frozen, "weights that require gradients, all four for L-BFGS and ALS")
    for name, value, unused in (
        ("batch", batch, loss == "exact"),
        ("learning_rate", learning_rate, optimizer == "als"),
    ):
        if unused and value is not None:
            checks.fail(name, value, f"None: loss = {loss!r} by {optimizer!r} has no use for it")
    steps = checks.integer("steps", STEPS[optimizer] if steps is None else steps, 1)
    rate = _rate(task, optimizer) if learning_rate is None else learning_rate
    rate = checks.number("learning_rate", rate, above=0)
    batch = checks.integer("batch", 2048 if batch is None else batch, 1)

    every = checks.integer("snapshots", snapshots, 0)
    with progress_bar(steps, progress) as bar:
        history = History(layer, task, rate, every, bar)
        try:
            if optimizer in ("lbfgs", "als"):
                _second_order(optimizer, steps, rate, history)
            else:
                sampled = partial(_sampled_objective, history.best, batch, checks.generator(generator))
                objective = _exact_objective if loss == "exact" else sampled
                _first_order(objective, optimizer, steps, rate, history)
        except KeyboardInterrupt:
            history.restore()
            return history.run("interrupted")
        return history.run()


def _rate(task: Task, optimizer: str) -> float:
    """The default learning rate; that of gradient descent is in the units of the task."""
    if optimizer != "gd":
        return {"lbfgs": 1.0, "als": 1.0, "adam": 0.01}[optimizer]
    spread = task.covariates.covariance.trace().item() / task.d
    return 0.15 / max(task.n * power(task) * spread, 1e-12)


# An objective gives what is minimised, (runs,) or a scalar, and the loss and excess to be written down.
Objective = Callable[[LinearSelfAttention, Task], tuple[Tensor, Tensor, Tensor | None]]


def _exact_objective(layer: LinearSelfAttention, task: Task):
    loss = population_loss(layer, task)
    return loss, loss.detach(), None


def _sampled_objective(
    best: Optimum, batch: int, generator: torch.Generator | None, layer: LinearSelfAttention, task: Task
):
    if task.linear:
        # Given the Gram matrix and w, the query and its noise integrate out: (u − w)ᵀ Σ (u − w) + σ².
        factor, w = task.gram_factor(batch, generator)
        error = layer.weights_from_factor(factor) - w
        loss = ((error @ task.covariates.covariance) * error).sum(-1).mean(-1) + task.noise_variance
    else:
        prompts = task.sample(batch, generator)
        loss = (layer(prompts) - prompts.y_query).square().mean(-1)
    with torch.no_grad():
        if known(task):
            return loss, population_loss(layer, task), None
        reference = gradient_descent(prompts, best.preconditioner) - prompts.y_query
        return loss, loss.detach(), loss - reference.square().mean()


def _second_order(name: str, steps: int, rate: float, history: History) -> None:
    layer, task, unit = history.layer, history.task, 1e-15 * history.unit
    history.record(population_loss(layer, task).detach())
    if name == "lbfgs":
        for value in lbfgs(layer, task, steps, rate, unit):
            history.record(value)
    for value in alternating_least_squares(layer, task, steps, unit):
        history.record(value)
    if name == "lbfgs" and history.excess[-1] > 1e-9:
        for value in step_aside(layer, task, steps, unit):
            history.record(value)


def _first_order(objective: Objective, name: str, steps: int, rate: float, history: History) -> None:
    layer = history.layer
    kind = torch.optim.Adam if name == "adam" else torch.optim.SGD
    optimizer = kind(layer.parameters(), lr=rate)
    for step in range(steps):
        if name == "adam":
            optimizer.param_groups[0]["lr"] = rate * (1 + math.cos(math.pi * step / steps)) / 2
        optimizer.zero_grad()
        loss, *shown = objective(layer, history.task)
        history.record(*shown)
        loss.sum().backward()  # the runs of a stack do not meet: the gradient of the sum is each run's own
        optimizer.step()
        if history.diverged:
            history.restore(torch.tensor(list(history.diverged)))
    with torch.no_grad():
        _, *shown = objective(layer, history.task)
    history.record(*shown)
