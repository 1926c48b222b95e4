"""How close is a layer to a one-step predictor? The metrics that the literature quotes (2212.07677)."""

import math
from typing import NamedTuple

import torch
from torch import Tensor

from . import checks
from .baselines import as_preconditioner, gradient_descent_weights
from .data import Task
from .model import LinearSelfAttention


class Comparison(NamedTuple):
    """Means over fresh prompts; u = ∂ŷ/∂x_q is the sensitivity of a prediction ŷ = u·x_q."""

    prediction_distance: float  #: E |ŷ − ŷ_P|
    cosine: float  #: E cos(u, u_P)
    sensitivity_distance: float  #: E |u − u_P|
    squared_distance: float  #: E (ŷ − ŷ_P)²; by Pythagoras the excess loss, where ŷ_P is the optimum
    excess: float  #: E (ŷ − y_q)² − E (ŷ_P − y_q)², in pairs on the same prompts
    standard_error: float  #: of `excess`


@torch.no_grad()
def compare(
    layer: LinearSelfAttention,
    P: Tensor | float,
    task: Task,
    batch: int = 8192,
    generator: torch.Generator | int | None = None,
) -> Comparison:
    """Compare a layer with x_qᵀ P Xᵀy, P a number or a matrix, on `batch` fresh prompts of the task."""
    checks.instance("layer", layer, LinearSelfAttention, "a lsa.LinearSelfAttention")
    checks.instance("task", task, Task, "a lsa.Task")
    if layer.d != task.d or layer.readout.ndim > 1:
        checks.fail("layer", layer, f"a single layer (not a stack) for d = {task.d}")
    prompts = task.sample(checks.integer("batch", batch, 2), generator)
    P = as_preconditioner(P, task.d)
    u, reference = layer.in_context_weights(prompts), gradient_descent_weights(prompts, P)
    gap = ((u - reference) * prompts.x_query).sum(-1)  # ŷ − ŷ_P
    error = (reference * prompts.x_query).sum(-1) - prompts.y_query
    difference = gap * (gap + 2 * error)  # (ŷ − y_q)² − (ŷ_P − y_q)², without cancellation
    return Comparison(
        prediction_distance=gap.abs().mean().item(),
        cosine=torch.cosine_similarity(u, reference, dim=-1).mean().item(),
        sensitivity_distance=(u - reference).norm(dim=-1).mean().item(),
        squared_distance=gap.square().mean().item(),
        excess=difference.mean().item(),
        standard_error=difference.std().item() / math.sqrt(batch),
    )
