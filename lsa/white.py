"""The Gram matrix G of a prompt, in white coordinates: all its moments that a layer's loss needs.

White coordinates are those in which Σ = I and, for a linear target, the prior mean is zero.
"""

import torch
from torch import Tensor

from .covariates import Covariates
from .targets import Moments

__all__ = ["WhiteMoments"]


class WhiteMoments:
    """The moments of G = [[XᵀX, b], [bᵀ, c]], b = Xᵀy, c = yᵀy, in white coordinates."""

    def __init__(self, n: int, noise: float, law: Covariates, moments: Moments):
        self.n, self.kurtosis, self.fourth_scale = n, law.kurtosis, law.fourth_scale
        eye = torch.eye(law.d, dtype=torch.float64)
        inverse = eye if law.is_white else torch.linalg.pinv(law.root, hermitian=True, rtol=1e-8)
        self.C, S = (inverse @ moment @ inverse for moment in (moments.C, moments.S))
        self.q = moments.power + noise  # E y²
        both = n * (S + noise * eye)
        self.bb = both + n * (n - 1) * self.C  # E b bᵀ
        self.xxc = both + n * (n - 1) * self.q * eye  # E XᵀX c
        self.cc = n * (moments.fourth + 6 * noise * moments.power + 3 * noise**2)  # E c²
        self.cc += n * (n - 1) * (moments.square + 2 * noise * moments.power + noise**2)

    def gram_square(self, left: Tensor, right: Tensor, V: Tensor) -> Tensor:
        """E[G A G] V for A = left rightᵀ = [[K, u], [vᵀ, e]], with left, right (…, d+1, j) and V (…, d+1, k).

            E[G A G] = [[E[XᵀX K XᵀX] + e E[bbᵀ],  E[bbᵀ] v + E[XᵀX c] u], [⋯ᵀ, ⟨K, E[bbᵀ]⟩ + e E c²]]

        The factors are not multiplied out: for a vector V all but one product cost O(d²).
        """
        # left = [N; m] and right = [N_; m_], split into the rows of x and that of y; likewise V = [x; y]
        N, m, N_, m_ = left[..., :-1, :], left[..., -1:, :], right[..., :-1, :], right[..., -1:, :]
        u, v, e = N @ m_.mT, N_ @ m.mT, m @ m_.mT  # (…, d, 1), (…, d, 1), (…, 1, 1)
        x, y = V[..., :-1, :], V[..., -1:, :]
        diagonal = (N * N_).sum(-1, keepdim=True)  # of K
        along, across = N @ (N_.mT @ x), N_ @ (N.mT @ x)  # K x, Kᵀ x
        fourth = diagonal.sum(-2, keepdim=True) * x + along + across + (self.kurtosis - 3) * diagonal * x
        # G is a sum over the examples: n terms of one example, n(n−1) of two different ones
        xx = self.n * self.fourth_scale * fourth + self.n * (self.n - 1) * along + e * (self.bb @ x)
        yx = self.xxc @ v + self.bb @ u
        yy = (N * (self.bb @ N_)).sum((-1, -2))[..., None, None] + e * self.cc
        return torch.cat([xx + (self.bb @ v + self.xxc @ u) * y, yx.mT @ x + yy * y], -2)

    def cross(self, a: Tensor, h: Tensor) -> Tensor:
        """J(a) = E[G a (m_f − h)ᵀ] / n, (…, H, d+1, d)."""
        alpha, gamma, h = a[..., :-1], a[..., -1:], h[..., None, :]
        x = gamma[..., None] * self.C - alpha[..., :, None] * h[..., None, :]
        return torch.cat([x, (alpha @ self.C - self.q * gamma * h)[..., None, :]], -2)

    def cross_transposed(self, M: Tensor, h: Tensor) -> Tensor:
        """The vector (H, d+1) whose product with a is ⟨M, J(a)⟩."""
        N, m = M[..., :-1, :], M[..., -1, :]
        y = (N * self.C).sum((-1, -2)) - self.q * (m @ h)
        return torch.cat([m @ self.C - N @ h, y[..., None]], -1)
