"""The tools that make the pages: what they fetch, what they launch, how they show docstrings."""

import base64
import hashlib
import io
import tarfile

import docstrings
import npm
import pytest
import sphinx_book


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


def test_another_archive_than_the_pinned_one_is_refused(registry):
    pinned = registry.integrity
    registry.content = archive(b"2")
    with pytest.raises(RuntimeError, match=r"@a/b@1\.0 is not the package that was pinned"):
        npm.npm_package("@a/b", "1.0", pinned)
    assert list(npm.CACHE.iterdir()) == []


def test_without_the_network_the_message_says_what_to_do(tmp_path, monkeypatch):
    (tmp_path / "npm").write_text("#!/bin/sh\necho no network >&2\nexit 1\n")
    (tmp_path / "npm").chmod(0o755)
    monkeypatch.setattr(npm.sys, "executable", str(tmp_path / "python"))
    with pytest.raises(RuntimeError, match=r"mathjax@3 could not be fetched.*\n?.*no network"):
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
    ("As in\n\n    P* = Σ⁻¹", "As in\n\n.. code-block:: text\n\n   P* = Σ⁻¹"),
])
def test_docstrings(text, expected):
    assert docstrings.to_rst(text, {"n"}) == expected
