"""The alignment metrics, against their definitions and at both ends of training."""

import pytest
import torch
from helpers.tasks import normal

import lsa


def test_the_constructed_layer_is_no_distance_from_its_step():
    task = lsa.isotropic(4, 8, 0.2)
    P = normal(4, 4, seed=1) / 10
    found = lsa.compare(lsa.LinearSelfAttention.from_preconditioner(P), P, task, generator=0)
    assert found.prediction_distance < 1e-12
    assert found.sensitivity_distance < 1e-12
    assert abs(found.excess) < 1e-12
    assert found.cosine == pytest.approx(1)


def test_metrics_against_autograd_on_the_same_prompts():
    task, P = lsa.isotropic(3, 6, 0.3), 0.05
    layer = lsa.LinearSelfAttention(3, scale=1.0, generator=0)
    found = lsa.compare(layer, P, task, batch=500, generator=7)
    prompts = task.sample(500, generator=7)
    x_query = prompts.x_query.requires_grad_()
    predictions = layer(prompts), lsa.gradient_descent(prompts, P)
    u, v = (torch.autograd.grad(p.sum(), x_query, retain_graph=True)[0] for p in predictions)
    left, right = (p.detach() for p in predictions)
    assert found.prediction_distance == pytest.approx((left - right).abs().mean().item())
    assert found.cosine == pytest.approx(torch.cosine_similarity(u, v).mean().item())
    assert found.sensitivity_distance == pytest.approx((u - v).norm(dim=-1).mean().item())
    excess = (left - prompts.y_query).square() - (right - prompts.y_query).square()
    assert found.excess == pytest.approx(excess.mean().item())
    assert found.standard_error == pytest.approx(excess.std().item() / 500**0.5)


def test_excess_and_squared_distance_both_estimate_the_exact_excess():
    task = lsa.isotropic(3, 6, 0.3)
    best = lsa.optimum(task)
    layer = lsa.LinearSelfAttention(3, scale=0.5, generator=2)
    found = lsa.compare(layer, best.step, task, batch=100_000, generator=1)
    exact = lsa.population_loss(layer, task).item() - best.loss
    assert abs(found.excess - exact) < 4 * found.standard_error
    assert found.squared_distance == pytest.approx(exact, rel=0.05)
