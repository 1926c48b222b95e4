"""Notebooks hold plain Markdown that says what the MyST says; test_lab.py has them in JupyterLab."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import contents
import nbformat
import notebooks
import plain_markdown
import pytest
from helpers import ROOT

NAMES = contents.chapters()


def text_of(name: str) -> str:
    cells = nbformat.read(contents.target(name), as_version=4).cells
    return "\n\n".join(cell.source for cell in cells if cell.cell_type == "markdown")


def without_code(text: str) -> str:
    return re.sub(r"^(`{3,}).*?^\1|(`+)[^`].*?(?<!`)\2(?!`)", "", text, flags=re.M | re.S)


@pytest.mark.parametrize("name", NAMES)
def test_nothing_of_myst_is_left(name):
    text = without_code(text_of(name))
    myst = r"^ *:::.*|^ *`{3,}\{.*|\{[\w:-]+\}`.*|^:[\w-]+:.*|^\([\w-]+\)="
    assert re.findall(myst, text, flags=re.M) == []
    used = rf"\\(?:{'|'.join(plain_markdown.macros())})(?![A-Za-z])"
    assert re.findall(used, text) == []
    for tag in ("blockquote", "aside", "details", "div", "span"):
        assert len(re.findall(rf"<{tag}[ >]", text)) == text.count(f"</{tag}>")


@pytest.mark.parametrize("name", NAMES)
def test_every_link_leads_somewhere(name):
    for place in re.findall(r"\]\(([^)]*)\)", without_code(text_of(name))):
        file, _, label = place.partition("#")
        if file.startswith("http"):
            continue
        path = contents.BOOK / (file or f"{name}.ipynb")
        assert path.exists(), place
        assert not label or f'id="{label}"' in text_of(path.stem), place


@pytest.mark.parametrize(
    ("tex", "expected"),
    [
        (r"x \in \R^d", r"x \in \mathbb{R}^d"),
        (r"w\T x", r"w^{\mathsf{T}} x"),
        (r"\Eta + \E y", r"\Eta + \operatorname{\mathbb{E}} y"),
        (r"\layer{\hat y_{\gd{x}}}", r"\textcolor{#007ec6}{\hat y_{\textcolor{#c55900}{x}}}"),
        (r"\layer{\{a\}} b", r"\textcolor{#007ec6}{\{a\}} b"),
        (r"\theory{\eta^*}", r"{\eta^*}"),
        (r"\tr\Sigma", r"\operatorname{tr}\Sigma"),
    ],
)
def test_macros_are_written_out(tex, expected):
    assert plain_markdown.expand(tex) == expected


@pytest.mark.parametrize("colour", [colour for colour, _ in plain_markdown.ACTORS.values() if colour])
def test_colours_can_be_read_in_light_and_dark(colour):
    def luminance(code: str) -> float:
        parts = [int(code[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    for paper in ("#ffffff", "#111111"):
        low, high = sorted([luminance(colour), luminance(paper)])
        assert (high + 0.05) / (low + 0.05) > 4.2


# ---- a small book, with each kind of thing once ----

TOC = """\
format: jb-book
root: book/first.ipynb
parts:
  - caption: Part
    numbered: true
    chapters: [{file: book/second.ipynb}, {file: book/references.ipynb}]
"""
KERNEL = "---\nkernelspec: {name: python3, display_name: Python 3}\n---\n\n"
FIRST = (
    KERNEL
    + """\
# The first

{doc}`second`, {doc}`that one <second>`. {prf:ref}`thm-a`, {eq}`eq-a`, {numref}`fig-a`, {ref}`sec-a`.
{py:obj}`lsa.optimum`.
"""
)
SECOND = (
    KERNEL
    + r"""
# The *second*

`{gd}` and `$x$`; costs \$5. In $\R$, {gd}`a step`. {cite:p}`mahankali2024one`.

(sec-a)=
## A section

:::{prf:theorem} A name
:label: thm-a

That

$$
\layer{x} = 1
$$ (eq-a)
:::

```{code-cell} ipython3
:tags: [hide-cell]

a = 1
```

```{code-cell} ipython3
---
mystnb:
  figure:
    name: fig-a
    caption: A curve.
  image:
    alt: A curve.
tags: [hide-input]
---
import matplotlib.pyplot as plt

_ = plt.plot([0, a])
```

:::{margin}
Aside.
:::

:::{exercise} Easy
:label: ex-a

How much?
:::

:::{solution-start} ex-a
:class: dropdown
:::

Zero.

```{code-cell} ipython3
print(0)
```

:::{solution-end}
:::

More.

:::{solution-start} ex-a
:::

Zero.

:::{solution-end}
:::

:::{admonition} Take-aways
- One.
- Two.
:::

1. A
2. B

| a | b |
|---|---|
| 1 | $2$ |
"""
)
REFERENCES = (
    "# References\n\n```{eval-rst}\n.. py:function:: lsa.theory.optimum(task)\n\n   The best.\n```\n\n"
)
REFERENCES += "```{bibliography}\n```\n"


def small_book(folder: Path, **sources: str) -> Path:
    """The book's own tools and settings in `folder`, with other chapters."""
    (folder / "book" / "source").mkdir(parents=True)
    shutil.copytree(ROOT / "book" / "_tools", folder / "book" / "_tools")
    shutil.copytree(ROOT / "book" / "_static", folder / "book" / "_static")
    shutil.copy(ROOT / "_config.yml", folder)
    shutil.copy(ROOT / "book" / "source" / "references.bib", folder / "book" / "source")
    (folder / "_toc.yml").write_text(TOC)
    for name, text in ({"first": FIRST, "second": SECOND, "references": REFERENCES} | sources).items():
        (folder / "book" / "source" / f"{name}.myst.md").write_text(text)
        (folder / "book" / f"{name}.ipynb").touch()  # Sphinx wants a file; what it holds is read nowhere
    return folder


