"""The stored chapters are what their sources say, run completely, and fit to be read by everyone.

A check is a function from a notebook to its complaints, and is itself tested on a notebook with the fault.
"""

import ast
import copy
import json
import re
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import pairwise

import contents
import execute
import extension
import nbformat
import pytest
import yaml
from execute import VIEW
from helpers import ROOT
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from lsa.show.live.widget import MIME

BOOK = ROOT / "book"
IMAGES = ("image/png", "image/svg+xml", "image/jpeg")
LONGEST, MEDIAN, WIDEST = 25, 5, 79  # lines of a code cell, and characters of a line


def code_cells(notebook) -> list:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def outputs(notebook, kind: str) -> Iterator:
    """Pairs (number of the cell, output) of the given type, or of any type that has data for display."""
    for number, cell in enumerate(notebook.cells):
        for output in cell.get("outputs", []):
            if output.output_type == kind or (kind == "data" and "data" in output):
                yield number, output


def unexecuted(notebook) -> Iterator[str]:
    counts = [cell.execution_count for cell in code_cells(notebook)]
    if counts != list(range(1, len(counts) + 1)):
        yield f"cells were run in the order {counts}"


def unclean(notebook) -> Iterator[str]:
    for number, output in outputs(notebook, "stream"):
        if output.name == "stderr":
            yield f"cell {number} wrote to stderr: {output.text[:80]!r}"
    for number, output in outputs(notebook, "error"):
        if "raises-exception" not in notebook.cells[number].metadata.get("tags", []):
            yield f"cell {number} failed: {output.ename}"
    for number, cell in enumerate(notebook.cells):
        if skipped := {"nbval-skip", "nbval-ignore-output"} & set(cell.metadata.get("tags", [])):
            yield f"cell {number} is kept from being compared: {skipped}"


def wordless_figures(notebook) -> Iterator[str]:
    for number, output in outputs(notebook, "data"):
        words = notebook.cells[number].metadata.get("mystnb", {})
        words = {**words.get("figure", {}), **words.get("image", {})}
        if MIME not in output.data and any(kind in output.data for kind in IMAGES):
            missing = [key for key in ("caption", "name", "alt") if not words.get(key)]
            yield from (f"the figure of cell {number} has no {key}" for key in missing)


def dead_widgets(notebook) -> Iterator[str]:
    """Widgets that need a kernel, and live figures without a picture for readers who have none."""
    for number, output in outputs(notebook, "data"):
        if VIEW in output.data:
            yield f"cell {number} holds the view of a widget, whose kernel is gone"
        if MIME in output.data and "image/png" not in output.data:
            yield f"the live figure of cell {number} has no picture for readers without a kernel"


def long_cells(notebook) -> Iterator[str]:
    lengths = [len(cell.source.removeprefix(contents.HINT).splitlines()) for cell in code_cells(notebook)]
    yield from (f"code cell {i + 1} has {lines} lines" for i, lines in enumerate(lengths) if lines > LONGEST)
    if lengths and statistics.median(lengths) > MEDIAN:
        yield f"the median code cell has {statistics.median(lengths)} lines"


def wide_lines(notebook) -> Iterator[str]:
    """Lines that would scroll in their box on the page."""
    for number, cell in enumerate(code_cells(notebook), 1):
        longest = max(map(len, cell.source.removeprefix(contents.HINT).splitlines()), default=0)
        if longest > WIDEST:
            yield f"code cell {number} has a line of {longest} characters"


def private_names(notebook) -> Iterator[str]:
    def private(name: str) -> bool:
        public = ("__", "_replace", "_asdict")  # the last two are what named tuples offer their users
        return any(part.startswith("_") and not part.startswith(public) for part in name.split("."))

    for number, cell in enumerate(code_cells(notebook)):
        for node in ast.walk(ast.parse(cell.source)):
            names = [node.attr] if isinstance(node, ast.Attribute) else []
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = [getattr(node, "module", None) or "", *(alias.name for alias in node.names)]
            yield from (f"code cell {number + 1} uses the private {name}" for name in names if private(name))


