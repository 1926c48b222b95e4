"""`Playground`: the layer trains in the browser, on the exact loss; task and layer are at hand in Python."""

import math
from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from ... import checks
from ...covariates import Gaussian
from ...data import Task, nonlinear
from ...model import LinearSelfAttention
from ...ridge_functions import AbsoluteValue, Cubic, Hermite3, ReLUNetwork, Sign
from ...targets import Cosine, Linear, Target
from ...theory import optimum
from .widget import Live

FAMILIES: dict[str, Target] = {
    "relu": ReLUNetwork(width=3),
    "cosine": Cosine(),
    "sign": Sign(),
    "cubic": Cubic(),
    "hermite3": Hermite3(),
    "absolute": AbsoluteValue(),
}


class Playground(Live):
    """Sliders for the task, the layer and its training, and a button that trains.

        playground = lsa.Playground(d=3, n=40, noise_variance=0.25)
        playground              # shows it
        playground.task         # what the sliders say, an lsa.Task
        playground.layer        # what the browser has come to, an lsa.LinearSelfAttention
        playground.n = 20       # moves a slider

    family: the target, "linear", or "relu", "cosine", "sign", "cubic", "hermite3", "absolute", with Σ = I.
    condition: of Σ, whose spectrum is geometric.
    rotation: Σ is turned by so many degrees in every plane (i, i+1).
    prior: Λ is "matched" (Σ⁻¹), "identity", or "custom": diagonal, of condition `prior_condition`.
    mean: |μ|, with equal entries. heads, residual, scale: as in `lsa.LinearSelfAttention`.
    optimizer: "adam", "gd" or "lbfgs", with learning rate `rate`; seed: of the weights at the start.
    """

    def __init__(
        self,
        d: int = 5,
        n: int = 10,
        noise_variance: float = 0.3,
        *,
        family: str = "linear",
        condition: float = 1.0,
        rotation: float = 0.0,
        prior: str = "matched",
        prior_condition: float = 10.0,
        mean: float = 0.0,
        heads: int = 1,
        residual: bool = False,
        scale: float = 0.1,
        optimizer: str = "adam",
        rate: float = 0.01,
        seed: int = 1,
        weights: Sequence[float] = (),
    ):
        values = {
            "d": checks.integer("d", d, 1),
            "n": checks.integer("n", n, 1),
            "noise_variance": checks.number("noise_variance", noise_variance, least=0),
            "family": checks.choice("family", family, ("linear", *FAMILIES)),
            "condition": checks.number("condition", condition, least=1),
            "rotation": checks.number("rotation", rotation),
            "prior": checks.choice("prior", prior, ("matched", "identity", "custom")),
            "prior_condition": checks.number("prior_condition", prior_condition, least=1),
            "mean": checks.number("mean", mean, least=0),
            "heads": checks.integer("heads", heads, 1),
            "residual": checks.instance("residual", residual, bool, "True or False"),
            "scale": checks.number("scale", scale, above=0),
            "optimizer": checks.choice("optimizer", optimizer, ("adam", "gd", "lbfgs")),
            "rate": checks.number("rate", rate, above=0),
            "seed": checks.integer("seed", seed, 0),
        }
        values |= {"weights": list(weights), "step": 0, "preset": ""}
        alt = "A task, a layer and its training, on sliders: loss, predictions, weights, a right triangle."
        super().__init__("playground", alt=alt, **values)

    def __repr__(self) -> str:
        return "Playground()"

    @property
    def task(self) -> Task:
        """The task that the sliders describe."""
        if self.family != "linear":
            return nonlinear(FAMILIES[self.family], self.d, self.n, self.noise_variance)
        sigma = _covariance(self.d, self.condition, self.rotation)
        if self.prior == "matched":
            prior = torch.linalg.inv(sigma)
        else:
            prior = _covariance(self.d, self.prior_condition if self.prior == "custom" else 1.0)
        mean = torch.full((self.d,), self.mean / math.sqrt(self.d), dtype=torch.float64)
        return Task(Gaussian(sigma), Linear((prior + prior.T) / 2, mean), self.n, self.noise_variance)

    @property
    def best(self) -> float:
        """L*, the loss of the best step, which starts at the prior mean."""
        task = self.task
        target = task.target.centred if isinstance(task.target, Linear) else task.target
        return optimum(Task(task.covariates, target, task.n, task.noise_variance)).loss

    @property
    def layer(self) -> LinearSelfAttention:
        """The layer as the browser has it while it pauses; the one it starts from if it has not begun."""
        d, size = self.d, self.d + 1
        block = size * (3 * d + 2)
        given = self.weights
        if len(given) != self.heads * block + size:
            unit, draw = 1 / math.sqrt(size), normals(self.seed)
            given = [next(draw) * unit * self.scale for _ in range(self.heads * block)]
            given += [next(draw) * unit for _ in range(size)]
        given = torch.tensor(given, dtype=torch.float64)
        layer = LinearSelfAttention(d, self.heads, residual=self.residual, scale=0.0)
        with torch.no_grad():
            for i in range(self.heads):
                parts = given[i * block : (i + 1) * block].split([size * size, size * d, size * size])
                layer.key[i], layer.query[i, :, :d] = parts[0].view(size, size), parts[1].view(size, d)
                layer.value[i] = parts[2].view(size, size)
            layer.readout.copy_(given[-size:])
        return layer


def _covariance(d: int, condition: float, degrees: float = 0.0) -> Tensor:
    """A geometric spectrum, turned by the same angle in every plane (i, i+1)."""
    turn, angle = torch.eye(d, dtype=torch.float64), math.radians(degrees)
    for i in range(d - 1):
        plane = torch.eye(d, dtype=torch.float64)
        plane[i, i] = plane[i + 1, i + 1] = math.cos(angle)
        plane[i, i + 1], plane[i + 1, i] = -math.sin(angle), math.sin(angle)
        turn = turn @ plane
    at = torch.arange(d, dtype=torch.float64) / max(d - 1, 1)
    matrix = turn * condition ** ((0.5 - at) * (d > 1)) @ turn.T
    return (matrix + matrix.T) / 2


def normals(seed: int) -> Iterator[float]:
    """The normal numbers of linalg.js (mulberry32, Box and Muller): layers start as in the browser."""
    state, whole = seed & 0xFFFFFFFF, 0xFFFFFFFF

    def uniform() -> float:
        nonlocal state
        state = (state + 0x6D2B79F5) & whole
        t = (state ^ state >> 15) * (state | 1) & whole
        t ^= (t + ((t ^ t >> 7) * (t | 61) & whole)) & whole
        return (t ^ t >> 14) / 2**32

    while True:
        radius, phase = math.sqrt(-2 * math.log(1 - uniform())), 2 * math.pi * uniform()
        yield radius * math.cos(phase)
        yield radius * math.sin(phase)
