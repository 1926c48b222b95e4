"""The defaults of everything public: readers and chapters rely on them without naming them."""

import inspect
import math

import pytest

import lsa
from lsa import training

DEFAULTS = {
    lsa.LinearSelfAttention: {"heads": 1, "residual": False, "scale": 0.1},
    lsa.LinearTransformer: {"scale": 0.02},
    lsa.SoftmaxAttention: {"heads": 1, "scale": 0.5},
    lsa.Uniform: {"half_width": math.sqrt(3)},
    lsa.Task: {"noise_variance": 0.0},
    lsa.Linear: {"prior_mean": None},
    lsa.ReLUNetwork: {"slope": 0.0, "weight_scale": 1.0, "output_scale": 1.0},
    lsa.ErfNetwork: {"radius": 1.0, "output_scale": 1.0},
    lsa.TanhNetwork: {"radius": 1.0, "output_scale": 1.0},
    lsa.Cosine: {"frequency": 1.0},
    lsa.isotropic: {"noise_variance": 0.0},
    lsa.skewed: {"noise_variance": 0.0},
    lsa.nonlinear: {"noise_variance": 0.0},
    lsa.gradient_descent: {"steps": 1, "start": None},
    lsa.gradient_descent_weights: {"steps": 1, "start": None},
    lsa.compare: {"batch": 8192},
    lsa.estimate_moments: {"samples": 65_536, "generator": 0},
    lsa.optimum: {"samples": 65_536, "generator": 0},
    lsa.population_loss: {"moments": None},
    lsa.traps: {"heads": 1},
    lsa.landscape.landscape: {"heads": 1},
    lsa.softmax_loss: {"pair": False, "gain": None},
    lsa.fit_samples: {"steps": 1000, "learning_rate": 0.02, "batch": 1024, "clip": None},
    lsa.fit: {
        "loss": None, "optimizer": None, "steps": None, "learning_rate": None, "batch": None, "snapshots": 0,
        "progress": True,
    },
}  # fmt: skip


@pytest.mark.parametrize("call", DEFAULTS, ids=lambda call: call.__name__)
def test_defaults(call):
    found = {
        name: parameter.default
        for name, parameter in inspect.signature(call).parameters.items()
        if parameter.default is not inspect.Parameter.empty
    }
    assert {"generator": None} | found == {"generator": None} | DEFAULTS[call]


def test_steps_and_rates_of_a_fit():
    """As the docstring of `lsa.fit` and the chapters have them."""
    assert training.STEPS == {"lbfgs": 300, "als": 300, "adam": 2000, "gd": 2000}
    task = lsa.isotropic(3, 5, 0.5)
    assert training._rate(task, "lbfgs") == training._rate(task, "als") == 1.0
    assert training._rate(task, "adam") == 0.01
    wide = lsa.skewed([[4.0, 0.0], [0.0, 2.0]], 10, 0.5)
    assert training._rate(wide, "gd") == pytest.approx(0.15 / (10 * 2.5 * 3.0))  # n, E y², tr Σ / d