def machine_traces(notebook) -> Iterator[str]:
    """Paths and addresses, which are others on the reader's machine."""
    traces = r"/(?:home|root|work|tmp|usr|opt|Users)/\w+|[A-Z]:\\\\\w+|site-packages|\bat 0x[0-9a-f]{6,}"
    for number, cell in enumerate(notebook.cells):
        shown = [output.get("data", output) for output in cell.get("outputs", [])]
        shown = [{kind: text for kind, text in each.items() if kind not in IMAGES} for each in shown]
        found = re.findall(traces, cell.source + json.dumps(shown))
        yield from (f"cell {number} tells {match!r}" for match in found)


def unstable_metadata(notebook) -> Iterator[str]:
    if extra := notebook.metadata.keys() - {"kernelspec", "language_info"}:
        yield f"the notebook has metadata {sorted(extra)}"
    if set(notebook.metadata.get("language_info", {})) != {"name", "pygments_lexer"}:
        yield "language_info must have a name and a lexer, and no version"
    for number, cell in enumerate(notebook.cells):
        if "execution" in cell.metadata:
            yield f"cell {number} has times"


def unsound_headings(notebook) -> Iterator[str]:
    text = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    text = re.sub(r"^(`{3,}).*?^\1", "", text, flags=re.M | re.S)
    levels = [len(match) for match in re.findall(r"^(#+) ", text, flags=re.M)]
    if levels[:1] != [1] or levels.count(1) != 1:
        yield f"a chapter starts with its only heading of the first level, not with levels {levels}"
    jumps = [(a, b) for a, b in pairwise(levels) if b > a + 1]
    yield from (f"a heading of level {b} follows one of level {a}" for a, b in jumps)


def unsolved_exercises(notebook) -> Iterator[str]:
    text = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    exercises = re.findall(r"\{exercise(?:-start)?\}[^\n]*\n:label: *(\S+)", text)
    solutions = re.findall(r"\{solution(?:-start)?\} *(\S+)", text)
    yield from (f"exercise {label} has no solution" for label in sorted(set(exercises) - set(solutions)))


def no_turn(notebook) -> Iterator[str]:
    """After its first live figure a chapter asks to change something, in a cell tagged your-turn."""
    shown = [number for number, output in outputs(notebook, "data") if MIME in output.data]
    tagged = [i for i, cell in enumerate(notebook.cells) if "your-turn" in cell.metadata.get("tags", [])]
    if shown and not any(number > shown[0] for number in tagged):
        yield "no cell with the tag your-turn follows the first live figure"


CHECKS: list[Callable] = [
    unexecuted,
    unclean,
    wordless_figures,
    dead_widgets,
    long_cells,
    wide_lines,
    private_names,
    machine_traces,
    unstable_metadata,
    unsound_headings,
    unsolved_exercises,
    no_turn,
]


def differences(notebook, source) -> Iterator[str]:
    """Where the stored notebook is not what its source says."""
    if len(notebook.cells) != len(source.cells):
        yield f"{len(notebook.cells)} cells are stored, {len(source.cells)} are written"
    for number, (stored, written) in enumerate(zip(notebook.cells, source.cells, strict=False)):
        for key in ("cell_type", "id", "source", "metadata"):
            if stored[key] != written[key]:
                yield f"{key} of cell {number} differs"


@pytest.fixture(params=contents.chapters())
def chapter(request) -> str:
    return request.param


@pytest.mark.parametrize("check", CHECKS)
def test_chapter(chapter, check):
    assert not list(check(contents.with_outputs(chapter)))


def test_the_notebooks_are_what_sphinx_makes_of_their_sources():
    assert execute.write_notebooks(check=True) == [], "run `make notebooks`"


def test_contents():
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text())
    listed = [toc["root"], *(entry["file"] for part in toc["parts"] for entry in part["chapters"])]
    assert len(listed) == len(set(listed))
    assert [name for name in listed if not (ROOT / name).exists()] == []
    assert set(listed) == {f"book/{name}.ipynb" for name in contents.chapters()}
    stored = {path.stem for path in BOOK.glob("*.ipynb")} - {contents.INDEX}
    assert stored == set(contents.chapters()), "each has its source"


# ---- the checks can fail ----

WORDS = {"mystnb": {"figure": {"caption": "c", "name": "n"}, "image": {"alt": "a"}}}


