"""The layer against attention written out token by token."""

import pytest
import torch
from helpers.tasks import covariance, normal, z_score

import lsa


def attention_by_hand(layer, prompts):
    """The definition: scores (W_K v_i)·(W_Q [x_q; 0]), values W_V v_i, read-out h."""
    result = []
    for x, y, x_query in zip(prompts.x, prompts.y, prompts.x_query, strict=True):
        query = torch.cat([x_query, torch.zeros(1, dtype=torch.float64)])
        out = query.clone() if layer.residual else torch.zeros_like(query)
        for key, quer, value in zip(layer.key, layer.query, layer.value, strict=True):
            for i in range(len(x)):
                token = torch.cat([x[i], y[i, None]])
                out = out + (value @ token) * ((key @ token) @ (quer @ query))
        result.append(layer.readout @ out)
    return torch.stack(result)


@pytest.mark.parametrize("heads", [1, 3])
@pytest.mark.parametrize("residual", [False, True])
def test_forward_is_attention_by_hand(heads, residual):
    layer = lsa.LinearSelfAttention(3, heads, residual=residual, scale=1.0, generator=0)
    prompts = lsa.isotropic(3, 5, 0.2).sample(4, generator=1)
    expected = attention_by_hand(layer, prompts)
    torch.testing.assert_close(layer(prompts), expected)
    a, M = layer.effective()
    assert a.shape == (heads, 4)
    assert M.shape == (heads, 4, 3)
    by_gram = torch.einsum("hi,bij,hjk,bk->b", a, prompts.gram, M, prompts.x_query)
    torch.testing.assert_close(by_gram + prompts.x_query @ layer.residual_weights, expected)
    with pytest.warns(DeprecationWarning, match="residual_weights"):
        assert torch.equal(layer.skip, layer.residual_weights)


def test_weights_have_the_stated_shapes_and_type():
    layer = lsa.LinearSelfAttention(d=10, heads=2)
    assert layer.key.shape == layer.query.shape == layer.value.shape == (2, 11, 11)
    assert layer.readout.shape == (11,)
    assert all(weight.dtype == torch.float64 for weight in layer.parameters())


def test_the_prediction_is_linear_in_the_query():
    layer = lsa.LinearSelfAttention(3, 2, residual=True, scale=1.0, generator=0)
    prompts = lsa.isotropic(3, 5, 0.2).sample(4, generator=1)
    x_query = prompts.x_query.requires_grad_()
    (gradient,) = torch.autograd.grad(layer(prompts).sum(), x_query)
    torch.testing.assert_close(layer.in_context_weights(prompts), gradient)


@pytest.mark.parametrize(
    "P", [0.1 * torch.eye(4, dtype=torch.float64), normal(4, 4, seed=1), covariance(4, 3)]
)
def test_constructed_weights_take_the_preconditioned_step(P):
    prompts = lsa.isotropic(4, 9, 0.3).sample(64, generator=0)
    layer = lsa.LinearSelfAttention.from_preconditioner(P)
    assert (layer(prompts) - lsa.gradient_descent(prompts, P)).abs().max() < 1e-12


def test_a_stack_of_one_and_one_of_layers_with_residual_streams():
    layer = lsa.LinearSelfAttention(3, 2, residual=True, generator=0)
    (again,) = lsa.LinearSelfAttention.stack([layer]).unstack()
    assert again.residual
    for one, other in zip(layer.parameters(), again.parameters(), strict=True):
        assert torch.equal(one, other)


def test_a_stack_is_its_layers_side_by_side():
    layers = [lsa.LinearSelfAttention(3, 2, residual=True, generator=seed) for seed in range(3)]
    stack = lsa.LinearSelfAttention.stack(layers)
    task = lsa.isotropic(3, 5, 0.2)
    prompts = task.sample(7, generator=0)
    torch.testing.assert_close(stack(prompts), torch.stack([layer(prompts) for layer in layers]))
    losses = torch.stack([lsa.population_loss(layer, task) for layer in layers])
    torch.testing.assert_close(lsa.population_loss(stack, task), losses)
    for one, other in zip(stack.unstack(), layers, strict=True):
        assert all(torch.equal(a, b) for a, b in zip(one.parameters(), other.parameters(), strict=True))


def test_memory_does_not_grow_with_the_square_of_the_prompt():
    prompts = lsa.isotropic(2, 300_000).sample(1, generator=0)  # n × n scores would take 720 GB
    assert torch.isfinite(lsa.LinearSelfAttention(2, generator=0)(prompts)).all()


def test_weights_start_with_the_spread_they_claim():
    """Independent N(0, scale²/(d+1)), every entry a draw of its own; the read-out N(0, 1/(d+1))."""
    layer = lsa.LinearSelfAttention(40, 2, scale=0.3, generator=0)
    deep = lsa.LinearTransformer(40, 2, scale=0.3, generator=0)
    soft = lsa.SoftmaxAttention(40, 2, scale=0.3, generator=0)
    for model, names in ((layer, "key query value"), (deep, "P Q"), (soft, "a M")):
        entries = torch.cat([getattr(model, name).detach().flatten() for name in names.split()])
        assert len(entries.unique()) == len(entries)
        assert abs(z_score(entries, 0.0)) < 4
        assert abs(z_score(entries**2, 0.3**2 / 41)) < 4
    readouts = [lsa.LinearSelfAttention(40, generator=k).readout.detach() for k in range(50)]
    assert abs(z_score(torch.cat(readouts) ** 2, 1 / 41)) < 4
