"""Optimisers: first-order for any loss of any model; second-order for the exact loss, to its last digits.

The second-order ones yield the loss after every step, and stop when five steps in a row bring no gain above
`unit`, what rounding leaves of the loss.
"""

import copy
import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
from torch import Tensor, nn

from .data import Task
from .model import LinearSelfAttention
from .population import population_loss, white_moments, white_weights


def first_order(
    objective: Callable[[], Tensor],
    parameters: Iterable[nn.Parameter],
    optimizer: str,
    steps: int,
    rate: float,
    clip: float | None = None,
) -> None:
    """Adam, with a learning rate that falls to zero along a cosine ("adam"), or gradient descent ("gd").

    `objective()` is the loss at the present parameters. It may be (runs,), for a stack of layers: the runs
    do not meet, so that the gradient of the sum is each run's own. `clip` bounds the norm of the gradient.
    """
    parameters = list(parameters)
    kind = torch.optim.Adam if optimizer == "adam" else torch.optim.SGD
    descent = kind(parameters, lr=rate)
    for step in range(steps):
        if optimizer == "adam":
            descent.param_groups[0]["lr"] = rate * (1 + math.cos(math.pi * step / steps)) / 2
        descent.zero_grad()
        objective().sum().backward()
        if clip is not None:
            nn.utils.clip_grad_norm_(parameters, clip)
        descent.step()


def _until_idle(
    step: Callable[[], object], layer: LinearSelfAttention, task: Task, steps: int, unit: float
) -> Iterator[Tensor]:
    lowest, idle = math.inf, 0
    for _ in range(steps):
        step()
        loss = population_loss(layer, task).detach()
        yield loss
        idle, lowest = (0, loss.item()) if loss.item() < lowest - unit else (idle + 1, lowest)
        if idle == 5:
            return


def lbfgs(layer: LinearSelfAttention, task: Task, steps: int, rate: float, unit: float) -> Iterator[Tensor]:
    """L-BFGS on the weights themselves."""
    stop = {"tolerance_grad": 0, "tolerance_change": 0}  # never: `_until_idle` does
    search: dict[str, Any] = {"line_search_fn": "strong_wolfe", "history_size": 50, "max_eval": 25, **stop}
    optimizer = torch.optim.LBFGS(layer.parameters(), lr=rate, max_iter=1, **search)

    def closure():
        # torch drops steps whose curvature y·s is below 1e-10, and near the minimum every step is: so it gets
        # the loss in a small unit
        optimizer.zero_grad()
        loss = population_loss(layer, task) / unit
        loss.backward()
        return loss

    return _until_idle(lambda: optimizer.step(closure), layer, task, steps, unit)


def alternating_least_squares(
    layer: LinearSelfAttention, task: Task, steps: int, unit: float
) -> Iterator[Tensor]:
    """For fixed a the loss is quadratic in M, for fixed M in a: each moves to its minimum, in turn.

    The normal equations are those of `population_loss`, for all heads at once. They are singular where heads
    could do each other's work: the pseudo-inverse gives the *change* of least norm, which is zero along the
    directions that do not count, so that no sweep raises the loss. Query and value take the change as far as
    key and read-out let them.
    """
    white, size, heads = white_moments(task), layer.d + 1, layer.heads
    tokens, R = task.white_tokens
    eye = torch.eye(size, dtype=torch.float64)

    def change(blocks: Tensor, right: Tensor, now: Tensor, reach: Tensor) -> Tensor:
        """Weights `now` (H, d+1, k) are reach (H, d+1, d+1) θ: the Δθ that solves blocks · now = right."""
        back = torch.linalg.pinv(reach)  # (H, d+1, d+1)
        range_ = torch.block_diag(*(reach @ back))  # the projection on what θ can reach
        # (H, H, d+1, d+1), one block for each pair of heads → one matrix for all heads at once
        matrix = blocks.transpose(1, 2).reshape(heads * size, heads * size)
        matrix = range_ @ (matrix + matrix.T) @ range_ / 2
        residual = range_ @ right.flatten(0, 1) - matrix @ now.flatten(0, 1)
        step = torch.linalg.pinv(matrix, hermitian=True, rtol=1e-12) @ residual
        return back @ step.unflatten(0, (heads, size))

    @torch.no_grad()
    def sweep():
        # M moves, for given a …
        a, M, h = white_weights(layer, task)  # (H, d+1), (H, d+1, d), (d,)
        blocks = white.gram_square(a[:, None, :, None], a[:, :, None], eye)
        move = change(blocks, task.n * white.cross(a, h), M, tokens.T @ layer.key.mT)
        layer.query[..., : layer.d] += move @ torch.linalg.pinv(R)
        # … then a, for the new M
        a, M, h = white_weights(layer, task)
        blocks, right = white.gram_square(M[:, None], M, eye), task.n * white.cross_transposed(M, h)
        move = change(blocks, right[..., None], a[..., None], tokens.T.expand(heads, size, size))
        layer.value.add_(torch.linalg.pinv(layer.readout[None]) * move.mT)  # moves a = W_Vᵀh by `move`

    return _until_idle(sweep, layer, task, steps, unit)


def perturb_from_saddle(layer: LinearSelfAttention, task: Task, steps: int, unit: float) -> Iterator[Tensor]:
    """Alternating least squares from weights perturbed by 1 %, if that ends lower, as at a saddle."""

    @torch.no_grad()
    def perturb(moved: LinearSelfAttention) -> LinearSelfAttention:
        generator = torch.Generator().manual_seed(0)
        for weight in moved.parameters():
            noise = torch.randn(weight.shape, generator=generator, dtype=torch.float64)
            weight.add_(0.01 * weight.square().mean().sqrt() * noise)
        return moved

    here, end = population_loss(layer, task).item(), math.inf
    for loss in alternating_least_squares(perturb(copy.deepcopy(layer)), task, steps, unit):
        end = loss.item()
    if end < (1 - 1e-9) * here:
        yield from alternating_least_squares(perturb(layer), task, steps, unit)
