"""What several tests share: tasks, targets, random matrices and z-scores."""

import math

import torch
from torch import Tensor

import lsa

TARGETS = [
    lsa.ReLUNetwork(width=3),
    lsa.ReLUNetwork(width=2, slope=0.3, weight_scale=0.7, output_scale=1.5),
    lsa.ErfNetwork(width=2, radius=1.3),
    lsa.TanhNetwork(width=2, radius=2.0),
    lsa.Sign(),
    lsa.Cubic(),
    lsa.Hermite3(),
    lsa.AbsoluteValue(),
    lsa.Quadratic(),
    lsa.Cosine(frequency=0.5),
]


def z_score(samples: Tensor, expected: float) -> float:
    """How many standard errors the mean of independent samples is from what is expected."""
    error = samples.std().item() / math.sqrt(len(samples))
    return (samples.mean().item() - expected) / error


def normal(*shape: int, seed: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def covariance(d: int, seed: int, rank: int | None = None) -> Tensor:
    root = normal(d, rank or d, seed=seed)
    return root @ root.T / d


def conditioned(d: int, condition: float, seed: int) -> Tensor:
    """A rotated covariance with eigenvalues from 1 to `condition`."""
    rotation, _ = torch.linalg.qr(normal(d, d, seed=seed))
    values = torch.logspace(0, math.log10(condition), d, dtype=torch.float64)
    return rotation * values @ rotation.T


def linear_task(d: int, n: int, seed: int, *, mean: bool = False, noise: float = 0.3) -> lsa.Task:
    """A task with general Σ and Λ, and a prior mean if asked for."""
    mu = normal(d, seed=seed + 2) if mean else None
    prior = lsa.Linear(covariance(d, seed + 1), mu)
    return lsa.Task(lsa.Gaussian(covariance(d, seed)), prior, n, noise)


class _Loss(torch.nn.Module):
    def __init__(self, layer: lsa.LinearSelfAttention, task: lsa.Task):
        super().__init__()
        self.layer, self.task = layer, task

    def forward(self) -> torch.Tensor:
        return lsa.population_loss(self.layer, self.task)


def loss_of_weights(layer: lsa.LinearSelfAttention, task: lsa.Task):
    """The exact loss as a function of the layer's weights, and these weights: what gradcheck takes."""
    names, weights = zip(*layer.named_parameters(), strict=True)

    def loss(*values):
        state = {f"layer.{name}": value for name, value in zip(names, values, strict=True)}
        return torch.func.functional_call(_Loss(layer, task), state, ())

    return loss, tuple(weight.detach().clone().requires_grad_() for weight in weights)


def near_twins(gap: float) -> Tensor:
    """a (2, 4) of two heads that differ by `gap`: the normal equations of M are singular up to gap²."""
    return normal(1, 4, seed=0) + gap * torch.stack([torch.zeros(4), normal(4, seed=1)])
