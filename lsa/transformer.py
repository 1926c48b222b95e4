"""Layers of linear attention on top of each other, computed on Gram matrices.

Layer l moves all tokens, Z ← Z + P_l Z Zᵀ Q_l Z with the n labelled tokens as columns of Z, and the query's
token follows the same rule with the labelled tokens as keys. Then z_q = F_k(G) [x_q; 0] after k layers, with

    F_0 = I,    F_(l+1) = (I + P_l F_l G F_lᵀ Q_l) F_l,

so that at any depth the prompt enters through G alone and the answer is linear in x_q (`lem-depth-gram`).
"""

import math

import torch
from torch import Tensor, nn

from . import checks
from .covariates import Gaussian
from .data import Task
from .prompts import Prompts, check_prompts

__all__ = ["LinearTransformer", "step_polynomial"]


class LinearTransformer(nn.Module):
    """P and Q (layers, d+1, d+1), float64; the answer is minus the query's label slot (`eq-depth-layers`).

    Minus, because layers of gradient descent leave the residual y_i − w·x_i in a token's label slot, and in
    the query's 0 − w·x_q. One layer is a `LinearSelfAttention` of one head: a is minus P's last row, M is Q's
    first d columns. The entries start as N(0, scale²/(d+1)).
    """

    def __init__(
        self,
        d: int,
        layers: int,
        *,
        scale: float = 0.02,
        generator: torch.Generator | int | None = None,
    ):
        super().__init__()
        self.d, self.layers = checks.integer("d", d, 1), checks.integer("layers", layers, 1)
        scale, generator = checks.number("scale", scale, least=0), checks.generator(generator)
        shape = (2, self.layers, self.d + 1, self.d + 1)
        start = torch.randn(*shape, generator=generator, dtype=torch.float64)
        self.P, self.Q = (nn.Parameter(each * (scale / math.sqrt(self.d + 1))) for each in start)

    def extra_repr(self) -> str:
        return f"d={self.d}, layers={self.layers}"

    @classmethod
    def from_steps(cls, d: int, steps: Tensor, moves: Tensor | None = None) -> "LinearTransformer":
        """P_l = diag(ω_l I, −η_l), Q_l = diag(I, 0): one layer a step (`eq-depth-gdpp`).

        steps: η_l (layers,), a step on the residual each.
        moves: ω_l (layers,), how covariates move; None leaves them alone, which is plain gradient descent.
        """
        steps = checks.vector("steps", steps, len(steps))
        moves = torch.zeros_like(steps) if moves is None else checks.vector("moves", moves, len(steps))
        model = cls(d, len(steps), scale=0.0)
        with torch.no_grad():
            for P, Q, step, move in zip(model.P, model.Q, steps, moves, strict=True):
                P.diagonal()[:d], P.diagonal()[d:] = move, -step
                Q.diagonal()[:d] = 1
        return model

    def weights_from_gram(self, gram: Tensor) -> Tensor:
        """u (…, d) with ŷ = u·x_q, from Gram matrices G (…, d+1, d+1)."""
        F = torch.eye(self.d + 1, dtype=torch.float64).expand(gram.shape)  # F_0
        for P, Q in zip(self.P, self.Q, strict=True):
            F = F + P @ (F @ (gram @ (F.mT @ (Q @ F))))  # (…, d+1, d+1)
        return -F[..., -1, :-1]  # the label slot of F_k [x_q; 0], and minus it is the answer

    def in_context_weights(self, prompts: Prompts) -> Tensor:
        """u (B, d): the linear model ŷ = u·x_q that the layers make of a prompt."""
        return self.weights_from_gram(check_prompts(prompts, self.d).gram)

    def forward(self, prompts: Prompts) -> Tensor:
        """Predictions ŷ (B,)."""
        return (self.in_context_weights(prompts) * prompts.x_query).sum(-1)

    def sampled_losses(
        self, task: Task, batch: int, generator: torch.Generator | int | None = None
    ) -> Tensor:
        """Squared errors (batch,) on fresh prompts.

        For linear targets and Gaussian covariates the cost does not grow with n: Gram matrices are drawn and
        the query integrates out (`Task.query_loss`).
        """
        if checks.instance("task", task, Task, "a lsa.Task").d != self.d:
            checks.fail("task", task.d, f"a task with d = {self.d}, as the layers; this is its d")
        if task.linear and isinstance(task.covariates, Gaussian):
            factor, w = task.gram_factor(batch, generator)
            return task.query_loss(self.weights_from_gram(factor @ factor.mT), w)
        prompts = task.sample(batch, generator)
        return (self(prompts) - prompts.y_query).square()


def step_polynomial(lam: Tensor, steps: Tensor, moves: Tensor | tuple = ()) -> Tensor:
    """p(λ) of the layers `LinearTransformer.from_steps(d, steps, moves)`: their u is p(XᵀX) Xᵀy.

    A layer takes 1 − η K from what is left, and covariates grow by 1 + ω K, so that the next layer's scores
    are K (1 + ω K)²: 1 − λ p(λ) = ∏_l (1 − η_l K_l(λ)) with K_0 = λ (`eq-depth-product`).
    """
    scores, grown, left, p = lam, torch.ones_like(lam), torch.ones_like(lam), torch.zeros_like(lam)
    for layer, step in enumerate(steps):
        p = p + step * grown**2 * left
        left = left * (1 - step * scores)
        if layer < len(moves):
            factor = 1 + moves[layer] * scores
            grown, scores = grown * factor, scores * factor**2
    return p
