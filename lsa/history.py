"""What a training run leaves behind: its losses, snapshots, and where it came to rest."""

import copy
import math
import os
import sys
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, field

import torch
from torch import Tensor

from .data import Task
from .landscape import traps
from .model import LinearSelfAttention
from .population import population_loss
from .theory import Optimum, optimum

__all__ = ["Run"]


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
    ending: str | list[str]  #: where it came to rest, in words; a list for a stack
    snapshots: list[tuple[int, LinearSelfAttention]] = field(default_factory=list)  #: (step, copy)


class History:
    """Collects losses and snapshots, and takes diverging runs back to their lowest loss."""

    def __init__(self, layer: LinearSelfAttention, task: Task, rate: float, every: int, bar):
        self.layer, self.task, self.rate, self.every, self.bar = layer, task, rate, every, bar
        self.best = optimum(task)
        # L* = 0 is possible: then the excess is measured in E y²
        self.unit = self.best.loss if self.best.loss > 1e-14 * label_power(task) else label_power(task) or 1.0
        self.losses: list[Tensor] = []
        self.excess: list[Tensor] = []
        self.snapshots: list[tuple[int, LinearSelfAttention]] = []
        self.lowest = torch.full(layer.readout.shape[:-1], math.inf, dtype=torch.float64)
        self.kept = [weight.detach().clone() for weight in layer.parameters()]
        self.diverged: dict[int, int] = {}  # run: step

    @torch.no_grad()
    def restore(self, runs: Tensor | slice = slice(None)) -> None:
        """Give the layer, or some runs of a stack, the weights of their lowest loss."""
        for weight, kept in zip(self.layer.parameters(), self.kept, strict=True):
            weight[runs] = kept[runs]

    def record(self, loss: Tensor, excess: Tensor | None = None) -> None:
        step = len(self.losses)
        start = self.losses[0] if step else loss
        # no run recovers from a million times its starting loss
        fine = loss <= 1e6 * (start + self.unit)  # also false for NaN
        if not fine.any():
            self.restore()
            raise FloatingPointError(
                f"training diverged: the loss is {loss.max().item():.3g} at step {step} with "
                f"learning_rate = {self.rate:g}; the weights of the lowest loss were kept; a smaller "
                f"learning_rate is expected to help"
            )
        for run in (~fine).nonzero().flatten().tolist():
            self.diverged.setdefault(run, step)
        better = loss < self.lowest  # (runs,), or a scalar for a single layer
        self.lowest = loss.where(better, self.lowest)
        for weight, kept in zip(self.layer.parameters(), self.kept, strict=True):
            kept[better] = weight.detach()[better]
        loss = loss.where(fine, self.lowest)
        self.losses.append(loss)
        self.excess.append((loss - self.best.loss if excess is None else excess) / self.unit)
        if self.every and step % self.every == 0:
            self.snapshots.append((step, copy.deepcopy(self.layer)))
        if step and self.bar is not None:
            self.bar.update()
            self.bar.set_postfix(excess=f"{self.excess[-1].max().item():.1e}", refresh=False)

    def run(self, end: str | None = None) -> Run:
        if self.bar is not None:  # a notebook shows a bar that stops early, here a success, as a failure
            self.bar.total = self.bar.n
        last = len(self.losses) - 1
        if self.every and last % self.every:
            self.snapshots.append((last, copy.deepcopy(self.layer)))
        excess = torch.stack(self.excess)
        found: str | list[str]
        if end is None:
            found = describe_end(self.layer, self.task, excess[-1])
        else:
            found = end if excess.ndim == 1 else [end] * excess.shape[1]
        if isinstance(found, list):
            for run, step in self.diverged.items():
                found[run] = (
                    f"diverged at step {step} with learning_rate = {self.rate:g}; its lowest loss kept"
                )
        return Run(self.best, torch.stack(self.losses), excess, found, self.snapshots)


def describe_end(layer: LinearSelfAttention, task: Task, excess: Tensor) -> str | list[str]:
    """Where a layer with this relative excess rests: at the optimum, at another stationary point, or nowhere.

    A stationary point is one where the gradient, times the size of the weights, is below 1e-6 of the loss. A
    stack of layers has an excess (runs,), and a list of endings.
    """
    if task.white_moments is None:
        slope = torch.full_like(excess, math.nan)
    else:
        weights = [weight for weight in layer.parameters() if weight.requires_grad]  # some may be frozen
        loss = population_loss(layer, task)
        slopes = torch.autograd.grad(loss.sum(), weights)
        slope, size = (
            torch.cat([part.reshape(*excess.shape, -1) for part in parts], -1).norm(dim=-1)
            for parts in (slopes, weights)
        )
        slope = slope * size / loss.detach()
    if excess.ndim == 0:
        return _in_words(task, layer.heads, excess.item(), slope.item())
    return [_in_words(task, layer.heads, *run) for run in zip(excess.tolist(), slope.tolist(), strict=True)]


def _in_words(task: Task, heads: int, excess: float, slope: float) -> str:
    if math.isnan(slope):
        return "not known: the loss is sampled"
    if abs(excess) <= 1e-9:
        return "at the optimum"
    if slope > 1e-6:
        return "stopped early"
    if excess < 0:
        return "at a stationary point below the best single step from zero"
    try:
        predicted = traps(task, heads)
    except ValueError:  # no rotation symmetry, no curve
        predicted = []
    for trap in predicted:
        if abs(trap.excess - excess) <= 1e-5 * excess:
            return f"at the local minimum that lsa.traps predicts, relative excess {trap.excess:.6f}"
    return "at a local minimum or saddle"


def label_power(task: Task) -> float:
    """E y², where it is known; else 1."""
    return float(task.moments.power) + task.noise_variance if task.moments else 1.0


def progress_bar(steps: int, progress: bool) -> AbstractContextManager:
    """A bar where somebody watches: in a terminal or a live notebook, not while a book is executed.

    It is tqdm's; where that is not installed, as where nobody watches, there is None.
    """
    watched = sys.stderr.isatty() or "JPY_SESSION_NAME" in os.environ or "COLAB_RELEASE_TAG" in os.environ
    if progress and watched:
        with suppress(ModuleNotFoundError):
            from tqdm.auto import tqdm

            return tqdm(total=steps, desc="training", leave=False)
    return nullcontext()
