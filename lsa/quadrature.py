"""Gauss rules for the laws that prompts are made of: normal and χ² variables, and products of them.

A rule is a pair (nodes, weights). The weights sum to one, so that `weights @ g(nodes)` is a mean.
With m nodes it is exact for polynomials g of degree up to 2m − 1.
"""

import numpy as np
import torch
from torch import Tensor

from . import checks

__all__ = ["chi_square_rule", "normal_rule", "product_rule"]

Rule = tuple[Tensor, Tensor]


def normal_rule(count: int) -> Rule:
    """`count` nodes and weights for N(0, 1)."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(checks.integer("count", count, 1))
    return torch.from_numpy(nodes), torch.from_numpy(weights / weights.sum())


def chi_square_rule(k: int, count: int) -> Rule:
    """`count` nodes and weights for χ² with k degrees of freedom; for k = 0 the one node 0."""
    k, count = checks.integer("k", k, 0), checks.integer("count", count, 1)
    i = torch.arange(count if k else 1, dtype=torch.float64)
    off = torch.diag((i[1:] * (i[1:] + k / 2 - 1)).sqrt(), 1)  # Laguerre's recurrence (Golub and Welsch)
    nodes, vectors = torch.linalg.eigh(torch.diag(2 * i + k / 2) + off + off.T)
    return 2 * nodes, vectors[0].square()


def product_rule(*rules: Rule) -> Rule:
    """The joint rule of independent variables: nodes (len(rules), all), weights (all,)."""
    nodes, weights = (torch.meshgrid(*parts, indexing="ij") for parts in zip(*rules, strict=True))
    return torch.stack(nodes).flatten(1), torch.stack(weights).prod(0).flatten()
