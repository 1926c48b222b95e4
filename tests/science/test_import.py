"""`import lsa` is the science alone; what shows it is loaded when asked for."""

import subprocess
import sys

import pytest

import lsa

SHOWN = ["anywidget", "ipywidgets", "matplotlib", "tqdm"]


def in_a_new_process(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_plotting_and_widgets_are_loaded_when_asked_for():
    found = in_a_new_process(f"""
import sys, torch
before = set(sys.modules)  # torch itself loads tqdm
import lsa
print({{name.partition(".")[0] for name in set(sys.modules) - before}} & set({SHOWN}))
print({{"Playground", "figures", "live"}} <= set(dir(lsa)), hasattr(lsa, "no_such_name"))
from lsa import figures, live
print(lsa.figures is figures, lsa.live is live, lsa.Playground is live.Playground)
""")
    assert found.split() == ["set()", "True", "False", *["True"] * 3]


def test_the_science_works_where_they_are_not_installed():
    found = in_a_new_process(f"""
import sys
sys.modules |= dict.fromkeys({SHOWN})  # None: not to be found
import lsa
sys.stderr.isatty = lambda: True  # where a bar would be shown
print(lsa.fit(lsa.LinearSelfAttention(3, generator=0), lsa.isotropic(3, 6, 0.1)).ending)
for name in ("figures", "live", "Playground"):
    try:
        getattr(lsa, name)
    except ImportError as error:
        print(error)
""")
    end, *errors = found.splitlines()
    assert end == "at the optimum"
    for name, error in zip(("figures", "live", "Playground"), errors, strict=True):
        assert error.startswith(f"lsa.{name} needs ")
        assert error.endswith("pip install '.[show]' in the repository")


def test_explore_says_what_takes_its_place():
    with pytest.raises(AttributeError, match=r"lsa\.explore is gone: ipywidgets\.interact draws"):
        lsa.explore  # noqa: B018
