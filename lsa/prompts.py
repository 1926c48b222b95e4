"""Prompts: batches of labelled examples and a query, made by a task or given by the reader.

A prompt is n labelled pairs (x_i, y_i) and a query x_q. A token is v_i = [x_i; y_i]; linear attention sees
the prompt only through the Gram matrix G = Σ_i v_i v_iᵀ.
"""

import math
from typing import NamedTuple

import torch
from torch import Tensor

from . import checks

__all__ = ["Prompts"]


class Prompts(NamedTuple):
    """A batch of B prompts with n examples each."""

    x: Tensor  #: covariates (B, n, d)
    y: Tensor  #: labels (B, n)
    x_query: Tensor  #: query covariates (B, d)
    y_query: Tensor  #: what is to be predicted (B,)

    @classmethod
    def of(cls, x, y, x_query, y_query=None) -> "Prompts":
        """Prompts from torch, numpy or lists of any real type; a copy in float64, every number finite.

        A single prompt may come without its batch dimension. What is to be predicted may be left out: it is
        then NaN, and so is every loss, but not the predictions.
        """
        given = {"x": x, "y": y, "x_query": x_query}
        parts = [checks.real(name, part, "an array of real numbers") for name, part in given.items()]
        if parts[0].ndim == 2:
            parts = [part[None] for part in parts]
            y_query = None if y_query is None else torch.as_tensor(y_query).reshape(1)
        empty = torch.full(parts[0].shape[:1], math.nan, dtype=torch.float64)
        answers = empty if y_query is None else torch.as_tensor(y_query, dtype=torch.float64).clone()
        return check_prompts(cls._make([*parts, answers]))

    @property
    def tokens(self) -> Tensor:
        """v_i = [x_i; y_i] (B, n, d+1)."""
        return torch.cat([self.x, self.y[..., None]], dim=-1)

    @property
    def gram(self) -> Tensor:
        """G = Σ_i v_i v_iᵀ (B, d+1, d+1): all that the layer sees of the examples."""
        return self.tokens.mT @ self.tokens


def check_prompts(prompts: Prompts, d: int | None = None) -> Prompts:
    """The prompts, if their parts fit each other and dimension d: checked where data enters."""
    hint = "; lsa.Prompts.of makes prompts of numbers from anywhere"
    checks.instance("prompts", prompts, Prompts, f"lsa.Prompts, as task.sample gives{hint}")
    for name, part in prompts._asdict().items():
        kind = (part.dtype, part.device.type) if isinstance(part, Tensor) else type(part)
        if kind != (torch.float64, "cpu"):
            checks.fail(f"prompts.{name}", kind, f"a tensor of float64 on the CPU{hint}", TypeError)
    shape, wanted = tuple(prompts.x.shape), "d" if d is None else d
    if len(shape) != 3 or 0 in shape or (d is not None and shape[2] != d):
        checks.fail("prompts.x", shape, f"the shape (B, n, {wanted}): covariates of dimension {wanted}{hint}")
    for name, expected in (("y", shape[:2]), ("x_query", (shape[0], shape[2])), ("y_query", shape[:1])):
        if tuple(found := getattr(prompts, name).shape) != expected:
            checks.fail(f"prompts.{name}", tuple(found), f"the shape {expected}, as x has {shape}")
    return prompts