def sound():
    """A small chapter without a fault: text, a number, a figure, a live one, an exercise."""
    live = {MIME: {"figure": "prompt"}, "text/plain": "live.prompt()", "image/png": "iVBO"}
    cells = [
        new_markdown_cell("# Title\n\n## Part\n\n:::{exercise}\n:label: ex-a\n:::\n:::{solution} ex-a\n:::"),
        new_code_cell("import lsa\nprint(1)", execution_count=1, outputs=[new_output("stream", text="1\n")]),
        new_code_cell(
            "draw()",
            execution_count=2,
            metadata=WORDS,
            outputs=[new_output("display_data", {"image/png": "iVBO", "text/plain": "<Figure>"})],
        ),
        new_code_cell("lsa.live.prompt()", execution_count=3, outputs=[new_output("display_data", live)]),
        new_code_cell("n = 3", execution_count=4, metadata={"tags": ["your-turn"]}),
    ]
    metadata = {
        "kernelspec": {"name": "python3", "display_name": "Python 3"},
        "language_info": {"name": "python", "pygments_lexer": "ipython3"},
    }
    return nbformat.from_dict(copy.deepcopy(new_notebook(cells=cells, metadata=metadata)))


def set_stderr(cell):
    cell.outputs[0].name = "stderr"


def set_error(cell):
    cell.outputs = [new_output("error", ename="ValueError", evalue="", traceback=[])]


FAULTS = [
    (unexecuted, lambda nb: nb.cells[2].update(execution_count=None), "order"),
    (unexecuted, lambda nb: nb.cells[2].update(execution_count=7), "order"),
    (unclean, lambda nb: set_stderr(nb.cells[1]), "stderr"),
    (unclean, lambda nb: set_error(nb.cells[1]), "ValueError"),
    (unclean, lambda nb: nb.cells[1].metadata.update(tags=["nbval-ignore-output"]), "compared"),
    (wordless_figures, lambda nb: nb.cells[2].metadata.mystnb.figure.pop("caption"), "caption"),
    (wordless_figures, lambda nb: nb.cells[2].metadata.mystnb.image.update(alt=""), "alt"),
    (wordless_figures, lambda nb: nb.cells[2].metadata.clear(), "name"),
    (dead_widgets, lambda nb: nb.cells[3].outputs[0].data.update({VIEW: {}}), "kernel is gone"),
    (dead_widgets, lambda nb: nb.cells[3].outputs[0].data.pop("image/png"), "no picture"),
    (long_cells, lambda nb: nb.cells[1].update(source="x = 1\n" * 26), "26 lines"),
    (long_cells, lambda nb: [cell.update(source="x = 1\n" * 6) for cell in nb.cells[1:4]], "median"),
    (wide_lines, lambda nb: nb.cells[1].update(source="x" * 80), "80 characters"),
    (private_names, lambda nb: nb.cells[1].update(source="from lsa.theory import _solve"), "_solve"),
    (private_names, lambda nb: nb.cells[1].update(source="import lsa._core"), "_core"),
    (private_names, lambda nb: nb.cells[1].update(source="lsa.theory._solve(2)"), "_solve"),
    (machine_traces, lambda nb: nb.cells[1].outputs[0].update(text="/home/me/lsa"), "/home/me"),
    (machine_traces, lambda nb: nb.cells[1].outputs[0].update(text="<A at 0x7f00deadbeef>"), "0x7f00"),
    (unstable_metadata, lambda nb: nb.cells[1].metadata.update(execution={}), "times"),
    (unstable_metadata, lambda nb: nb.metadata.language_info.update(version="3.11.7"), "version"),
    (unstable_metadata, lambda nb: nb.metadata.update(jupytext={}), "jupytext"),
    (unsound_headings, lambda nb: nb.cells[0].update(source="## Title"), "first level"),
    (unsound_headings, lambda nb: nb.cells[0].update(source="# Title\n\n### Part"), "level 3"),
    (no_turn, lambda nb: nb.cells.pop(), "no cell"),
    (no_turn, lambda nb: nb.cells.insert(0, nb.cells.pop()), "no cell"),
    (unsolved_exercises, lambda nb: nb.cells[0].update(source=":::{exercise} A\n:label: ex-a\n:::"), "ex-a"),
]


