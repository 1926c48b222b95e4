"""Training the layer: on the exact loss, which has no sampling noise at all, or on fresh prompts."""

from collections.abc import Callable

import torch
from torch import Tensor

from . import checks
from .baselines import gradient_descent
from .data import Task
from .history import History, Run, label_power, progress_bar
from .minimise import alternating_least_squares, first_order, lbfgs, perturb_from_saddle
from .model import LinearSelfAttention
from .population import check_layer, population_loss, white_moments

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
        at a saddle it perturbs the weights once), "als" (alternating least squares: given a the loss is
        quadratic in M, given M in a), both for one layer at a time and stopping by themselves; "adam" (the
        default for samples and for stacks; the learning rate falls to zero along a cosine) or "gd" (plain
        gradient descent on the weights).
    batch: fresh prompts per step, for samples (2048); the runs of a stack share them.
    snapshots: keep a copy of the layer every so many steps, the start and the end included; 0 keeps none.

    The default `learning_rate` is 1 for L-BFGS, 0.01 for Adam, and for gradient descent what suits the task.
    Ctrl-C ends the run and returns what there is, with the weights of the lowest loss so far. A run that
    diverges gets those weights back, too: alone it raises FloatingPointError, in a stack `ending` names it.
    """
    check_layer(layer, task)
    loss = checks.choice(
        "loss", loss or ("samples" if task.white_moments is None else "exact"), ("exact", "samples")
    )
    if loss == "exact":
        white_moments(task)  # an error where they are not known

    # how it is minimised; what would be ignored is an error
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

    # the run itself
    with progress_bar(steps, progress) as bar:
        history = History(layer, task, rate, every, bar)
        try:
            if optimizer in ("lbfgs", "als"):
                _second_order(optimizer, steps, rate, history)
            else:
                objective = _recorded(history, loss, batch, checks.generator(generator))
                first_order(objective, layer.parameters(), optimizer, steps, rate)
                with torch.no_grad():
                    objective()  # for the loss after the last step
        except KeyboardInterrupt:
            history.restore()
            return history.run("interrupted")
        return history.run()


def _rate(task: Task, optimizer: str) -> float:
    """The default learning rate; that of gradient descent is in the units of the task."""
    if optimizer != "gd":
        return {"lbfgs": 1.0, "als": 1.0, "adam": 0.01}[optimizer]
    spread = task.covariates.covariance.trace().item() / task.d
    return 0.15 / max(task.n * label_power(task) * spread, 1e-12)


def _recorded(
    history: History, loss: str, batch: int, generator: torch.Generator | None
) -> Callable[[], Tensor]:
    """The objective of a run; every value of it goes into the history."""

    def objective() -> Tensor:
        if history.diverged:  # these runs of a stack stay where their loss was lowest
            history.restore(torch.tensor(list(history.diverged)))
        if loss == "samples":
            value, recorded, excess = _sampled_loss(history, batch, generator)
            history.record(recorded, excess)
        else:
            value = population_loss(history.layer, history.task)
            history.record(value.detach())
        return value

    return objective


def _sampled_loss(
    history: History, batch: int, generator: torch.Generator | None
) -> tuple[Tensor, Tensor, Tensor | None]:
    """The loss on fresh prompts, and what to record: a loss and an excess; all (runs,) for a stack."""
    layer, task = history.layer, history.task
    if task.linear:
        factor, w = task.gram_factor(batch, generator)  # (batch, d+1, k), (batch, d)
        loss = task.query_loss(layer.weights_from_factor(factor), w).mean(-1)
    else:
        prompts = task.sample(batch, generator)
        loss = (layer(prompts) - prompts.y_query).square().mean(-1)
    with torch.no_grad():
        if task.white_moments is not None:
            return loss, population_loss(layer, task), None
        # paired with the best single step on the same prompts: the difference varies less than either loss
        reference = gradient_descent(prompts, history.best.preconditioner) - prompts.y_query
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
        for value in perturb_from_saddle(layer, task, steps, unit):
            history.record(value)
