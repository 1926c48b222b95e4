"""Laws of prompts: reproducible, with the moments they claim, and Gram matrices drawn without prompts."""

import pytest
import torch
from laws import TARGETS, covariance, linear_task, normal, z_score

import lsa

LAWS = [
    lsa.Gaussian(torch.eye(3)),
    lsa.Gaussian(covariance(3, 1)),
    lsa.Gaussian(covariance(3, 2, rank=1)),
    lsa.Rademacher(3),
    lsa.Sphere(3),
    lsa.Uniform(3),
    lsa.Uniform(3, half_width=0.5),
]


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_covariates_have_the_second_and_fourth_moments_they_claim(law):
    x = law.sample(200_000, generator=0)
    A = covariance(3, 5)
    weight = ((x @ A) * x).sum(-1)
    direction = normal(3, seed=6)
    along = x @ direction
    claims = [
        (along**2, direction @ law.covariance @ direction),
        (weight * along**2, direction @ law.fourth(A) @ direction),
        (weight * x[:, 0] * x[:, 1], law.fourth(A)[0, 1]),
    ]
    for samples, expected in claims:
        if samples.std() > 1e-9:  # the square of a coordinate of a Rademacher vector is a constant
            assert abs(z_score(samples, expected.item())) < 4
        else:
            torch.testing.assert_close(samples.mean(), expected)


def test_a_singular_covariance_gives_covariates_in_its_range():
    sigma = covariance(4, 2, rank=2)
    x = lsa.Gaussian(sigma).sample(50, generator=0)
    null = torch.linalg.eigh(sigma)[1][:, :2]
    assert (x @ null).abs().max() < 1e-7


@pytest.mark.parametrize("target", TARGETS, ids=str)
def test_a_sample_depends_on_the_generator_alone(target):
    task = lsa.nonlinear(target, d=3, n=4, noise_variance=0.1)
    first = task.sample(5, generator=torch.Generator().manual_seed(7))
    torch.randn(100)  # the global generator plays no part
    second = task.sample(5, generator=7)
    assert first.x.shape == (5, 4, 3)
    assert first.y.shape == (5, 4)
    assert first.x_query.shape == (5, 3)
    assert first.y_query.shape == (5,)
    assert all(torch.equal(a, b) for a, b in zip(first, second, strict=True))
    assert not torch.equal(first.x, task.sample(5, generator=8).x)


def test_each_prompt_has_its_own_function_and_shares_it_with_the_query():
    task = lsa.isotropic(d=2, n=6)
    prompts = task.sample(20, generator=0)
    w = torch.linalg.lstsq(prompts.x, prompts.y[..., None]).solution[..., 0]
    torch.testing.assert_close((w * prompts.x_query).sum(-1), prompts.y_query)
    assert w.std(0).min() > 0.3


def test_skewed_is_the_prior_that_undoes_the_covariance():
    sigma = covariance(3, 4)
    task = lsa.skewed(sigma, n=5)
    torch.testing.assert_close(task.target.prior_covariance @ sigma, torch.eye(3, dtype=torch.float64))


GRAM_TASKS = {
    "isotropic": lsa.isotropic(3, 8, 0.4),
    "general, with a prior mean": linear_task(3, 8, seed=10, mean=True),
    "n = d + 1": linear_task(3, 4, seed=20),
    "n ≤ d, from the prompt": linear_task(3, 2, seed=30, mean=True),
    "no noise": linear_task(3, 6, seed=40, noise=0.0),
    "sphere": lsa.Task(lsa.Sphere(3), lsa.Linear(covariance(3, 3)), 7, 0.2),
    "a network": lsa.nonlinear(lsa.ReLUNetwork(2), 3, 7, 0.2),
}


def two_sample_distance(a, b):
    """The Kolmogorov–Smirnov distance of two samples of one size, in units of its asymptotic scale."""
    both = torch.cat([a, b]).sort().values
    gap = torch.searchsorted(a.sort().values, both, right=True) - torch.searchsorted(
        b.sort().values, both, right=True
    )
    return gap.abs().max().item() / len(a) * (len(a) / 2) ** 0.5


@pytest.mark.parametrize("task", GRAM_TASKS.values(), ids=GRAM_TASKS)
def test_gram_matrices_have_the_law_of_the_prompts_own(task):
    count = 40_000
    drawn, real = task.sample_gram(count, generator=1), task.sample(count, generator=2).gram
    assert drawn.shape == (count, 4, 4)
    a = normal(4, seed=3)
    views = {
        "trace": lambda G: G.diagonal(dim1=1, dim2=2).sum(-1),
        "xx": lambda G: G[:, 0, 1],
        "xy": lambda G: G[:, 1, 3],
        "yy": lambda G: G[:, 3, 3],
        "a quadratic form": lambda G: G @ a @ a,
        "a product": lambda G: G[:, 0, 3] * G[:, 1, 3],
        "the least eigenvalue": lambda G: torch.linalg.eigvalsh(G)[:, 0].round(decimals=9),
    }
    for name, view in views.items():
        left, right = view(drawn), view(real)
        spread = ((left.var() + right.var()) / count).sqrt()
        assert (left.mean() - right.mean()).abs() <= 4 * spread, name
        assert two_sample_distance(left, right) < 1.95, name  # one in a thousand


def test_the_factor_and_its_weights_belong_together():
    task = linear_task(3, 9, seed=50, noise=0.0)
    factor, w = task.gram_factor(10, generator=0)
    assert factor.shape == (10, 4, 4)
    torch.testing.assert_close(factor[:, 3], (w[:, None] @ factor[:, :3])[:, 0])
    assert task.sample_gram(5, generator=3).equal(task.sample_gram(5, generator=3))
    assert lsa.isotropic(5, 3).gram_factor(2, generator=0)[0].shape == (2, 6, 3)
