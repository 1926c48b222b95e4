"""What Binder makes of .binder/, as far as that can be known without Docker and without conda."""

import ast
import re
import shlex
import subprocess
import sys
import tomllib
from importlib.metadata import distribution, packages_distributions
from pathlib import Path

import contents
import pytest
import yaml
from helpers import ROOT
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ENVIRONMENT = yaml.safe_load((ROOT / ".binder" / "environment.yml").read_text())
POST_BUILD = (ROOT / ".binder" / "postBuild").read_text()


@pytest.fixture(scope="module")
def installed() -> set[str]:
    """Everything that postBuild's pip installs, found by what the packages themselves ask for."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    asked = [*project["dependencies"], *project["optional-dependencies"]["show"]]
    todo = [Requirement(each).name for each in asked]
    todo += re.search(r"--editable '\.\[show\]' (.*)", POST_BUILD)[1].split()
    found = {"lsa"}
    while todo:
        name = canonicalize_name(todo.pop())
        if name not in found:
            found.add(name)
            wanted = map(Requirement, distribution(name).requires or [])
            todo += [each.name for each in wanted if not each.marker or each.marker.evaluate({"extra": ""})]
    return found


def test_repo2docker_reads_the_folder():
    command = [Path(sys.executable).with_name("jupyter-repo2docker"), "--no-build", "--debug", ROOT]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    dockerfile = done.stdout + done.stderr
    (python,) = [each for each in ENVIRONMENT["dependencies"] if each.startswith("python=")]
    assert f"Building conda environment for {python}" in dockerfile
    assert '--file ".binder/environment.yml"' in dockerfile
    assert "RUN ./.binder/postBuild" in dockerfile


def test_python_is_one_that_the_package_supports():
    (version,) = [each[7:] for each in ENVIRONMENT["dependencies"] if each.startswith("python=")]
    (asked,) = re.findall(r'requires-python = "(.*)"', (ROOT / "pyproject.toml").read_text())
    assert version in Requirement(f"python{asked}").specifier


def test_every_package_is_pinned_at_the_version_of_the_checks(installed):
    (script,) = re.findall(r"^(sed .* lock\.txt) >", POST_BUILD, flags=re.M)
    lines = subprocess.run(shlex.split(script), cwd=ROOT, capture_output=True, text=True, check=True).stdout
    pinned = [line.partition(";")[0].strip().split("==") for line in lines.splitlines()]
    pins = {canonicalize_name(name): version for name, version in pinned}
    assert "torch" not in pins, "conda has brought it"
    here = {name: distribution(name).version.partition("+")[0] for name in installed - {"lsa", "setuptools"}}
    del here["torch"]
    assert {name: pins.get(name) for name in here} == here


def test_conda_brings_what_is_not_pinned_by_pip():
    (torch,) = [each for each in ENVIRONMENT["dependencies"] if each.startswith("pytorch-cpu")]
    assert distribution("torch").version in Requirement(torch).specifier


@pytest.mark.parametrize("name", contents.chapters())
def test_what_a_chapter_imports_is_there(name, installed):
    provided = packages_distributions()
    for cell in contents.read_source(contents.source(name)).cells:
        for node in ast.walk(ast.parse(cell.source)) if cell.cell_type == "code" else []:
            modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            modules += [node.module] if isinstance(node, ast.ImportFrom) else []
            for module in {module.partition(".")[0] for module in modules} - sys.stdlib_module_names:
                assert installed & set(map(canonicalize_name, provided[module])), module
