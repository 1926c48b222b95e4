"""Gradient descent against autograd, ridge against Bayes' rule."""

import pytest
import torch
from helpers.tasks import covariance, linear_task, normal, z_score

import lsa


@pytest.mark.parametrize("steps", [1, 3])
def test_gradient_descent_follows_the_gradient(steps):
    prompts = lsa.isotropic(3, 6, 0.2).sample(1, generator=0)
    P = covariance(3, 1) / 10
    w = torch.zeros(3, dtype=torch.float64)
    for _ in range(steps):
        v = w.clone().requires_grad_()
        loss = (prompts.x[0] @ v - prompts.y[0]).square().sum() / 2
        w = w - P @ torch.autograd.grad(loss, v)[0]
    torch.testing.assert_close(lsa.gradient_descent(prompts, P, steps), prompts.x_query @ w)


def test_a_number_is_a_multiple_of_the_identity_and_a_start_is_where_it_begins():
    prompts = lsa.isotropic(3, 6, 0.2).sample(5, generator=0)
    by_matrix = lsa.gradient_descent(prompts, 0.1 * torch.eye(3))
    torch.testing.assert_close(lsa.gradient_descent(prompts, 0.1), by_matrix)
    start = normal(3, seed=2)
    torch.testing.assert_close(lsa.gradient_descent(prompts, 0.1, 0, start), prompts.x_query @ start)


def test_many_steps_reach_least_squares():
    task = lsa.isotropic(3, 20)
    prompts = task.sample(10, generator=0)
    steps = lsa.gradient_descent(prompts, 0.02, steps=3000)
    torch.testing.assert_close(steps, prompts.y_query, atol=1e-9, rtol=0)


BAYES_TASKS = {
    "isotropic": lsa.isotropic(4, 6, 0.3),
    "general": linear_task(4, 6, seed=1, mean=True),
    "n < d": linear_task(4, 2, seed=2, mean=True),
    "singular prior": lsa.Task(lsa.Gaussian(covariance(4, 3)), lsa.Linear(covariance(4, 4, rank=2)), 6, 0.3),
    "no noise": linear_task(4, 6, seed=5, mean=True, noise=0.0),
    "n < d, no noise": linear_task(4, 2, seed=6, mean=True, noise=0.0),
}


@pytest.mark.parametrize("task", BAYES_TASKS.values(), ids=BAYES_TASKS)
def test_ridge_is_the_posterior_mean(task):
    """Against conditioning the joint Gaussian law of (labels, y_q) given the covariates."""
    prompts = task.sample(20, generator=0)
    prior, mean = task.target.prior_covariance, task.target.prior_mean
    for k in range(20):
        X, x_query = prompts.x[k], prompts.x_query[k]
        among = X @ prior @ X.T + task.noise_variance * torch.eye(task.n)
        gain = torch.linalg.pinv(among, hermitian=True, rtol=1e-11) @ (prompts.y[k] - X @ mean)
        expected = x_query @ (mean + prior @ X.T @ gain)
        torch.testing.assert_close(lsa.ridge(prompts, task)[k], expected, atol=1e-7, rtol=1e-7)


def test_ridge_beats_one_step_and_its_error_is_orthogonal_to_it():
    task = linear_task(3, 8, seed=7)
    prompts = task.sample(100_000, generator=0)
    bayes, step = lsa.ridge(prompts, task), lsa.gradient_descent(prompts, lsa.optimum(task).preconditioner)
    assert abs(z_score((bayes - prompts.y_query) * (bayes - step), 0.0)) < 4
    assert (bayes - prompts.y_query).square().mean() < (step - prompts.y_query).square().mean()
