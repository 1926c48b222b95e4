"""Notebooks hold plain Markdown that says what the MyST says; test_lab.py has them in JupyterLab."""

import re

import contents
import formulas
import nbformat
import plain
import pytest

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
    used = rf"\\(?:{'|'.join(formulas.macros())})(?![A-Za-z])"
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
    assert formulas.expand(tex) == expected


@pytest.mark.parametrize("colour", [colour for colour, _ in formulas.ACTORS.values() if colour])
def test_colours_can_be_read_in_light_and_dark(colour):
    def luminance(code: str) -> float:
        parts = [int(code[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    for paper in ("#ffffff", "#111111"):
        low, high = sorted([luminance(colour), luminance(paper)])
        assert (high + 0.05) / (low + 0.05) > 4.2


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("`{gd}` and `$x$`", "`{gd}` and `$x$`"),
        ("costs $5, or $6", "costs $5, or $6"),
        ("of $\\R$", "of $\\mathbb{R}$"),
        ("{doc}`notation`", "[Notation](notation.ipynb)"),
        ("{doc}`these signs <notation>`", "[these signs](notation.ipynb)"),
        ("{py:obj}`lsa.optimum`", "[`lsa.optimum`](../lsa/theory.py)"),
        ("{cite:p}`mahankali2024one`", "[[Mahankali *et al.*, 2024](references.ipynb#mahankali2024one)]"),
        ("{gd}`a step`", '<span style="border-bottom: 2px dashed #c55900; color: #c55900">a step</span>'),
    ],
)
def test_inline(text, expected):
    assert plain.Page("setup").inline(text) == expected


def test_a_solution_is_folded_and_nothing_after_it():
    cells = plain.Page("intro").text_cells(
        ":::{solution-start} ex-intro-start\n:class: dropdown\n:::\n\nZero.\n\n:::{solution-end}\n:::\n\n"
        "More.\n\n:::{solution-start} ex-intro-start\n:::\n\nZero.\n\n:::{solution-end}\n:::\n\n"
        ":::{admonition} Take-aways\n- One.\n:::"
    )
    heads = [(cell.source.splitlines()[0], cell.metadata.get(plain.COLLAPSED, False)) for cell in cells]
    solution = "#### Solution to [Exercise 1](#ex-intro-start)"
    assert heads == [
        (solution, True),
        ("Zero.", False),
        ("### …", False),
        (solution, True),
        ("Zero.", False),
        ("## Take-aways", False),
    ]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (":::{carousel}\n:::", r"knows no plain form of the directive \{carousel\}"),
        ("{sparkle}`x`", r"knows no plain form of \{sparkle\}`x`"),
        ("{eq}`eq-nowhere`", "eq-nowhere, which no chapter"),
        (":::{note}\nno end", "not closed: :::{note}"),
    ],
)
def test_what_has_no_plain_form_is_refused(text, words):
    with pytest.raises(ValueError, match=words):
        plain.Page("setup").blocks(text)
