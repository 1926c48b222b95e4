"""The live figures of the chapters beyond the paper."""

from .widget import Live


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
