"""The tools that make the pages: what they fetch, what they launch, how they show docstrings."""

import base64
import hashlib
import io
import json
import re
import tarfile
from types import SimpleNamespace

import docstrings
import extension
import nbformat
import npm
import policy
import pytest
import sphinx_live
from contents import WIDGET_STATE


def archive(content: bytes) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        info = tarfile.TarInfo("package/index.js")
        info.size = len(content)
        tar.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


@pytest.fixture
def registry(tmp_path, monkeypatch):
    """Stands in for npm: holds one archive, and counts how often it is asked for."""

    class Registry:
        content, asked = archive(b"1"), 0

        @property
        def integrity(self) -> str:
            return "sha512-" + base64.b64encode(hashlib.sha512(self.content).digest()).decode()

    held = Registry()

    def pack(spec, folder):
        held.asked += 1
        (folder / "x.tgz").write_bytes(held.content)
        return folder / "x.tgz"

    monkeypatch.setattr(npm, "CACHE", tmp_path / "cache")
    monkeypatch.setattr(npm, "_pack", pack)
    return held


def test_a_package_is_fetched_once(registry):
    folder = npm.npm_package("@a/b", "1.0", registry.integrity)
    assert (folder / "index.js").read_bytes() == b"1"
    assert npm.npm_package("@a/b", "1.0", registry.integrity) == folder
    assert registry.asked == 1


@pytest.mark.parametrize(
    "damage", [b"", b"changed", archive(b"1")[:40]], ids=["emptied", "changed", "cut short"]
)
def test_a_damaged_cache_is_repaired(registry, damage):
    npm.npm_package("@a/b", "1.0", registry.integrity)
    (kept,) = npm.CACHE.iterdir()
    kept.write_bytes(damage)
    npm._unpack.cache_clear()  # as in the next build
    assert (npm.npm_package("@a/b", "1.0", registry.integrity) / "index.js").read_bytes() == b"1"
    assert registry.asked == 2


def test_another_archive_than_the_pinned_one_is_refused(registry):
    pinned = registry.integrity
    registry.content = archive(b"2")
    with pytest.raises(SystemExit, match=r"@a/b@1\.0 is not the package that was pinned"):
        npm.npm_package("@a/b", "1.0", pinned)
    assert list(npm.CACHE.iterdir()) == []


def test_without_the_network_the_message_says_what_to_do(tmp_path, monkeypatch):
    (tmp_path / "npm").write_text("#!/bin/sh\necho no network >&2\nexit 1\n")
    (tmp_path / "npm").chmod(0o755)
    monkeypatch.setattr(npm.sys, "executable", str(tmp_path / "python"))
    with pytest.raises(SystemExit, match=r"mathjax@3 could not be fetched(.|\n)*no network"):
        npm._pack("mathjax@3", tmp_path)


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
        ("As in\n\n    f(x)\n\nsaid", "As in\n\n.. code-block:: python\n\n   f(x)\n\nsaid"),
        ("As in\n\n    P* = Σ⁻¹ C", "As in\n\n.. parsed-literal::\n\n   P\\* = Σ⁻¹ C"),
        ("W_Vᵀ h in R^(d+1)", r"W\ :sub:`V`\ ᵀ h in R\ :sup:`d+1`\ "),
        ("Σ_heads e_{d+1}", r"Σ\ :sub:`heads`\  e\ :sub:`d+1`\ "),
        ("x_query, half_width", r"x\_query, half\_width"),
    ],
)
def test_docstrings(text, expected):
    assert docstrings.to_rst(text, {"n"}) == expected


def test_no_text_of_a_widget_ends_its_script():
    """Neither </SCRIPT> nor <!--<script> in a label may reach the page as markup."""
    nasty = json.dumps({"label": "</SCRIPT><b>", "other": "<!--<script>"})
    script = SimpleNamespace(attributes={"type": WIDGET_STATE, "body": nasty})
    context = {"script_files": [script], "body": ""}
    extension.move_widget_state(None, "page", "", context, None)
    (inside,) = re.findall(r"<script[^>]*>(.*)</script>", context["body"])
    assert "<" not in inside
    assert json.loads(inside) == json.loads(nasty)


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
    written = policy.policy(f"{page}<script src='html-manager/embed.js'></script>")
    known = base64.b64encode(hashlib.sha256(b"let a = 1 < 2;").digest()).decode()
    assert f"'sha256-{known}'" in written
    assert "'unsafe-eval'" in written
    assert "'unsafe-eval'" not in policy.policy(page)
    with pytest.raises(ValueError, match=r"\['alert\(1\)'\]"):
        policy.policy('<a onclick="alert(1)">')


def notebook_with(*models: tuple[str, str, dict]) -> nbformat.NotebookNode:
    """A notebook with one output for each widget model (its key, its kind, its state)."""
    outputs = [
        {"output_type": "display_data", "metadata": {}, "data": {sphinx_live.VIEW: {"model_id": key}}}
        for key, _, _ in models
    ]
    state = {key: {"model_name": kind, "state": values} for key, kind, values in models}
    cell = {"cell_type": "code", "source": "", "metadata": {}, "execution_count": 1, "outputs": outputs}
    widgets = {"widgets": {sphinx_live.STATE: {"state": state | {"l": {"model_name": "L", "state": {}}}}}}
    return nbformat.from_dict({"nbformat": 4, "nbformat_minor": 5, "metadata": widgets, "cells": [cell]})


FIGURE = {"figure": "prompt", "alt": "A <prompt>", "d": 2, "layout": "IPY_MODEL_l", "_esm": "x"}


def test_live_figures_get_a_place_and_other_widgets_stay():
    made = sphinx_live.place_figures("x", notebook_with(("a", "AnyModel", FIGURE), ("b", "Box", {})))
    figure, other = made.cells[0].outputs
    assert list(figure.data) == ["text/html"]
    assert figure.data["text/html"].startswith('<div class="lsa-live" data-figure="prompt">')
    assert "A &lt;prompt&gt;" in figure.data["text/html"]
    assert "_esm" not in figure.data["text/html"]
    assert list(other.data) == [sphinx_live.VIEW]
    assert list(made.metadata.widgets[sphinx_live.STATE].state) == ["b"]


def test_a_live_figure_within_another_widget_is_refused():
    notebook = notebook_with(("a", "AnyModel", FIGURE), ("b", "Box", {"children": ["IPY_MODEL_a"]}))
    with pytest.raises(ValueError, match=r"x: the figures \['prompt'\] are inside other widgets"):
        sphinx_live.place_figures("x", notebook)
