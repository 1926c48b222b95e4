"""One layer of linear self-attention, and the gradient-descent step it learns (arXiv 2307.03576)."""

from . import figures
from .baselines import gradient_descent, gradient_descent_weights, ridge, ridge_weights
from .compare import Comparison, compare
from .covariates import Gaussian, Rademacher, Sphere, Uniform
from .data import Prompts, Task, isotropic, nonlinear, skewed
from .explore import explore
from .model import LinearSelfAttention
from .population import population_loss
from .ridge_functions import (
    AbsoluteValue,
    Cubic,
    ErfNetwork,
    Hermite3,
    ReLUNetwork,
    Sign,
    TanhNetwork,
)
from .targets import Cosine, Linear, Moments, Quadratic, Target
from .theory import Optimum, estimate_moments, moments, one_step_loss, optimum
from .training import Run, fit

__version__ = "1.0.0"
__all__ = [
    "AbsoluteValue",
    "Comparison",
    "Cosine",
    "Cubic",
    "ErfNetwork",
    "Gaussian",
    "Hermite3",
    "Linear",
    "LinearSelfAttention",
    "Moments",
    "Optimum",
    "Prompts",
    "Quadratic",
    "Rademacher",
    "ReLUNetwork",
    "Run",
    "Sign",
    "Sphere",
    "TanhNetwork",
    "Target",
    "Task",
    "Uniform",
    "compare",
    "estimate_moments",
    "explore",
    "figures",
    "fit",
    "gradient_descent",
    "gradient_descent_weights",
    "isotropic",
    "moments",
    "nonlinear",
    "one_step_loss",
    "optimum",
    "population_loss",
    "ridge",
    "ridge_weights",
    "skewed",
]
