"""Training the layer: on the exact loss, which has no sampling noise at all, or on fresh prompts."""

import copy
import math
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import Tensor
from tqdm.auto import tqdm

from . import checks
from .baselines import gradient_descent
from .covariates import Gaussian
from .data import Task
from .minimise import alternating_least_squares, lbfgs
from .model import LinearSelfAttention
from .population import check_exact, population_loss
from .theory import Optimum, optimum

STEPS = {"lbfgs": 300, "als": 300, "adam": 2000, "gd": 2000}
RATES = {"lbfgs": 1.0, "als": 1.0, "adam": 0.01, "gd": 0.01}


@dataclass
class Run:
    """The history of a training run; a stack of layers adds a last dimension `runs` to both tensors.

    One entry for the start and one for every step. A loss is the exact population loss where that is known,
    else the mean over the step's fresh prompts; its excess is then the mean of the paired difference to the
    best one-step predictor on the same prompts, which may be negative by chance.
    """

    optimum: Optimum
    losses: Tensor  #: (steps+1,)
    excess: Tensor  #: relative: (L − L*) / L*, (steps+1,)
    snapshots: list[tuple[int, LinearSelfAttention]] = field(default_factory=list)  #: (step, copy)


def fit(
    layer: LinearSelfAttention,
    task: Task,
    *,
    loss: str | None = None,
    optimizer: str | None = None,
    steps: int | None = None,
    learning_rate: float | None = None,
    batch: int = 2048,
    generator: torch.Generator | int | None = None,
    snapshots: int = 0,
    progress: bool = True,
) -> Run:
    """Train `layer` in place.

    loss: "exact" (linear targets, Gaussian covariates; the default there) or "samples".
    optimizer: "lbfgs" (the default for the exact loss: L-BFGS, then "als" for the last digits), "als"
        (alternating least squares: given a the loss is quadratic in M, given M in a), both for one layer at a
        time and stopping by themselves; "adam" (the default for samples; the learning rate falls to zero
        along a cosine) or "gd" (plain gradient descent on the weights).
    batch: fresh prompts a step, for samples. The runs of a stack share them and differ by their start alone.
    snapshots: keep a copy of the layer every so many steps, the start and the end included; 0 keeps none.
    """
    checks.instance("layer", layer, LinearSelfAttention, "a lsa.LinearSelfAttention")
    exact = checks.instance("task", task, Task, "a lsa.Task").linear and isinstance(task.covariates, Gaussian)
    loss = checks.choice("loss", loss or ("exact" if exact else "samples"), ("exact", "samples"))
    if loss == "exact" or exact:
        check_exact(layer, task)
    optimizer = optimizer or ("lbfgs" if loss == "exact" else "adam")
    checks.choice("optimizer", optimizer, tuple(STEPS))
    if optimizer in ("lbfgs", "als") and (loss == "samples" or layer.readout.ndim > 1):
        checks.fail("optimizer", optimizer, "'adam' or 'gd' for samples and for a stack of layers")
    if layer.d != task.d:
        checks.fail("layer", layer.d, f"a layer for d = {task.d}, as the task; this is its d")
    steps = checks.integer("steps", STEPS[optimizer] if steps is None else steps, 1)
    rate = checks.number(
        "learning_rate", RATES[optimizer] if learning_rate is None else learning_rate, above=0
    )
    batch, every = checks.integer("batch", batch, 1), checks.integer("snapshots", snapshots, 0)

    history = _History(optimum(task), rate, every, _bar(steps, progress))
    if optimizer in ("lbfgs", "als"):
        unit = 1e-15 * history.best.loss
        history.record(layer, population_loss(layer, task).detach())
        if optimizer == "lbfgs":
            for value in lbfgs(layer, task, steps, rate, unit):
                history.record(layer, value)
        for value in alternating_least_squares(layer, task, steps, unit):
            history.record(layer, value)
    else:
        sampled = loss == "samples"
        objective = (
            _sampled_objective(task, history.best, batch, generator) if sampled else _exact_objective(task)
        )
        _first_order(layer, objective, optimizer, steps, rate, history)
    return history.run(layer)


