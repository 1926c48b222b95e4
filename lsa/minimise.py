"""Two ways down the exact loss, both to its last digits; each yields the loss after every step.

They stop when five steps in a row bring no gain above `unit`, what rounding leaves of the loss.
"""

import math
from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from .data import Task
from .model import LinearSelfAttention
from .population import WhiteMoments, population_loss, white_tokens, white_weights


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
    look = {"line_search_fn": "strong_wolfe", "history_size": 50, "tolerance_grad": 0, "tolerance_change": 0}
    optimizer = torch.optim.LBFGS(layer.parameters(), lr=rate, max_iter=1, max_eval=25, **look)

    def closure():
        # torch forgets a step whose curvature y·s is under 1e-10, which near the minimum is every one: the
        # unit in which it is shown the loss has to be small.
        optimizer.zero_grad()
        loss = population_loss(layer, task) / unit
        loss.backward()
        return loss

    return _until_idle(lambda: optimizer.step(closure), layer, task, steps, unit)


def alternating_least_squares(
    layer: LinearSelfAttention, task: Task, steps: int, unit: float
) -> Iterator[Tensor]:
    """Given a the loss is quadratic in M, given M in a: each is solved for exactly, in turn.

    The normal equations are those of `population_loss`, for all heads at once; singular ones (heads that
    could do each other's work) take the solution of least norm. Query and value move as little as they can.
    """
    white, size, heads = WhiteMoments(task), layer.d + 1, layer.heads
    tokens, R = white_tokens(task)
    eye = torch.eye(size, dtype=torch.float64)

    def solve(blocks: Tensor, right: Tensor) -> Tensor:
        """Blocks (H, H, d+1, d+1), right-hand sides (H, d+1, k)."""
        matrix = blocks.transpose(1, 2).reshape(heads * size, heads * size)
        solution = torch.linalg.lstsq((matrix + matrix.T) / 2, right.flatten(0, 1)).solution
        return solution.unflatten(0, (heads, size))

    @torch.no_grad()
    def sweep():
        a, M, h = white_weights(layer, task)
        best = solve(white.gram_square(a[:, None, :, None], a[:, :, None], eye), task.n * white.cross(a, h))
        change = torch.linalg.pinv(tokens.T) @ (best - M) @ torch.linalg.pinv(R)
        layer.query[..., : layer.d] += torch.linalg.pinv(layer.key.mT) @ change
        a, M, h = white_weights(layer, task)
        right = task.n * white.cross_transposed(M, h)[..., None]
        best = solve(white.gram_square(M[:, None], M, eye), right)[..., 0]
        change = (best - a) @ torch.linalg.pinv(tokens)
        layer.value += layer.readout[:, None] * change[:, None, :] / layer.readout.square().sum()

    return _until_idle(sweep, layer, task, steps, unit)
