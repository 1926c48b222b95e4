"""Refuse, where chapters are run, a number whose last printed digit the noise of floats could turn.

A value at the edge of rounding, 0.125 for ".2f", prints another digit where the last bit differs.
Seen are f-strings of the cells and `figures.table`; not str() of tensors, nor what `lsa` itself writes.
"""

from __future__ import annotations

import ast
import re
from decimal import Decimal
from typing import Any

EDGE = Decimal("1e-6")  # in units of the last digit that is printed
NUMBER = re.compile(r"\s*([-+−]?[\d,_]+(?:\.\d+)?(?:[eE][-+]?\d+)?)(%?)\s*")


def formatted(value: Any, spec: str) -> str:
    text = format(value, spec)
    number = NUMBER.fullmatch(text)
    if number and hasattr(value, "__float__") and not isinstance(value, int):
        shown = Decimal(re.sub("[,_]", "", number[1]).replace("−", "-"))
        exact = Decimal(float(value)) * (100 if number[2] else 1)
        unit = Decimal(1).scaleb(shown.as_tuple().exponent)
        if abs(exact - shown) / unit > Decimal("0.5") - EDGE:
            raise ValueError(f"{value} is where rounding to {text.strip()} turns: print a digit more or less")
    return text


class Guarding(ast.NodeTransformer):
    """f"{x:.3f}" becomes f"{__formatted__(x, '.3f')}", which prints the same."""

    def visit_FormattedValue(self, node: ast.FormattedValue) -> ast.FormattedValue:
        self.generic_visit(node)
        if node.format_spec is None or node.conversion != -1:
            return node
        call = ast.Call(ast.Name("__formatted__", ast.Load()), [node.value, node.format_spec], [])
        return ast.copy_location(ast.FormattedValue(call, -1, None), node)


def watch(shell: Any) -> None:
    from lsa.show import tables

    tables.format = formatted
    shell.user_ns["__formatted__"] = formatted
    shell.ast_transformers.append(Guarding())
