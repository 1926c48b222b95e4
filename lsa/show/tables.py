"""Numbers on the page: in columns, or as one line that says they agree."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape

import torch

from ..checks import fail, number


def check(label: str, value, tolerance: float) -> None:
    """Print "label < tolerance ✓" if every entry of `value` is that small in size; if not, raise.

        figures.check("largest gap", layer(prompts) - step, 1e-12)    # largest gap < 1e-12 ✓

    `value` is a number, an array or a tensor. What rounding leaves differs between machines, so that only the
    error, when it is too large, tells the number itself.
    """
    tolerance = number("tolerance", tolerance, above=0)
    sizes = torch.as_tensor(value, dtype=torch.float64).detach().abs()
    if not sizes.numel():
        fail("value", value, "at least one number to check")
    largest = sizes.max().item()
    if not largest < tolerance:  # not "≥": NaN fails too
        raise AssertionError(f"{label} = {largest:.3g}: expected less than {tolerance:g}")
    print(f"{label} < {tolerance:g} ✓")


class table:
    """Rows of numbers under named columns, for instance theory | measured | difference, shown as a table.

    The first column names the row. `columns` gives every heading the format of what is below it: `".6f"`,
    or `""` for words, or `"<1e-12"`, which writes "< 1e-12" for anything of smaller size (what rounding
    leaves differs between machines) and otherwise the number itself.
    """

    def __init__(self, rows: Iterable[Sequence], columns: Mapping[str, str]):
        specs = list(columns.values())
        self.lines = [list(columns)]
        for row in rows:
            if len(row) != len(specs):
                fail("rows", row, f"{len(specs)} values in every row, one for each of {list(columns)}")
            self.lines.append([written(value, spec) for value, spec in zip(row, specs, strict=True)])
        self.sides = ["left" if spec == "" else "right" for spec in specs]

    def __repr__(self) -> str:
        widths = [max(map(len, column)) for column in zip(*self.lines, strict=True)]
        pads = ["<>"[side == "right"] + str(w) for side, w in zip(self.sides, widths, strict=True)]
        return "\n".join("  ".join(map(format, line, pads)).rstrip() for line in self.lines)

    def _repr_html_(self) -> str:
        def row(line: list[str], head: bool) -> str:
            cells = []
            for k, (text, side) in enumerate(zip(line, self.sides, strict=True)):
                tag = "th" if head or k == 0 else "td"
                scope = f' scope="{"col" if head else "row"}"' if tag == "th" else ""
                cells.append(f'<{tag}{scope} style="text-align: {side}">{escape(text)}</{tag}>')
            return f"<tr>{''.join(cells)}</tr>"

        head, *lines = self.lines
        body = "".join(row(line, head=False) for line in lines)
        # A table wider than a phone scrolls by itself; tabindex lets the keyboard scroll it too.
        return (
            '<div class="lsa-table" tabindex="0" style="overflow-x: auto; white-space: nowrap">'
            f"<table><thead>{row(head, head=True)}</thead><tbody>{body}</tbody></table></div>"
        )


def written(value, spec: str) -> str:
    if spec == "":
        return str(value)
    if spec.startswith("<"):
        return f"< {spec[1:]}" if abs(float(value)) < float(spec[1:]) else f"{float(value):.1e}"
    return format(float(value), f"z{spec}") if spec[-1] in "eEfFgG%" else format(value, spec)  # z: no "-0.00"
