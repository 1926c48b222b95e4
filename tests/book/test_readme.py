"""The README stays true: its example runs, its commands and files exist."""

import re
import subprocess

import pytest
from helpers import ROOT

README = (ROOT / "README.md").read_text()


def test_the_example_does_what_it_says(capsys):
    (example,) = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    assert len([line for line in example.splitlines() if line]) <= 11
    exec(compile(example, "README.md", "exec"), {})
    excess, difference, step = re.findall(r"[-\d.]+(?:e-?\d+)?(?=\n)", capsys.readouterr().out)
    assert abs(float(excess)) < 1e-12
    assert float(difference) < 1e-5
    assert float(step) == pytest.approx(1 / (9 + 2 * 4 + 3 + 4 * 0.5))


def test_every_make_target_exists():
    makefile = (ROOT / "Makefile").read_text()
    for target in set(re.findall(r"\bmake ([a-z]+)\b", README)):
        assert re.search(rf"^{target}:", makefile, flags=re.MULTILINE), target


def test_the_commands_without_make_are_those_that_make_runs():
    (block,) = re.findall(r"Without `make`.*?```bash\n(.*?)```", README, flags=re.DOTALL)
    command = ["make", "--dry-run", "--always-make", "book", "lab", "test", "PYTHON=python3"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    runs = re.sub(r" --quiet| --disable-pip-version-check| \|\| .*", "", done.stdout).splitlines()
    plain = block.splitlines()
    assert [line for line in runs if line.startswith((".venv/bin", "python3 -m"))] == plain


def test_one_variable_names_the_build_of_torch():
    command = ["make", "--dry-run", "--always-make", "install", "TORCH=torch==9 --any"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    installs = re.findall(r"pip install (?:--quiet --disable-pip-version-check )?(.*)", done.stdout)
    assert installs == ["--require-hashes -r lock.txt", "torch==9 --any", "-r requirements.txt"]


def test_every_linked_file_exists():
    for link in re.findall(r"\]\((?!http)([^)]+)\)", README):
        assert (ROOT / link).exists(), link
