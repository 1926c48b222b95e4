"""One number of every widget in the book, as `lsa` computes it.

For each page, in the order of its widgets: how the number is written in the text alternative of the picture,
and the same number from the values of the controls, which are given as they are shown.
"""

from collections.abc import Callable
from functools import cache

import torch

import lsa

Shown = dict[str, str]

FAMILIES = {
    "linear": lsa.Linear(torch.eye(4)),
    "ReLU network": lsa.ReLUNetwork(width=3),
    "erf network": lsa.ErfNetwork(width=3),
    "sign": lsa.Sign(),
    "cubic": lsa.Cubic(),
    "cosine": lsa.Cosine(frequency=0.5),
    "Hermite cubic": lsa.Hermite3(),
    "absolute value": lsa.AbsoluteValue(),
}
# variance and fourth moment (in its units) of a coordinate
LAWS = {
    "Gaussian": (1, 3),
    "uniform on ±1": (1 / 3, 1.8),
    "uniform on ±½": (1 / 12, 1.8),
    "signs ±1": (1, 1),
}


@cache
def intro_losses() -> torch.Tensor:
    layer = lsa.LinearSelfAttention(d=5, generator=2)
    return lsa.fit(layer, lsa.isotropic(5, 20, 0.25), optimizer="adam", steps=120).losses


@cache
def isotropic_losses() -> torch.Tensor:
    layer = lsa.LinearSelfAttention(5, generator=0)
    options = {"optimizer": "adam", "steps": 400, "learning_rate": 0.02}
    return lsa.fit(layer, lsa.isotropic(5, 10, 0.25), **options).losses


def tasks_with_a_trap(shown: Shown) -> float:
    lengths = [1, 2, 3, 5, 7, 10, 14, 20, 28, 40, 57, 80, 113, 160, 226, 320, 453]
    noise = float(shown["σ²"])
    return sum(len(lsa.traps(lsa.isotropic(d, n, noise))) for d in range(2, 11) for n in lengths)


def family(shown: Shown) -> lsa.Task:
    return lsa.nonlinear(FAMILIES[shown["family"]], 4, int(shown["n"]), 0.25)


def price_of_the_linear_step(shown: Shown) -> float:
    task = family(shown)
    return 100 * (lsa.one_step_loss(1 / (task.n + 5.25), task) / lsa.optimum(task).loss - 1)


def longer_step(shown: Shown) -> float:
    task = lsa.isotropic(int(shown["d"]), 10, 0.25)
    best = lsa.optimum(task)
    return lsa.one_step_loss(2 * best.step, task) - best.loss


def cross_moment(shown: Shown) -> float:
    """The largest entry of the mean of r ⊗ G, r = w − η* Xᵀy, over the first prompts of the chapter."""
    task, g = lsa.isotropic(2, 6, 0.25), torch.Generator().manual_seed(8)
    w, x = task.target.draw_weights(10_000, g), task.covariates.sample(10_000, 6, generator=g)
    y = (x @ w[..., None])[..., 0] + 0.5 * torch.randn(10_000, 6, generator=g, dtype=torch.float64)
    prompts = lsa.Prompts(x, y, w, w[:, 0])
    few = int(shown["prompts"])
    r = w - lsa.optimum(task).step * prompts.gram[:, :2, 2]
    return torch.einsum("bl,bjk->ljk", r[:few], prompts.gram[:few]).abs().max().item() / few


def step_of_a_law(shown: Shown) -> float:
    variance, fourth = LAWS[shown["covariates"]]
    return 1 / (variance * (int(shown["n"]) + int(shown["d"]) - 2 + fourth))


def turned_by_a_right_angle(shown: Shown) -> float:
    k = float(shown["condition number"])
    return 2.25 + 20 / 23.25 * (k**2 + k**-2 - 2 * (k + 1 / k))


NUMBERS: dict[str, list[tuple[str, Callable[[Shown], float]]]] = {
    "intro": [(r"steps: (\d+\.\d+)", lambda shown: intro_losses()[int(shown["step"])].item())],
    "setup": [
        (r"Linear attention predicts (\d+\.\d+)", lambda shown: 16 / 6),
        (
            r"has the loss (\d+\.\d+)",
            lambda shown: lsa.optimum(lsa.isotropic(5, int(shown["n"]), float(shown["σ²"]))).loss,
        ),
    ],
    "isotropic": [
        (r"loss (\d+\.\d+)", lambda shown: isotropic_losses()[int(shown["training step"])].item()),
        (r": (\d+) of 153", tasks_with_a_trap),
        (
            r"one step (\d+\.\d+)",
            lambda shown: lsa.optimum(lsa.isotropic(int(shown["d"]), 20, float(shown["σ²"]))).loss,
        ),
        (r"η\* = (\d+\.\d+)", lambda shown: 1 / (int(shown["n in training"]) + 5 + 1.25)),
    ],
    "preconditioning": [
        (r"layer's loss is (\d+\.\d+)", turned_by_a_right_angle),
    ],
    "nonlinear": [
        (r"η\* = (\d+\.\d+)", lambda shown: lsa.optimum(family(shown)).step),
        (r"loses (\d+\.\d+)%", price_of_the_linear_step),
    ],
    "proof": [
        (r"L − L\* = (\d+\.\d+)", longer_step),
        (r"Largest entry: (\d+\.\d+)", cross_moment),
    ],
    "conventions": [(r"η\* = (\d+\.\d+)", step_of_a_law)],
}
