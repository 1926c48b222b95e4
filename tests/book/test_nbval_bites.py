"""Would `pytest --nbval book/` notice a wrong digit? Stored outputs are changed in a copy, and it has to."""

import copy
import random
import re
import shutil
import subprocess
import sys

import execute
import nbformat
import pytest
import torch
from helpers import ROOT
from nbclient.exceptions import CellExecutionError
from rounding_guard import formatted

BOOK = ROOT / "book"
CELLS = 40


class Collected:
    """A pytest plugin that keeps what nbval has collected: a cell is an item, with its comparison."""

    def pytest_collection_finish(self, session):
        self.items = session.items


@pytest.fixture(scope="module")
def cells():
    collected = Collected()
    quiet = ["--collect-only", "-qq", "-p", "no:cacheprovider", "--rootdir", str(BOOK.parent)]
    assert pytest.main(["--nbval", *quiet, str(BOOK)], plugins=[collected]) == 0
    return collected.items


def digits(item):
    """Where in an item's outputs digits are read: (holder, key, position) in a copy of them."""
    outputs, found = copy.deepcopy(item.cell.outputs), []
    for output in outputs:
        holder = output.get("data", output)
        for key, text in holder.items():
            if isinstance(text, str) and key not in (*item.parent.skip_compare, "output_type", "name"):
                found += [(outputs, holder, key, match.start()) for match in re.finditer(r"\d", text)]
    return found


def change(item, chance):
    """The item's outputs with one digit changed."""
    outputs, holder, key, at = chance.choice(digits(item))
    text = holder[key]
    other = chance.choice([digit for digit in "0123456789" if digit != text[at]])
    holder[key] = text[:at] + other + text[at + 1 :]
    return outputs, f"{item.nodeid}: {text[max(at - 20, 0) : at + 20]!r}, {text[at]} → {other}"


def test_a_wrong_digit_is_caught_wherever_it_is(cells):
    seed = random.randrange(10**9)
    print("seed", seed)
    chance = random.Random(seed)
    read = [item for item in cells if digits(item)]
    assert len(read) > 3 * CELLS
    for item in chance.sample(read, CELLS):
        wrong, where = change(item, chance)
        assert item.options["check"], f"{where}: not compared at all (seed {seed})"
        assert item.compare_outputs(item.cell.outputs, copy.deepcopy(item.cell.outputs)), where
        assert not item.compare_outputs(item.cell.outputs, wrong), f"{where}: overlooked (seed {seed})"


def test_nbval_itself_stumbles_over_one_digit(cells, tmp_path):
    """In earnest, with a kernel: a chapter's first cells, and a wrong digit."""
    own = [item for item in cells if item.fspath.basename == "proof.ipynb"]
    last = next(k for k, item in enumerate(own) if digits(item))
    notebook = nbformat.v4.new_notebook(cells=[copy.deepcopy(item.cell) for item in own[: last + 1]])
    notebook.metadata = own[0].parent.nb.metadata
    notebook.cells[-1].outputs, where = change(own[last], random.Random(0))
    nbformat.write(notebook, tmp_path / "wrong.ipynb")
    shutil.copy(BOOK.parent / "conftest.py", tmp_path)
    command = [sys.executable, "-m", "pytest", "--nbval", "-q", "-p", "no:cacheprovider", "wrong.ipynb"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert f"1 failed, {last} passed" in done.stdout, f"{where}\n{done.stdout}"
    assert f"Cell {last}: Cell outputs differ" in done.stdout


# ---- numbers at the edge of rounding ----


@pytest.mark.parametrize(
    ("value", "spec"),
    [
        (0.125, ".2f"),
        (0.1245 + 1e-11, ".3f"),
        (-1.345e-5, ".2e"),
        (torch.tensor(2.5), ".0f"),
        (0.0625, ".1%"),
    ],
)
def test_a_number_at_the_edge_of_rounding_is_refused(value, spec):
    with pytest.raises(ValueError, match="print a digit more or less"):
        formatted(value, spec)


@pytest.mark.parametrize(
    ("value", "spec"),
    [
        (0.125, ".3f"),
        (0.1249, ".2f"),
        (1234.6, ",.0f"),
        (7.0, ".0f"),
        (float("nan"), ".2f"),
        (25, "d"),
        ("a", ">3"),
    ],
)
def test_other_numbers_are_printed_as_ever(value, spec):
    assert formatted(value, spec) == format(value, spec)


@pytest.mark.parametrize("code", ['f"{1 / 8:.2f}"', 'figures.table([(1, 1 / 8)], {"n": "d", "x": ".2f"})'])
def test_a_chapter_that_prints_such_a_number_fails(tmp_path, code):
    path = tmp_path / "x.myst.md"
    path.write_text(f"# Title\n\n```{{code-cell}} ipython3\nfrom lsa import figures\n\nprint({code})\n```\n")
    with pytest.raises(CellExecutionError, match="print a digit more or less"):
        execute.execute(path)
