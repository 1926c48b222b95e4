"""Would `pytest --nbval book/` notice a wrong digit? Stored outputs are changed in a copy, and it has to."""

import copy
import json
import os
import random
import re
import shutil
import subprocess
import sys

import margins
import nbformat
import pytest
from helpers import ROOT

from lsa import figures

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
    """In earnest, with a kernel: a chapter's first cells, a wrong digit, two numbers close to another."""
    own = [item for item in cells if item.fspath.basename == "proof.ipynb"]
    last = next(k for k, item in enumerate(own) if digits(item))
    notebook = nbformat.v4.new_notebook(cells=[copy.deepcopy(item.cell) for item in own[: last + 1]])
    notebook.metadata = own[0].parent.nb.metadata
    notebook.cells[-1].outputs, where = change(own[last], random.Random(0))
    code = 'print(f"{0.123451:.4f}", figures.table([(1, 0.77749)], {"n": "d", "x": ".3f"}))'
    text = f"0.1235 {figures.table([(1, 0.77749)], {'n': 'd', 'x': '.3f'})}\n"
    output = nbformat.v4.new_output("stream", name="stdout", text=text)
    notebook.cells.append(nbformat.v4.new_code_cell(code, outputs=[output], execution_count=1))
    nbformat.write(notebook, tmp_path / "wrong.ipynb")
    shutil.copy(BOOK.parent / "conftest.py", tmp_path)
    command = [sys.executable, "-m", "pytest", "--nbval", "-q", "-p", "no:cacheprovider", "wrong.ipynb"]
    environment = os.environ | {"PYTHONPATH": str(BOOK / "_tools"), "LSA_MARGINS": "check"}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert f"2 failed, {last} passed" in done.stdout, f"{where}\n{done.stdout}"
    assert f"Cell {last}: Cell outputs differ" in done.stdout
    for close in ("0.1235 (0.123451)", "0.777 (0.77749)"):
        assert f"{close} is close to another digit, and new" in done.stdout


def test_how_far_a_number_is_from_another_digit():
    expected = {
        ("0.12", 0.12): 0.5,
        ("0.12", 0.1249): 0.01,
        ("-1.3e-05", -1.345e-5): 0.05,
        ("12.5%", 0.12546): 0.04,
        ("1,235", 1234.6): 0.1,
        ("7", 7.0): 0.5,
    }
    for (text, value), left in expected.items():
        assert margins.margin(value, text) == pytest.approx(left, abs=1e-9)
    assert margins.margin(0.5, "< 1e-12") is None
    assert margins.margin(float("nan"), "nan") is None


def test_a_new_close_number_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(margins, "LIST", tmp_path / "list.json")
    margins.LIST.write_text('{"chapter": ["0.12"]}')
    for name in ("IPYTHONDIR", "LSA_NOTES", "LSA_MARGINS"):
        monkeypatch.setenv(name, "")
    watcher, cell = margins.Margins(), {"outputs": [{"text": "0.12"}]}
    assert watcher.judge("chapter", cell, [(0.123, "0.12"), (0.1245, "0.12")]) == []
    assert watcher.judge("chapter", cell, [(0.3349, "0.33")]) == []  # formatted, but not printed
    (problem,) = watcher.judge("chapter", cell, [(0.1245, "0.12")])
    assert problem == "0.12 (0.1245) is close to another digit, and new"
    (problem,) = watcher.judge("chapter", cell, [(0.125, "0.12")])
    assert problem == "0.12 (0.125) is at the edge of rounding"
    watcher.accept = True
    watcher.pytest_sessionfinish()
    assert json.loads(margins.LIST.read_text()) == {"chapter": ["0.12", "0.12", "0.12"]}
