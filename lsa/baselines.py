"""What the layer is measured against: gradient descent on the prompt, and the Bayes-optimal prediction."""

import torch
from torch import Tensor

from . import checks
from .data import Task
from .prompts import Prompts, check_prompts
from .targets import Linear

__all__ = ["gradient_descent", "gradient_descent_weights", "ridge", "ridge_weights"]


def as_preconditioner(P: Tensor | float, d: int) -> Tensor:
    """A matrix (d, d): P itself, or the number P times the identity."""
    if getattr(P, "ndim", 0) == 0 and not isinstance(P, list | tuple):
        number = checks.number("P", P)
        eye = torch.eye(d, dtype=torch.float64)
        return P.double() * eye if isinstance(P, Tensor) else number * eye  # a float would lose P's gradient
    return checks.square("P", P, d)


def gradient_descent_weights(
    prompts: Prompts, P: Tensor | float, steps: int = 1, start: Tensor | None = None
) -> Tensor:
    """w_steps (B, d) of w ← w + P Xᵀ(y − Xw): gradient descent on ½ Σ_i (w·x_i − y_i)² with step P."""
    d = check_prompts(prompts).x.shape[-1]
    P, steps = as_preconditioner(P, d), checks.integer("steps", steps, 0)
    w = torch.zeros(d, dtype=torch.float64) if start is None else checks.vector("start", start, d)
    w = w.expand(len(prompts.x), d)
    for _ in range(steps):
        residual = prompts.y - (prompts.x @ w[:, :, None])[..., 0]  # (B, n)
        w = w + (residual[:, None, :] @ prompts.x)[:, 0] @ P.T  # the rows of (y − Xw)ᵀX Pᵀ, (B, d)
    return w


def gradient_descent(
    prompts: Prompts, P: Tensor | float, steps: int = 1, start: Tensor | None = None
) -> Tensor:
    """Predictions (B,) after `steps` steps from `start` (zero unless given); P a number η or a matrix.

    One step from zero is ŷ = x_qᵀ P Xᵀy, the predictor of all three theorems.
    """
    return (gradient_descent_weights(prompts, P, steps, start) * prompts.x_query).sum(-1)


def ridge_weights(prompts: Prompts, task: Task) -> Tensor:
    """The posterior mean of w, (B, d): μ + R (AᵀA + σ²I)⁻¹ Aᵀ(y − Xμ), A = XR, Λ = R Rᵀ.

    Written in the prior's root so that Λ may be singular. Without noise it is the limit σ → 0: the
    solution of least norm in the prior's own metric, also for n < d.
    """
    target = checks.instance("task", task, Task, "a lsa.Task").target
    if not isinstance(target, Linear):
        checks.fail(
            "task", target, "a linear target: no closed form of the Bayes predictor is known", TypeError
        )
    prompts = Prompts.of(*check_prompts(prompts, task.d))  # every number finite
    root, mean = target.prior_root, target.prior_mean
    # w = μ + R c with c ~ N(0, I): ridge regression for c, of y − Xμ on A = XR
    A, residual = prompts.x @ root, (prompts.y - prompts.x @ mean)[..., None]  # (B, n, d), (B, n, 1)
    if task.noise_variance > 0:
        precision = A.mT @ A + task.noise_variance * torch.eye(task.d, dtype=torch.float64)
        c = torch.cholesky_solve(A.mT @ residual, torch.linalg.cholesky(precision))
    else:
        c = torch.linalg.pinv(A) @ residual
    return mean + c[..., 0] @ root


def ridge(prompts: Prompts, task: Task) -> Tensor:
    """The Bayes-optimal predictions E[y_q | prompt] (B,) for linear targets, any Σ, Λ and μ."""
    return (ridge_weights(prompts, task) * prompts.x_query).sum(-1)
