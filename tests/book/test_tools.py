"""The tools that make the pages: what they fetch, what they launch, how they show docstrings."""

import base64
import hashlib
import json
import re
from pathlib import Path

import docstrings
import extension
import npm
import policy
import pytest
import sphinx_live
from helpers import ROOT
from nbformat.v4 import new_code_cell, new_notebook, new_output

from lsa.show.figures import PALETTE
from lsa.show.live.widget import MIME

NPM = """#!/bin/sh
echo "$1" >> asked
{answer}
"""
LOCK = """{"packages": {"": {}, "node_modules/a": {"integrity": "%s"},
                        "node_modules/b": {"integrity": "2", "dev": true}}}"""


@pytest.fixture
def answered_by(tmp_path, monkeypatch):
    """A folder with a lock file, and npm: a script that notes what it is asked for."""

    def stand_in(answer: str) -> Path:
        (tmp_path / "npm").write_text(NPM.format(answer=answer))
        (tmp_path / "npm").chmod(0o755)
        (tmp_path / "package-lock.json").write_text(LOCK % "1")
        return tmp_path

    monkeypatch.setattr(npm, "ROOT", tmp_path)
    monkeypatch.setattr(npm.sys, "executable", str(tmp_path / "python"))
    return stand_in


INSTALL = "mkdir -p node_modules && cp package-lock.json node_modules/.package-lock.json"


def test_packages_are_fetched_once_and_again_when_another_is_pinned(answered_by):
    folder = answered_by(INSTALL)
    assert npm.node_modules() == npm.node_modules() == folder / "node_modules"
    assert (folder / "asked").read_text().split() == ["view", "ci"]
    (folder / "package-lock.json").write_text(LOCK % "another")
    npm.node_modules()
    assert (folder / "asked").read_text().split() == ["view", "ci", "view", "ci"]


def test_what_was_half_installed_is_not_used(answered_by):
    folder = answered_by('mkdir -p node_modules/a; test "$1" = view || { echo cut short >&2; exit 1; }')
    for _ in range(2):
        with pytest.raises(SystemExit, match=r"Connect and try again\. npm says: cut short"):
            npm.node_modules()
    assert (folder / "asked").read_text().split() == ["view", "ci"] * 2


def test_without_the_network_the_message_says_what_to_do(answered_by):
    folder = answered_by("echo no network >&2; exit 1")
    with pytest.raises(
        SystemExit, match=r"could not be fetched from npm(.|\n)*npm says: no network"
    ) as raised:
        npm.node_modules()
    assert len(str(raised.value).splitlines()) <= 4
    assert (folder / "asked").read_text().split() == ["view"]


def test_the_lock_names_no_registry():
    text = (ROOT / "package-lock.json").read_text()
    assert '"resolved"' not in text
    packages = json.loads(text)["packages"]
    assert all(each.get("integrity", "").startswith("sha512-") for name, each in packages.items() if name)


def test_the_pages_have_the_actors_colours():
    style = sphinx_live.FILES["palette.css"]
    for actor in ("layer", "gd", "bayes"):
        for shade in ("light", "dark"):
            colour = PALETTE[actor][shade]
            assert f'html[data-theme="{shade}"] {{ --lsa-{actor}: {colour}; }}' in style
    assert "span.lsa-gd::before { border-top-style: dashed; }" in style


