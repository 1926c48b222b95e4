"""Training on fresh prompts, for models whose exact loss is not known: deep linear attention and softmax."""

import math
from typing import Protocol

import torch
from torch import Tensor

from . import checks
from .data import Task

__all__ = ["Sampled", "fit_samples"]


class Sampled(Protocol):
    """What can be trained: parameters, and squared errors (batch,) on fresh prompts."""

    def parameters(self): ...

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
    bound = math.inf if clip is None else checks.number("clip", clip, above=0)
    optimizer, losses = torch.optim.Adam(model.parameters()), []
    for step in range(steps):
        optimizer.param_groups[0]["lr"] = rate * (1 + math.cos(math.pi * step / steps)) / 2
        optimizer.zero_grad()
        loss = model.sampled_losses(task, batch, generator).mean()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), bound)
        optimizer.step()
        losses.append(loss.detach())
    return torch.stack(losses)