@pytest.mark.parametrize("check", CHECKS)
def test_check_passes_what_is_sound(check):
    assert not list(check(sound()))


@pytest.mark.parametrize(("check", "spoil", "word"), FAULTS)
def test_check_finds_the_fault(check, spoil, word):
    notebook = sound()
    spoil(notebook)
    assert word in " ".join(check(notebook))


def test_every_check_has_a_fault():
    assert {check for check, *_ in FAULTS} == set(CHECKS)


def test_differences_are_found():
    written = sound()
    stored = copy.deepcopy(written)
    assert not list(differences(stored, written))
    stored.cells[1].source = "print(2)"
    assert list(differences(stored, written)) == ["source of cell 1 differs"]
    del stored.cells[3]
    assert "4 cells are stored, 5 are written" in differences(stored, written)


# ---- the tools ----

SOURCE = """\
# Title

```{code-cell} ipython3
import lsa
print("a")
print(0.125)
lsa.live.prompt()
```
"""


def test_the_same_source_gives_the_same_bytes(tmp_path):
    path = tmp_path / "x.myst.md"
    path.write_text(SOURCE)
    first, second = (contents.as_text(execute.execute(path)) for _ in range(2))
    assert first == second
    notebook = nbformat.reads(first, as_version=4)
    assert notebook.cells[1].outputs[-1].data.keys() == {"text/plain", "image/png", MIME}
    assert not list(unstable_metadata(notebook))
    assert not list(differences(notebook, contents.read_source(path)))


def test_a_widget_of_another_kind_is_refused(tmp_path):
    path = tmp_path / "x.myst.md"
    path.write_text(SOURCE.replace("lsa.live.prompt()", "import ipywidgets; ipywidgets.IntSlider()"))
    with pytest.raises(
        ValueError, match=r"IntSlider\(value=0\): of all widgets, pages can show live figures"
    ):
        execute.execute(path)


def test_a_chapter_runs_again_when_something_changed(tmp_path, monkeypatch):
    monkeypatch.setattr(execute, "ROOT", tmp_path)
    monkeypatch.setattr(contents, "BOOK", tmp_path / "book")
    monkeypatch.setattr(execute, "RECORD", tmp_path / "_build" / "notebooks.json")
    monkeypatch.setattr(execute, "__file__", str(tmp_path / "execute.py"))
    files = ["book/source/x.myst.md", "book/x.ipynb", "lsa/theory.py", "execute.py", "lock.txt"]
    for file in files:
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text("1")
    assert execute.stale(["x"]) == ["x"]
    for file in files:
        execute.write_record("x")
        assert execute.stale(["x"]) == []
        (tmp_path / file).write_text("```{code-cell}\n2\n```")
        assert execute.stale(["x"]) == ["x"], file


def test_a_chapter_whose_text_changed_keeps_its_outputs():
    done, again = sound(), sound()
    for cell in again.cells:
        cell.update({"outputs": []} if cell.cell_type == "code" else {"source": "# Another title"})
    assert contents.merge_outputs(again, done).cells[1].outputs[0].text == "1\n"
    again.cells[1].source = "print(2)"
    with pytest.raises(ValueError, match="make notebooks"):
        contents.merge_outputs(again, done)


def test_folded_cells_in_a_row_become_one_on_the_page():
    code = {"a = 1": "hide-cell", "b = 2": "hide-input", "print(b)": "hide-input", "c = 3": "your-turn"}
    cells = [new_code_cell(source, metadata={"tags": [tag]}) for source, tag in code.items()]
    cells[1].outputs = [new_output("stream", text="2\n")]
    joined = extension.join_folded(new_notebook(cells=cells)).cells
    assert [cell.source for cell in joined] == ["a = 1\n\nb = 2", "print(b)", "c = 3"]
    assert joined[0].outputs[0].text == "2\n"


@pytest.mark.parametrize("folder", ["", "book", "book/source"])
def test_the_first_cell_works_in_any_folder_of_the_repository(folder):
    sources = [contents.read_source(contents.source(name)) for name in contents.chapters()]
    first = [cells[0].source for cells in map(code_cells, sources) if cells]
    script = f"for cell in {first!r}:\n    exec(cell, {{}})"
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT / folder, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