def make_notebooks(folder: Path) -> subprocess.CompletedProcess:
    command = [sys.executable, folder / "book" / "_tools" / "execute.py"]
    return subprocess.run(command, capture_output=True, text=True)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = small_book(tmp_path_factory.mktemp("book"))
    done = make_notebooks(folder)
    assert done.returncode == 0, done.stderr
    return {path.stem: nbformat.read(path, as_version=4).cells for path in (folder / "book").glob("*.ipynb")}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("first", "[The second](second.ipynb), [that one](second.ipynb)"),
        (
            "first",
            "[Theorem 1.1](second.ipynb#thm-a), [(1.1)](second.ipynb#eq-a), [Fig. 1.1](second.ipynb#fig-a)",
        ),
        ("first", "[A section](second.ipynb#sec-a).\n[`lsa.optimum`](references.ipynb#lsa.theory.optimum)"),
        ("second", "# 1. The *second*\n\n← [The first](first.ipynb) · [contents](0-START-HERE.ipynb) · "),
        ("second", r"`{gd}` and `$x$`; costs \$5. In $\mathbb{R}$"),
        ("second", '<span style="border-bottom: 2px dashed #c55900; color: #c55900">a step</span>'),
        ("second", "[[Mahankali *et al.*, 2024](references.ipynb#mahankali2024one)]"),
        ("second", '<div id="sec-a"></div>\n\n## 1.1. A section'),
        ("second", '<blockquote id="thm-a" class="lsa-theorem" style="border-left: 4px solid #777777;'),
        ("second", "**Theorem 1.1 · A name**\n\nThat"),
        ("second", '<div id="eq-a"></div>\n\n$$\n\\textcolor{#007ec6}{x} = 1 \\tag{1.1}\n$$'),
        ("second", '<div id="fig-a"></div>\n\n**Fig. 1.1** · A curve.'),
        ("second", "### Exercise 1.1 · Easy"),
        ("second", "- One.\n- Two."),
        ("second", "1. A\n2. B"),
        ("second", "| a | b |\n|---|---|\n| 1 | $2$ |"),
        ("references", '- <span id="mahankali2024one"></span>'),
        (
            "0-START-HERE",
            "- [The first](first.ipynb)\n\n**Part**\n\n- 1. [The *second*](second.ipynb)\n- 2. ",
        ),
    ],
)
def test_the_plain_form_of(made, name, text):
    assert text in "\n\n".join(cell.source for cell in made[name] if cell.cell_type == "markdown")


def test_folded_code_stays_in_cells_of_its_own(made):
    cells = [cell for cell in made["second"] if cell.cell_type == "code"]
    hints = [cell.source.startswith(contents.HINT) for cell in cells]
    assert hints == [cell.metadata.get("jupyter", {}).get("source_hidden", False) for cell in cells]
    assert hints == [True, True, False]
    assert [cell.execution_count for cell in cells] == [1, 2, 3]
    assert cells[2].outputs[0].text == "0\n"


def test_a_solution_is_folded_and_nothing_after_it(made):
    cells = [cell for cell in made["second"] if cell.cell_type == "markdown"]
    heads = [(cell.source.splitlines()[0], cell.metadata.get(notebooks.COLLAPSED, False)) for cell in cells]
    solution = "#### Solution to [Exercise 1.1](#ex-a)"
    assert heads[-6:] == [
        (solution, True),
        ("Zero.", False),
        ("### …", False),
        (solution, True),
        ("Zero.", False),
        ("## Take-aways", False),
    ]


def test_what_cannot_be_written_stops_all_and_is_named(tmp_path):
    wrong = "# The first\n\n:::{epigraph}\nx\n:::\n\n:::{carousel}\n:::\n\n{sparkle}`x`, {eq}`eq-nowhere`\n"
    folder = small_book(tmp_path, first=wrong)
    done = make_notebooks(folder)
    assert done.returncode != 0
    for words in (
        "WARNING: no plain form is known of <block_quote>: see book/_tools/plain_markdown.py",
        "Unknown directive type: 'carousel'",
        'Unknown interpreted text role "sparkle"',
        "eq-nowhere",
    ):
        assert words in done.stderr
    assert "first.ipynb:" in done.stderr
    assert (folder / "book" / "second.ipynb").read_text() == "", "a notebook was written"
    (folder / "book" / "source" / "first.myst.md").write_text(FIRST)
    done = make_notebooks(folder)  # which need not run the chapters again
    assert (done.returncode, done.stdout.splitlines()[0]) == (0, "3 unchanged, 0 fine, 0 failed")


def test_a_chapter_that_fails_is_named_and_costs_no_other_its_run(tmp_path):
    cell = "# The first\n\n```{{code-cell}} ipython3\n{}\n```\n"
    folder = small_book(tmp_path, first=KERNEL + cell.format("import os; os._exit(9)"))
    done = make_notebooks(folder)
    assert done.returncode == 1
    assert "first: DeadKernelError" in done.stderr
    assert "No notebook is written before these run: first" in done.stderr
    assert (folder / "book" / "second.ipynb").read_text() == ""
    (folder / "book" / "source" / "first.myst.md").write_text(KERNEL + cell.format("1 / 0"))
    done = make_notebooks(folder)
    assert "first: CellExecutionError" in done.stderr
    assert "ZeroDivisionError" in done.stderr
    assert "2 unchanged, 0 fine, 1 failed" in done.stdout
