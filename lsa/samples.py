"""Training on fresh prompts, for models whose exact loss is not known: deep linear attention and softmax."""

from collections.abc import Iterator
from typing import Protocol

import torch
from torch import Tensor, nn

from . import checks
from .data import Task
from .minimise import first_order

__all__ = ["Sampled", "fit_samples"]


class Sampled(Protocol):
    """What can be trained: parameters, and squared errors (batch,) on fresh prompts."""

    def parameters(self) -> Iterator[nn.Parameter]: ...

    def sampled_losses(self, task: Task, batch: int, generator: torch.Generator | None) -> Tensor: ...


def fit_samples(
    model: Sampled,
    task: Task,
    *,
    steps: int = 1000,
    learning_rate: float = 0.02,
    batch: int = 1024,
    clip: float | None = None,
    generator: torch.Generator | int | None = None,
) -> Tensor:
    """Train a `LinearTransformer` or a `SoftmaxAttention` in place; returns the sampled losses (steps,).

    Adam; the learning rate falls to zero along a cosine. `clip` bounds the norm of the gradient, which a deep
    linear model needs: its loss is a polynomial of high degree, and rare prompts have huge gradients.
    """
    if not callable(getattr(model, "sampled_losses", None)):
        checks.fail("model", model, "a lsa.LinearTransformer or a lsa.SoftmaxAttention", TypeError)
    steps, batch = checks.integer("steps", steps, 1), checks.integer("batch", batch, 1)
    rate, generator = checks.number("learning_rate", learning_rate, above=0), checks.generator(generator)
    clip = None if clip is None else checks.number("clip", clip, above=0)
    losses: list[Tensor] = []

    def objective() -> Tensor:
        loss = model.sampled_losses(task, batch, generator).mean()
        losses.append(loss.detach())
        return loss

    first_order(objective, model.parameters(), "adam", steps, rate, clip)
    return torch.stack(losses)
