"""Gauss rules and normal equations of their own, for tests that must not use those of `lsa`."""

from fractions import Fraction

import torch

from lsa.ladder import trace_moments


def normal_equations(n: int, d: int, noise: Fraction, k: int) -> tuple[Fraction, list[Fraction]]:
    """L*_k and the coefficients of p*_k by Gaussian elimination in Fractions."""
    m = [None, *trace_moments(n, d, 2 * k)]
    rows = [[m[i + j + 2] + noise * m[i + j + 1] for j in range(k)] + [Fraction(m[i + 1])] for i in range(k)]
    for i in range(k):
        rows[i] = [value / rows[i][i] for value in rows[i]]
        for other in range(k):
            if other != i:
                factor = rows[other][i]
                rows[other] = [a - factor * b for a, b in zip(rows[other], rows[i], strict=True)]
    p = [row[-1] for row in rows]
    return d + noise - sum(c * m[i + 1] for i, c in enumerate(p)), p


def hermite_rule(m):
    off = torch.arange(1, m, dtype=torch.float64).sqrt()
    nodes, vectors = torch.linalg.eigh(torch.diag(off, 1) + torch.diag(off, -1))
    return nodes.tolist(), vectors[0].square().tolist()


def chi_square_rule(n, m):
    k = torch.arange(m, dtype=torch.float64)
    off = torch.sqrt(k[1:] * (k[1:] + n / 2 - 1))
    nodes, vectors = torch.linalg.eigh(torch.diag(2 * k + n / 2) + torch.diag(off, 1) + torch.diag(off, -1))
    return (2 * nodes).tolist(), vectors[0].square().tolist()