@pytest.mark.parametrize(
    ("variables", "remote", "expected"),
    [
        (
            {"GITHUB_REPOSITORY": "me/fork", "GITHUB_REF_NAME": "main"},
            "",
            ("https://github.com/me/fork", "main"),
        ),
        ({}, "https://github.com/me/book.git", ("https://github.com/me/book", "topic")),
        ({}, "git@github.com:me/book.git", ("https://github.com/me/book", "topic")),
        ({}, "ssh://git@github.com/me/book", ("https://github.com/me/book", "topic")),
        ({}, "/srv/git/book.git", None),
        ({}, "https://example.org/me/book.git", None),
        ({}, "", None),
    ],
)
def test_repository_to_launch(monkeypatch, variables, remote, expected):
    for name in ("GITHUB_REPOSITORY", "GITHUB_REF_NAME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(extension, "_git", lambda *words: remote if words[0] == "remote" else "topic")
    assert extension.repository() == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("P* of |b| and w_", r"P\* of \|b\| and w\_"),
        ("`n`s", r"\ ``n``\ s"),
        ("see :doc:`notation`", "see :doc:`notation`"),
        ("a ` alone", r"a \` alone"),
        ("Train.\n\nn: examples,\n    many\nx: other", "Train.\n\n:param n: examples,\n    many\nx: other"),
        ("Train.\nn: examples", "Train.\n\n:param n: examples"),
        ("n: examples\nx_q: a query", ":param n: examples\n:param x_q: a query"),
        ("As in\n\n    f(x)\n\nsaid", "As in\n\n.. code-block:: python\n\n   f(x)\n\nsaid"),
        ("As in\n\n    P* = Σ⁻¹ C", "As in\n\n.. parsed-literal::\n\n   P\\* = Σ⁻¹ C"),
        ("W_Vᵀ h in R^(d+1)", r"W\ :sub:`V`\ ᵀ h in R\ :sup:`d+1`\ "),
        ("Σ_heads e_{d+1}", r"Σ\ :sub:`heads`\  e\ :sub:`d+1`\ "),
        ("x_query, half_width", r"x\_query, half\_width"),
    ],
)
def test_docstrings(text, expected):
    assert docstrings.to_rst(text, {"n", "x_q"}) == expected


@pytest.mark.parametrize(
    "text",
    [
        "<p>a<script>alert(1)</script>",
        "<SCRIPT SRC='//host/x.js'></SCRIPT>",
        '<img src="x" onerror="f()">',
        '<script type="module">1</script>',
        "<script>",
        '<svg><a onclick="f()">x</a></svg>',
    ],
)
def test_a_page_whose_text_holds_a_script_is_not_built(text):
    with pytest.raises(SystemExit, match="book/x: its text holds a script"):
        policy.refuse_scripts(None, "book/x", "", {"body": text}, None)


def test_texts_and_data_are_no_scripts():
    data = '<script type="application/json">{"a": "\\u003cscript>"}</script>'
    body = f'<p>&lt;script&gt;</p>{data}<a href="on.html">on</a>'
    policy.refuse_scripts(None, "book/x", "", {"body": body}, None)
    policy.refuse_scripts(None, "search", "", {}, None)


def test_the_policy_knows_the_scripts_of_a_page():
    page = "<script>let a = 1 < 2;</script><a onclick='window.print()'>"
    written = policy.policy(page)
    known = base64.b64encode(hashlib.sha256(b"let a = 1 < 2;").digest()).decode()
    assert f"'sha256-{known}'" in written
    with pytest.raises(ValueError, match=r"\['alert\(1\)'\]"):
        policy.policy('<a onclick="alert(1)">')


def test_live_figures_get_a_place():
    given = {"figure": "prompt", "alt": "A <prompt>", "d": 2, "label": "</SCRIPT><!--<script>"}
    figure = new_output("display_data", {MIME: given, "image/png": "iVBO", "text/plain": "live.prompt()"})
    other = new_output("display_data", {"text/plain": "1"})
    notebook = new_notebook(cells=[new_code_cell(outputs=[figure, other])])
    figure, other = sphinx_live.place_figures(notebook).cells[0].outputs
    assert list(figure.data) == ["text/html"]
    html = figure.data["text/html"]
    assert html.startswith('<div class="lsa-live" data-figure="prompt"><p class="lsa-live-alt">A &lt;prompt')
    (inside,) = re.findall(r"<script[^>]*>(.*)</script>", html)
    assert "<" not in inside, "no text in it ends its script, or begins another"
    assert json.loads(inside) == given
    assert other.data == {"text/plain": "1"}