# An objective gives what is minimised, (runs,) or a scalar, and the loss and excess to be written down.
Objective = Callable[[LinearSelfAttention], tuple[Tensor, Tensor, Tensor | None]]


def _exact_objective(task: Task) -> Objective:
    def objective(layer):
        loss = population_loss(layer, task)
        return loss, loss.detach(), None

    return objective


def _sampled_objective(
    task: Task, best: Optimum, batch: int, generator: torch.Generator | int | None
) -> Objective:
    generator = checks.generator(generator)
    if not (task.linear and isinstance(task.covariates, Gaussian)):

        def objective(layer):
            prompts = task.sample(batch, generator)
            loss = (layer(prompts) - prompts.y_query).square().mean(-1)
            reference = gradient_descent(prompts, best.preconditioner) - prompts.y_query
            return loss, loss.detach(), loss.detach() - reference.square().mean()

        return objective

    sigma, noise = task.covariates.covariance, task.noise_variance

    def objective(layer):
        # Given the Gram matrix and w, the query and its noise integrate out: (u − w)ᵀ Σ (u − w) + σ².
        factor, w = task.gram_factor(batch, generator)
        error = layer.weights_from_factor(factor) - w
        loss = ((error @ sigma) * error).sum(-1).mean(-1) + noise
        with torch.no_grad():
            return loss, population_loss(layer, task), None

    return objective


class _History:
    """Collects losses and snapshots, moves the bar, and stops a run that diverges."""

    def __init__(self, best: Optimum, rate: float, every: int, bar: tqdm):
        self.best, self.rate, self.every, self.bar = best, rate, every, bar
        self.losses: list[Tensor] = []
        self.excess: list[Tensor] = []
        self.snapshots: list[tuple[int, LinearSelfAttention]] = []

    def record(self, layer: LinearSelfAttention, loss: Tensor, excess: Tensor | None = None) -> None:
        step = len(self.losses)
        start = self.losses[0] if step else loss
        if not (loss <= 1e6 * (start + self.best.loss)).all():  # not so for NaN, too
            self.bar.close()
            raise FloatingPointError(
                f"training diverged: the loss is {loss.max().item():.3g} at step {step} with "
                f"learning_rate = {self.rate:g}; a smaller learning_rate is expected to help"
            )
        self.losses.append(loss)
        self.excess.append((loss - self.best.loss if excess is None else excess) / self.best.loss)
        if self.every and step % self.every == 0:
            self.snapshots.append((step, copy.deepcopy(layer)))
        if step:
            self.bar.update()
            self.bar.set_postfix(excess=f"{self.excess[-1].max().item():.1e}", refresh=False)

    def run(self, layer: LinearSelfAttention) -> Run:
        self.bar.total = self.bar.n  # a notebook shows a bar that stops early, here a success, as a failure
        self.bar.close()
        last = len(self.losses) - 1
        if self.every and last % self.every:
            self.snapshots.append((last, copy.deepcopy(layer)))
        return Run(self.best, torch.stack(self.losses), torch.stack(self.excess), self.snapshots)


def _bar(steps: int, progress: bool) -> tqdm:
    """A bar where somebody watches: in a terminal or a live notebook, not while a book is executed."""
    watched = sys.stderr.isatty() or "JPY_SESSION_NAME" in os.environ or "COLAB_RELEASE_TAG" in os.environ
    return tqdm(total=steps, desc="training", leave=False, disable=not (progress and watched))


def _first_order(
    layer: LinearSelfAttention, objective: Objective, name: str, steps: int, rate: float, history: _History
) -> None:
    kind = torch.optim.Adam if name == "adam" else torch.optim.SGD
    optimizer = kind(layer.parameters(), lr=rate)
    for step in range(steps):
        if name == "adam":
            optimizer.param_groups[0]["lr"] = rate * (1 + math.cos(math.pi * step / steps)) / 2
        optimizer.zero_grad()
        loss, shown, excess = objective(layer)
        history.record(layer, shown, excess)
        loss.sum().backward()  # the runs of a stack do not meet: the gradient of the sum is each run's own
        optimizer.step()
    with torch.no_grad():
        _, shown, excess = objective(layer)
    history.record(layer, shown, excess)
