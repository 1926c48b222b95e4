"""One layer of linear self-attention, and the gradient-descent step it learns (arXiv 2307.03576)."""

from importlib import import_module
from typing import TYPE_CHECKING

from .baselines import gradient_descent, gradient_descent_weights, ridge, ridge_weights
from .compare import Comparison, compare
from .covariates import Gaussian, Rademacher, Sphere, Uniform
from .data import Task, isotropic, nonlinear, skewed
from .history import Run
from .ladder import Ladder, ladder, polynomial_loss
from .landscape import Trap, traps
from .model import LinearSelfAttention
from .population import population_loss
from .prompts import Prompts
from .ridge_functions import (
    AbsoluteValue,
    Cubic,
    ErfNetwork,
    Hermite3,
    ReLUNetwork,
    Sign,
    TanhNetwork,
)
from .samples import fit_samples
from .softmax import SoftmaxAttention, SoftmaxLoss, score_floor, softmax_loss
from .targets import Cosine, Linear, Moments, Quadratic, Target
from .temperatures import SoftmaxLadder, softmax_ladder
from .theory import Optimum, estimate_moments, moments, one_step_loss, optimum
from .training import fit
from .transformer import LinearTransformer, step_polynomial

if TYPE_CHECKING:
    from .show import figures, live
    from .show.live import Playground

__version__ = "1.0.0"
__all__ = [
    "AbsoluteValue",
    "Comparison",
    "Cosine",
    "Cubic",
    "ErfNetwork",
    "Gaussian",
    "Hermite3",
    "Ladder",
    "Linear",
    "LinearSelfAttention",
    "LinearTransformer",
    "Moments",
    "Optimum",
    "Playground",
    "Prompts",
    "Quadratic",
    "Rademacher",
    "ReLUNetwork",
    "Run",
    "Sign",
    "SoftmaxAttention",
    "SoftmaxLadder",
    "SoftmaxLoss",
    "Sphere",
    "TanhNetwork",
    "Target",
    "Task",
    "Trap",
    "Uniform",
    "compare",
    "estimate_moments",
    "figures",
    "fit",
    "fit_samples",
    "gradient_descent",
    "gradient_descent_weights",
    "isotropic",
    "ladder",
    "live",
    "moments",
    "nonlinear",
    "one_step_loss",
    "optimum",
    "polynomial_loss",
    "population_loss",
    "ridge",
    "ridge_weights",
    "score_floor",
    "skewed",
    "softmax_ladder",
    "softmax_loss",
    "step_polynomial",
    "traps",
]

# What is shown is loaded when asked for: figures take longer to load than the science.
_SHOWN = {"Playground": "live", "figures": "figures", "live": "live"}


def __getattr__(name: str):
    if name == "explore":
        raise AttributeError("lsa.explore is gone: ipywidgets.interact draws figures of your own")
    if name not in _SHOWN:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        module = import_module(f"{__name__}.show.{_SHOWN[name]}")
    except ModuleNotFoundError as error:
        extra = "the extra `show` brings: pip install '.[show]' in the repository"
        raise ImportError(f"lsa.{name} needs {error.name}, which {extra}", name=error.name) from error
    return getattr(module, name, module)  # of the module, or the module itself


def __dir__() -> list[str]:
    return sorted(globals().keys() | _SHOWN.keys())
