"""Live figures: computed in the browser, on the published page and in JupyterLab, with a kernel or without.

Each function shows the figure of its name, js/src/figures/<name>.js; `make js` bundles them into figures.js.
"""

import math

from ... import checks
from ...softmax import score_moments
from .playground import Playground
from .widget import Live

__all__ = [
    "Live",
    "Playground",
    "ellipses",
    "flip",
    "flow",
    "ladder",
    "lengths",
    "losses",
    "projection",
    "prompt",
    "reynolds",
    "target",
    "temperature",
    "training",
    "traps",
    "units",
]


def prompt(noise_variance: float = 0.1, d: int = 1, eta: float = 0.04) -> Live:
    """A prompt to drag, and a layer trained for n = 8: its line, that of one gradient step and of ridge."""
    alt = "A prompt to drag, and three lines: the trained layer's, one gradient step's, and ridge's."
    return Live("prompt", alt=alt, d=d, noise_variance=noise_variance, eta=eta)


def training(
    show: str = "weights", d: int = 5, n: int = 10, noise_variance: float = 0.25, seed: int = 1
) -> Live:
    """A layer in training: its "weights" and the diagonal of M, or its "predictions" and its loss."""
    checks.choice("show", show, ("weights", "predictions"))
    alt = f"The {show} of a layer in training, a guess where it will end, and a slider through its steps."
    return Live("training", alt=alt, show=show, d=d, n=n, noise_variance=noise_variance, seed=seed)


def projection(d: int = 5, n: int = 10, noise_variance: float = 0.25) -> Live:
    """Why one step is optimal, the foot of the perpendicular from the truth; and the hill before a trap."""
    alt = "A plane of what layers can say, the truth above it, its foot, one step, and a layer to drag."
    return Live("projection", alt=alt, d=d, n=n, noise_variance=noise_variance)


def ellipses(condition: float = 8.0, degrees: int = 30, n: int = 10, noise_variance: float = 0.25) -> Live:
    """Data and preconditioner as ellipses, and the step they make, for any covariance in the plane."""
    alt = "Ellipses of the data and of the layer's preconditioner, and a plain and a preconditioned step."
    return Live("ellipses", alt=alt, condition=condition, degrees=degrees, n=n, noise_variance=noise_variance)


def units() -> Live:
    """A form: a set-up in anyone's units, and the best step and the best loss of one layer in the same."""
    return Live("units", alt="A form for inputs, sizes and noise, and the best step and loss in its units.")


def flip() -> Live:
    """Turn a prompt and flip it: the means of r G over its images, the two symmetries of the proof."""
    return Live("flip", alt="A prompt that turns, and the means of r times the entries of G over its images.")


def target(family: str = "relu", n: int = 12, noise_variance: float = 0.25, eta: float | None = None) -> Live:
    """A nonlinear target in the plane to turn, and the line one step finds; its step is η* unless given."""
    alt = "A function of the plane to turn, seen from above and from the side, and the lines that fit it."
    hold = {"hold": True} if eta is None else {"hold": False, "eta": eta}
    return Live("target", alt=alt, family=family, n=n, noise_variance=noise_variance, **hold)


def ladder(n: int = 10, d: int = 5, noise_variance: float = 0.25, k: int = 3) -> Live:
    """What the best k steps of gradient descent recover, next to ridge, and the ladder of their losses."""
    alt = "The best k steps of gradient descent next to ridge, and their losses against k."
    return Live("ladder", alt=alt, n=n, d=d, noise_variance=noise_variance, k=k)


def temperature(
    lengths: tuple[int, ...] = (2, 3, 5, 10, 20, 50, 100, 200), d: int = 2, noise_variance: float = 0.25
) -> Live:
    """The exact loss of softmax attention against its inverse temperature, for prompts of these lengths.

    Python tabulates the moments of the scores; the browser integrates them over |x_q|, for any d, σ² and β.
    """

    def row(t: float, n: int) -> list[float]:
        return [float(f"{m:.8g}") for pair in (False, True) for m in score_moments(t, n, pair=pair)]

    rows = [[row(math.exp(k / 10), n) for k in range(-50, 31)] for n in lengths]
    alt = "The loss of one softmax head and of a pair of heads against the inverse temperature."
    table = {"lengths": list(lengths), "from": -50, "rows": rows}
    return Live("temperature", alt=alt, table=table, d=d, noise_variance=noise_variance)


def flow(d: int = 3, n: int = 40, noise_variance: float = 0.3, size: float = 0.1) -> Live:
    """Gradient flow over the landscape of one head: starts in the colour of the place where they end."""
    alt = "The loss of one head over the angle of its read-out, and starts that flow to it or to a trap."
    return Live("flow", alt=alt, d=d, n=n, noise_variance=noise_variance, size=size)


def reynolds(model: str = "linear", d: int = 3, group: str = "orthogonal") -> Live:
    """A random tensor of weights, averaged over a group: a matrix that collapses to a few colours."""
    alt = "A matrix of random weights; averaging it over a symmetry group leaves a few numbers only."
    return Live("reynolds", alt=alt, model=model, d=d, group=group)


def lengths(n: int = 10, d: int = 5, noise_variance: float = 0.25) -> Live:
    """A layer trained on n examples, shown more of them, fewer, or the same ones twice."""
    alt = "Loss against the number of examples for layers that sum, average, or average with null keys."
    return Live("lengths", alt=alt, n=n, d=d, noise_variance=noise_variance, seen=n, copies=1)


def losses(loss: str = "pinball", d: int = 5, n: int = 10, noise_variance: float = 0.25) -> Live:
    """What a step loses under a loss of choice: "squared", "absolute", "pinball", "Huber", "fourth"."""
    alt = "A loss of the error, and its mean for every step, with the best step marked."
    return Live("losses", alt=alt, loss=loss, level=0.8, delta=1.0, d=d, n=n, noise_variance=noise_variance)


def traps(d: int = 2, n: int = 6, noise_variance: float = 0.3, heads: int = 1) -> Live:
    """The landscape of a number of heads as one curve; a ball rolls down it, real layers train beside it."""
    alt = "The loss against the angle between a layer's values and the label; a ball and layers go down it."
    return Live("traps", alt=alt, d=d, n=n, noise_variance=noise_variance, heads=heads, angle=74.0, seed=1)
