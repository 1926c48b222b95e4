"""One layer of linear self-attention, read out at the query.

    ŷ = h · ( [x_q; 0]·residual + Σ_heads W_V Σ_i v_i (W_K v_i)·(W_Q [x_q; 0]) )

With a = W_Vᵀ h and M the first d columns of W_Kᵀ W_Q this is ŷ = Σ_heads aᵀ G M x_q (+ h_x·x_q).
Any leading dimensions of the weights are a stack of layers: many runs, one computation.
"""

import math
import warnings
from collections.abc import Iterable

import torch
from torch import Tensor, nn

from . import checks
from .prompts import Prompts, check_prompts


class LinearSelfAttention(nn.Module):
    """key, query, value (heads, d+1, d+1) and readout (d+1,), float64.

    The entries start as N(0, scale²/(d+1)), those of the read-out as N(0, 1/(d+1)). The start is small
    because from larger ones L-BFGS and Adam stall longer at a saddle. `residual` keeps the query's own token
    in the stream, which adds h_x·x_q for the first d entries h_x of the read-out.
    """

    def __init__(
        self,
        d: int,
        heads: int = 1,
        *,
        residual: bool = False,
        scale: float = 0.1,
        generator: torch.Generator | int | None = None,
    ):
        super().__init__()
        self.d, self.heads = checks.integer("d", d, 1), checks.integer("heads", heads, 1)
        self.residual = checks.instance("residual", residual, bool, "True or False")
        scale, generator = checks.number("scale", scale, least=0), checks.generator(generator)
        size = self.d + 1

        def weight(*shape: int, scale: float) -> nn.Parameter:
            entries = torch.randn(*shape, generator=generator, dtype=torch.float64)
            return nn.Parameter(entries * (scale / math.sqrt(size)))

        self.key = weight(self.heads, size, size, scale=scale)
        self.query = weight(self.heads, size, size, scale=scale)
        self.value = weight(self.heads, size, size, scale=scale)
        self.readout = weight(size, scale=1.0)

    def extra_repr(self) -> str:
        return f"d={self.d}, heads={self.heads}, residual={self.residual}"

    @classmethod
    def from_preconditioner(cls, P: Tensor) -> "LinearSelfAttention":
        """Weights that predict x_qᵀ P Xᵀy exactly: W_K = diag(I, 0), W_Q = diag(Pᵀ, 0), W_V = diag(0, 1)."""
        P = checks.square("P", P)
        d = len(P)
        layer = cls(d, scale=0.0)
        with torch.no_grad():
            # keys x_i, queries P x_q, values y_i: Σ_i y_i x_i·P x_q, read out where labels stand
            layer.key[0, :d, :d] = torch.eye(d, dtype=torch.float64)
            layer.query[0, :d, :d] = P.T
            layer.value[0, d, d] = 1
            layer.readout.zero_()[d] = 1
        return layer

    @classmethod
    def from_effective(cls, a: Tensor, M: Tensor) -> "LinearSelfAttention":
        """Weights with the given a (heads, d+1) and M (heads, d+1, d): W_K = I, W_Q = [M, 0], h = e_{d+1}."""
        heads, size, d = M.shape
        layer = cls(d, heads, scale=0.0)
        with torch.no_grad():
            layer.key.copy_(torch.eye(size))
            layer.query[..., :d] = M
            layer.value[:, -1] = a
            layer.readout.zero_()[-1] = 1
        return layer

    @classmethod
    def stack(cls, layers: Iterable["LinearSelfAttention"]) -> "LinearSelfAttention":
        """One layer whose weights hold those of all the given ones along a new first dimension."""
        layers = list(layers)
        if not layers or not all(isinstance(layer, cls) and layer.readout.ndim == 1 for layer in layers):
            checks.fail("layers", layers, "at least one single LinearSelfAttention, nothing else", TypeError)
        kinds = {(layer.d, layer.heads, layer.residual) for layer in layers}
        if len(kinds) > 1:
            checks.fail("layers", sorted(kinds), "layers of one kind; these are their d, heads and residual")
        d, heads, residual = kinds.pop()
        stacked = cls(d, heads, residual=residual, scale=0.0)
        for name, _ in layers[0].named_parameters():
            weights = torch.stack([getattr(layer, name).detach() for layer in layers])
            setattr(stacked, name, nn.Parameter(weights))
        return stacked

    def unstack(self) -> list["LinearSelfAttention"]:
        """The layers of a stack, each on its own."""
        if self.readout.ndim == 1:
            checks.fail("layer", self, "a stack of layers (LinearSelfAttention.stack)")
        layers = []
        for run in range(len(self.readout)):
            layer = type(self)(self.d, self.heads, residual=self.residual, scale=0.0)
            layer.load_state_dict({name: weight[run] for name, weight in self.state_dict().items()})
            layers.append(layer)
        return layers

    def effective(self) -> tuple[Tensor, Tensor]:
        """a (heads, d+1) and M (heads, d+1, d), with ŷ = Σ_heads aᵀ G M x_q."""
        a = (self.value.mT @ self.readout[..., None, :, None])[..., 0]  # W_Vᵀ h
        # the query token is [x_q; 0]: of W_Q only the first d columns count
        return a, self.key.mT @ self.query[..., : self.d]

    @property
    def residual_weights(self) -> Tensor:
        """h_x (d,): what the residual stream adds to the in-context weights; zero without it."""
        return self.readout[..., : self.d] * float(self.residual)

    @property
    def skip(self) -> Tensor:
        """The former name of `residual_weights`."""
        warnings.warn("skip is now called residual_weights", DeprecationWarning, stacklevel=2)
        return self.residual_weights

    def weights_from_factor(self, factor: Tensor) -> Tensor:
        """u (B, d) with ŷ = u·x_q, from any factor T (B, d+1, k) of the Gram matrices G = T Tᵀ."""
        self.check()
        a, M = self.effective()
        runs = a.shape[:-2]  # () for a single layer
        columns = a.reshape(-1, self.d + 1).T  # every head of every run: one product for them all
        Ga = (factor @ (factor.mT @ columns)).movedim(-1, 0)  # (runs·heads, B, d+1)
        u = Ga @ M.reshape(-1, self.d + 1, self.d)  # (runs·heads, B, d)
        return u.reshape(*runs, self.heads, *u.shape[1:]).sum(-3) + self.residual_weights[..., None, :]

    def in_context_weights(self, prompts: Prompts) -> Tensor:
        """u = Σ_heads Mᵀ G a (+ h_x), (B, d): the linear model ŷ = u·x_q that the layer makes of a prompt."""
        return self.weights_from_factor(check_prompts(prompts, self.d).tokens.mT)

    def forward(self, prompts: Prompts) -> Tensor:
        """Predictions ŷ (B,), in O(B·n·d) memory: no n × n matrix of attention scores is ever made."""
        return (self.in_context_weights(prompts) * prompts.x_query).sum(-1)

    def check(self) -> None:
        """Raise unless the weights are in float64 on the CPU: all of `lsa` is."""
        kind = (self.readout.dtype, self.readout.device.type)
        if kind != (torch.float64, "cpu"):
            checks.fail(
                "layer", kind, 'weights in float64 on the CPU; layer.to("cpu", torch.float64) brings them'
            )
