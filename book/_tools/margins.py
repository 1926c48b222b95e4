"""How close are printed numbers to another digit? Watched by `LSA_MARGINS=check pytest --nbval book/`.

A number is close if its value lies within a tenth of a unit of its last digit from where rounding turns: one
in five is, by chance, and fixed seeds keep it there. tests/margins.json lists those that are known; a new one
fails the run, so that somebody looks at it: print another number of digits, or accept it by `make margins`.
`make test` watches; without the variable nbval compares outputs and no more.

Seen are f-strings of the cells and `figures.table`, not str() of tensors, nor what `lsa` itself writes.
"""

import ast
import json
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterable
from decimal import Decimal
from pathlib import Path

import pytest

LIST = Path(__file__).parents[2] / "tests" / "margins.json"
# Units of the last digit. More is listed than is close, because machines differ in the last bit; at the edge,
# they may print another digit.
LISTED, CLOSE, EDGE = 0.11, 0.1, 1e-6


def margin(value: float, text: str) -> float | None:
    """How far, in units of the last digit of `text`, the value is from where rounding would turn."""
    number = re.fullmatch(r"\s*([-+−]?[\d,_]+(?:\.\d+)?(?:[eE][-+]?\d+)?)(%?)\s*", text)
    if not number or not isinstance(value, float) or value - value != 0:
        return None
    shown = Decimal(re.sub("[,_]", "", number[1]).replace("−", "-"))
    exact = Decimal(value) * (100 if number[2] else 1)
    return float(Decimal("0.5") - abs(exact - shown) / Decimal(1).scaleb(shown.as_tuple().exponent))


# ---- in the kernel ----


class Noting(ast.NodeTransformer):
    """f"{x:.3f}" becomes f"{__noted__(x, '.3f')}", which prints the same."""

    def visit_FormattedValue(self, node):
        self.generic_visit(node)
        if node.format_spec is None or node.conversion != -1:
            return node
        call = ast.Call(ast.Name("__noted__", ast.Load()), [node.value, node.format_spec], [])
        return ast.copy_location(ast.FormattedValue(call, -1, None), node)


def watch(shell) -> None:
    """Write down every number that the cells of this kernel format: value and text, a line each."""
    notes = []

    def noted(value, spec=""):
        text = format(value, spec)
        if hasattr(value, "__float__") and getattr(value, "ndim", 0) == 0 and not isinstance(value, int):
            notes.append((float(value), text))
        return text

    def write(*_):
        with open(os.environ["LSA_NOTES"], "a", encoding="utf-8") as file:
            file.writelines(json.dumps(note) + "\n" for note in notes)
        notes.clear()
        if tables := sys.modules.get("lsa.show.tables"):  # from the cell on after which `lsa` is there
            tables.format = noted

    shell.user_ns["__noted__"] = noted
    shell.ast_transformers.append(Noting())
    shell.events.register("post_run_cell", write)


STARTUP = "import sys; sys.path.append({!r}); import margins; margins.watch(get_ipython()); del margins, sys"

# ---- in pytest ----


class Margins:
    """A pytest plugin: reads what the kernels note; a cell that prints a new close number fails."""

    def __init__(self):
        self.folder = tempfile.mkdtemp()
        startup = Path(self.folder, "profile_default", "startup")
        startup.mkdir(parents=True)
        (startup / "begin.py").write_text(STARTUP.format(str(Path(__file__).parent)), encoding="utf-8")
        self.notes, self.read, self.found = Path(self.folder, "notes"), 0, {}
        self.known = json.loads(LIST.read_text(encoding="utf-8")) if LIST.exists() else {}
        self.accept = os.environ.get("LSA_MARGINS") == "accept"
        os.environ |= {"IPYTHONDIR": self.folder, "LSA_NOTES": str(self.notes)}

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item):
        result = yield
        lines = self.notes.read_text(encoding="utf-8").splitlines() if self.notes.exists() else []
        fresh, self.read = lines[self.read :], len(lines)
        if problems := self.judge(item.path.stem, getattr(item, "cell", {}), map(json.loads, fresh)):
            hint = "see book/_tools/margins.py; `make margins` accepts"
            pytest.fail("\n".join([*problems, hint]), pytrace=False)
        return result

    def judge(self, chapter: str, cell: dict, notes: Iterable[tuple[float, str]]) -> list[str]:
        """What is wrong with the numbers that a cell has formatted, as far as they are in its outputs."""
        shown = json.dumps(cell.get("outputs", []), ensure_ascii=False)
        found, problems = self.found.setdefault(chapter, []), []
        for value, text in notes:
            left, text = margin(value, text), text.strip()
            if left is None or left >= LISTED or text not in shown:
                continue
            found.append(text)
            known = found.count(text) <= self.known.get(chapter, []).count(text)
            if left < EDGE:
                problems.append(f"{text} ({value:.9g}) is at the edge of rounding")
            elif left < CLOSE and not (known or self.accept):
                problems.append(f"{text} ({value:.9g}) is close to another digit, and new")
        return problems

    def pytest_sessionfinish(self):
        shutil.rmtree(self.folder, ignore_errors=True)
        if self.accept:
            known = self.known | {name: sorted(close) for name, close in self.found.items()}
            text = json.dumps(known, indent=1, sort_keys=True, ensure_ascii=False)
            LIST.write_text(text + "\n", encoding="utf-8")
