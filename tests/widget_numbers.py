"""One number of every widget in the book, as `lsa` computes it.

For each page, in the order of its widgets: how the number is written in the text alternative of the picture,
and the same number from the values of the controls, which are given as they are shown.
"""

from collections.abc import Callable

NUMBERS: dict[str, list[tuple[str, Callable[[dict[str, str]], float]]]] = {
    # "isotropic": [(r"η\* = ([\d.]+)", lambda shown: 1 / (int(shown["n"]) + int(shown["d"]) + 1.25))],
}
