"""The book's own Sphinx extension: nothing is asked of another host, and no button fails on click."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Any

import nbformat
from contents import ROOT, RUNS, as_text, source, with_outputs
from docutils import nodes
from docutils.parsers.rst.roles import CustomRole, generic_custom_role
from npm import ASSETS, node_modules
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.util.fileutil import copy_asset
from sphinx_live import place_figures
from sphinx_proof.directive import DEFAULT_REALTYP_TO_COUNTERTYP, ElementDirective
from sphinx_proof.nodes import NODE_TYPES, depart_enumerable_node, visit_enumerable_node

MENDED = {  # what bibtex's and the drop-downs' extensions write: and what they should
    'role="list" class="citation-list"': 'class="citation-list"',
    ' role="doc-biblioentry"': "",
    ' aria-label="Toggle hidden content"': "",
}


def fetch_assets(app: Sphinx) -> None:
    """Copy MathJax to the pages, before one is written: it notes the checksums."""
    if app.builder.format != "html":
        return
    packages = node_modules()
    for name, wanted in ASSETS.items():
        package = packages / name
        place = Path(app.outdir) / "_static" / name.rpartition("/")[2]
        for pattern in wanted:
            for path in package.glob(pattern):
                folder = place / path.relative_to(package)
                copy_asset(str(path), str(folder if path.is_dir() else folder.parent))


def repository() -> tuple[str, str] | None:
    """The address and branch of the public repository, by GitHub's variables or git; None if neither."""
    name, branch = os.environ.get("GITHUB_REPOSITORY"), os.environ.get("GITHUB_REF_NAME")
    if not name:
        remote = _git("remote", "get-url", "origin")
        match = re.fullmatch(r"(?:https://|ssh://)?(?:[^@/]+@)?github\.com[:/](.+?)(?:\.git)?/?", remote)
        name, branch = match and match[1], _git("branch", "--show-current")
    return (f"https://github.com/{name}", branch or "main") if name else None


def _git(*arguments: str) -> str:
    try:
        done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True)
        return done.stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def add_launch_buttons(app: Sphinx, config: Config) -> None:
    """A Binder button that launches this very repository, or a fork; none where nobody could launch it."""
    options = config.html_theme_options
    if found := repository():
        url, branch = found
        options |= {"repository_url": url, "repository_branch": branch, "use_repository_button": True}
        options.setdefault("launch_buttons", {})["binderhub_url"] = "https://mybinder.org"


def drop_icon_script(app: Sphinx, error: Exception | None) -> None:
    """Empty the theme's half megabyte of icons as script: its web font draws the same icons."""
    script = Path(app.outdir) / "_static" / "scripts" / "fontawesome.js"
    if error is None and script.exists():
        script.write_text("")


def read_chapter(app: Sphinx, page: str, text: list[str]) -> None:
    """Read a chapter as it was written, with its outputs; the notebook that Sphinx found is plain."""
    name = Path(page).name
    if source(name).exists():
        app.env.note_dependency(str(source(name)))
        try:
            text[0] = as_text(place_figures(join_folded(with_outputs(name))))
        except ValueError as error:
            raise SystemExit(f"{name}: {error}") from None  # Jupyter Book buries other exceptions


def join_folded(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """Folded cells in a row as one: a reader of the page meets one line, “Show the code”, not several."""

    def folded(cell: nbformat.NotebookNode) -> bool:
        tags = cell.metadata.get("tags", [])
        return cell.cell_type == "code" and bool({"hide-input", "hide-cell"} & set(tags))

    joined: list[nbformat.NotebookNode] = []
    for cell in notebook.cells:
        if joined and folded(joined[-1]) and not joined[-1].outputs and folded(cell):
            cell.source = f"{joined.pop().source}\n\n{cell.source}"
        joined.append(cell)
    notebook.cells = joined
    return notebook


def mend_roles(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Take out what screen readers are told wrongly: lists that are none, names other than the text."""
    if "body" in context:
        for wrong, right in MENDED.items():
            context["body"] = context["body"].replace(wrong, right)


def refresh(app: Sphinx, *_: Any) -> list[str]:
    """Pages to write again: one, or Sphinx would copy no changed style sheet; those that have run again."""
    return [app.config.root_doc, *(f"book/{path.stem}" for path in RUNS.glob("*.ipynb"))]


class experiment_node(nodes.Admonition, nodes.Element):
    """A numerical finding of ours: labelled and numbered like sphinx-proof's theorems and remarks."""


def add_experiments(app: Sphinx) -> None:
    DEFAULT_REALTYP_TO_COUNTERTYP["experiment"] = "experiment"
    NODE_TYPES["experiment"] = experiment_node
    app.add_directive_to_domain("prf", "experiment", ElementDirective)
    visitors = (visit_enumerable_node, depart_enumerable_node)
    app.add_enumerable_node(experiment_node, "experiment", None, html=visitors)


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_config_value("comments_config", {}, "")  # Jupyter Book sets it even where nobody reads it
    for name in ("sphinx_proof", "docstrings", "notebooks", "policy", "sphinx_live"):
        app.setup_extension(name)
    add_experiments(app)
    for actor in ("layer", "gd", "bayes", "theory"):  # {gd}`text`: the colour that \gd{...} has in formulas
        app.add_role(actor, CustomRole(actor, generic_custom_role, {"class": [f"lsa-{actor}"]}))
    app.connect("config-inited", add_launch_buttons, priority=1)
    app.connect("builder-inited", fetch_assets)
    app.connect("env-get-outdated", refresh)
    app.connect("source-read", read_chapter)
    app.connect("html-page-context", mend_roles)
    app.connect("build-finished", drop_icon_script)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
