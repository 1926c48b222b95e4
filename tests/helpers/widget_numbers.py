"""One number of every widget in the book, as `lsa` computes it.

For each page, in the order of its widgets: how the number is written in the text alternative of the picture,
and the same number from the values of the controls, which are given as they are shown.
"""

from collections.abc import Callable

import lsa

Shown = dict[str, str]


def tasks_with_a_trap(shown: Shown) -> float:
    lengths = [1, 2, 3, 5, 7, 10, 14, 20, 28, 40, 57, 80, 113, 160, 226, 320, 453]
    noise = float(shown["σ²"])
    return sum(len(lsa.traps(lsa.isotropic(d, n, noise))) for d in range(2, 11) for n in lengths)


def turned_by_a_right_angle(shown: Shown) -> float:
    k = float(shown["condition number"])
    return 2.25 + 20 / 23.25 * (k**2 + k**-2 - 2 * (k + 1 / k))


NUMBERS: dict[str, list[tuple[str, Callable[[Shown], float]]]] = {
    "setup": [
        (r"Linear attention predicts (\d+\.\d+)", lambda shown: 16 / 6),
        (
            r"has the loss (\d+\.\d+)",
            lambda shown: lsa.optimum(lsa.isotropic(5, int(shown["n"]), float(shown["σ²"]))).loss,
        ),
    ],
    "isotropic": [
        (r": (\d+) of 153", tasks_with_a_trap),
        (
            r"one step (\d+\.\d+)",
            lambda shown: lsa.optimum(lsa.isotropic(int(shown["d"]), 20, float(shown["σ²"]))).loss,
        ),
        (r"η\* = (\d+\.\d+)", lambda shown: 1 / (int(shown["n in training"]) + 5 + 1.25)),
    ],
    "preconditioning": [
        (r"layer (\d+\.\d+)", turned_by_a_right_angle),
    ],
}
