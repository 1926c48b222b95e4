"""The tools that make the pages: what they fetch, what they launch, how they show docstrings."""

import base64
import hashlib
import io
import json
import re
import tarfile
from types import SimpleNamespace

import docstrings
import npm
import pytest
import sphinx_book
from trouble import Trouble


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
    with pytest.raises(Trouble, match=r"@a/b@1\.0 is not the package that was pinned"):
        npm.npm_package("@a/b", "1.0", pinned)
    assert list(npm.CACHE.iterdir()) == []


def test_without_the_network_the_message_says_what_to_do(tmp_path, monkeypatch):
    (tmp_path / "npm").write_text("#!/bin/sh\necho no network >&2\nexit 1\n")
    (tmp_path / "npm").chmod(0o755)
    monkeypatch.setattr(npm.sys, "executable", str(tmp_path / "python"))
    with pytest.raises(Trouble, match=r"mathjax@3 could not be fetched(.|\n)*no network"):
        npm._pack("mathjax@3", tmp_path)


@pytest.mark.parametrize(("variables", "remote", "expected"), [
    ({"GITHUB_REPOSITORY": "me/fork", "GITHUB_REF_NAME": "main"}, "", ("https://github.com/me/fork", "main")),
    ({}, "https://github.com/me/book.git", ("https://github.com/me/book", "topic")),
    ({}, "git@github.com:me/book.git", ("https://github.com/me/book", "topic")),
    ({}, "ssh://git@github.com/me/book", ("https://github.com/me/book", "topic")),
    ({}, "/srv/git/book.git", None),
    ({}, "https://example.org/me/book.git", None),
    ({}, "", None),
])
def test_repository_to_launch(monkeypatch, variables, remote, expected):
    for name in ("GITHUB_REPOSITORY", "GITHUB_REF_NAME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sphinx_book, "_git", lambda *words: remote if words[0] == "remote" else "topic")
    assert sphinx_book.repository() == expected


@pytest.mark.parametrize(("text", "expected"), [
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
])
def test_docstrings(text, expected):
    assert docstrings.to_rst(text, {"n"}) == expected


def test_no_text_of_a_widget_ends_its_script():
    """Neither </SCRIPT> nor <!--<script> in a label may reach the page as markup."""
    nasty = json.dumps({"label": "</SCRIPT><b>", "other": "<!--<script>"})
    script = SimpleNamespace(attributes={"type": sphinx_book.WIDGET_STATE, "body": nasty})
    context = {"script_files": [script], "body": ""}
    sphinx_book.move_widget_state(None, "page", "", context, None)
    (inside,) = re.findall(r"<script[^>]*>(.*)</script>", context["body"])
    assert "<" not in inside
    assert json.loads(inside) == json.loads(nasty)
