"""What `lsa` is measured against: the layer as it is usually trained, prompt by prompt."""

import torch
from torch import Tensor

import lsa

LEARNING_RATE = 1e-3


def materialised_step(layer: lsa.LinearSelfAttention, task: lsa.Task, batch: int, micro: int) -> None:
    """A training step on attention with all (n+1) × (n+1) scores, the query's token among the others.

    `micro` prompts are held at a time and their gradients added up: the scores of more do not fit.
    """
    optimizer = torch.optim.Adam(layer.parameters(), lr=LEARNING_RATE)
    for _ in range(batch // micro):
        prompts = task.sample(micro)
        query = torch.cat([prompts.x_query, torch.zeros(micro, 1, dtype=torch.float64)], -1)
        tokens = torch.cat([prompts.tokens, query[:, None]], 1)  # (B, n+1, d+1)
        scores = (tokens @ layer.query[0].T) @ (tokens @ layer.key[0].T).mT  # (B, n+1, n+1)
        out = scores[..., :-1] @ (tokens[:, :-1] @ layer.value[0].T)
        loss = (out[:, -1] @ layer.readout - prompts.y_query).square().sum() / batch
        loss.backward()
    optimizer.step()


def prompt_step(layer: lsa.LinearSelfAttention, task: lsa.Task, batch: int) -> None:
    """A training step on prompts, with the scores of the query alone: linear in n."""
    optimizer = torch.optim.Adam(layer.parameters(), lr=LEARNING_RATE)
    prompts = task.sample(batch)
    (layer(prompts) - prompts.y_query).square().mean().backward()
    optimizer.step()


def draw_prompts(task: lsa.Task, batch: int) -> Tensor:
    """Only the Gaussian numbers of the prompts, in single precision: the floor for all who sample prompts."""
    return torch.randn(batch, task.n, task.d + 1)


def moving_tokens(model: lsa.LinearTransformer, task: lsa.Task, batch: int) -> None:
    """Loss and gradient of stacked layers as they are usually computed: every token moves in every layer."""
    prompts = task.sample(batch)
    tokens, query = prompts.tokens, torch.cat([prompts.x_query, torch.zeros(batch, 1).double()], -1)
    for P, Q in zip(model.P, model.Q, strict=True):
        keys, values = tokens @ Q, tokens @ P.T  # (B, n, d+1)
        gram = values.mT @ keys
        tokens, query = tokens + tokens @ gram.mT, query + (gram @ query[..., None])[..., 0]
    (-query[:, -1] - prompts.y_query).square().mean().backward()
