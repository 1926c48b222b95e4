"""Laws of prompts: reproducible, with the moments they claim, and Gram matrices drawn without prompts."""

import pytest
import torch
from helpers.tasks import TARGETS, covariance, linear_task, normal, z_score

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


task, short = linear_task(3, 6, seed=60, mean=True), linear_task(3, 2, seed=61)
LAYER = lsa.LinearSelfAttention(3, generator=7)
DRAWS = {
    **{str(law): lambda law=law: law.sample(4, generator=7) for law in LAWS},
    **{
        f"{target} {k}": lambda target=target: lsa.nonlinear(target, 3, 4, 0.1).sample(4, 7).y
        for k, target in enumerate(TARGETS)
    },
    "a linear task": lambda: task.sample(4, 7).y,
    "a Gram matrix": lambda: task.sample_gram(4, 7),
    "a Gram matrix of a short prompt": lambda: short.sample_gram(4, 7),
    "a Gram matrix of another law": lambda: lsa.Task(lsa.Sphere(3), task.target, 6, 0.3).sample_gram(4, 7),
    "a Gram matrix of another target": lambda: lsa.nonlinear(lsa.Cosine(), 3, 4, 0.1).sample_gram(4, 7),
    "weights": lambda: task.target.draw_weights(4, 7),
    "estimates": lambda: lsa.estimate_moments(lsa.nonlinear(lsa.Cosine(), 3, 4), 128, 7).fourth,
    "a comparison": lambda: torch.tensor(lsa.compare(LAYER, 0.1, task, 9, 7)),
    "a layer": lambda: lsa.LinearSelfAttention(3, generator=7).key,
    "its read-out": lambda: lsa.LinearSelfAttention(3, generator=7).readout,
    "softmax": lambda: lsa.SoftmaxAttention(3, generator=7).M,
    "layers": lambda: lsa.LinearTransformer(3, 2, generator=7).P,
    "losses of layers": lambda: lsa.LinearTransformer(3, 1, generator=7).sampled_losses(task, 4, 7),
    "losses of softmax": lambda: lsa.SoftmaxAttention(3, generator=7).sampled_losses(task, 4, 7),
}


@pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS)
def test_no_draw_touches_the_global_generator(draw):
    before = torch.get_rng_state()
    first = draw()
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.equal(draw(), first)


def test_training_does_not_touch_the_global_generator():
    before = torch.get_rng_state()
    layer = lsa.LinearSelfAttention(2, generator=0)
    lsa.fit(layer, lsa.isotropic(2, 5), loss="samples", steps=2, batch=4, generator=1)
    lsa.fit(layer, lsa.nonlinear(lsa.Sign(), 2, 5), loss="samples", steps=2, batch=4, generator=1)
    lsa.fit(layer, lsa.isotropic(2, 5), steps=5)
    lsa.fit_samples(lsa.SoftmaxAttention(2, generator=0), lsa.isotropic(2, 5), steps=2, batch=4, generator=1)
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("half_width", [3**0.5, 0.5, 4.0])
def test_uniform_covariates_fill_their_cube(half_width):
    x = lsa.Uniform(2, half_width).sample(20_000, generator=0).abs()
    assert 0.999 * half_width < x.max() <= half_width
    assert abs(z_score((x[:, 0] < half_width / 2).double(), 0.5)) < 4
    eye = torch.eye(2, dtype=torch.float64)
    torch.testing.assert_close(lsa.Uniform(2, half_width).covariance, half_width**2 / 3 * eye)
    assert lsa.Uniform(2).covariance.equal(eye)  # and not almost: white laws are not multiplied


def test_other_laws_have_the_support_they_claim():
    assert set(lsa.Rademacher(2).sample(100, generator=0).flatten().tolist()) == {-1.0, 1.0}
    radii = lsa.Sphere(5).sample(100, generator=0).norm(dim=-1)
    torch.testing.assert_close(radii, torch.full_like(radii, 5**0.5))


@pytest.mark.parametrize("d", [2, 5])
def test_a_quadratic_target_is_a_symmetric_form_of_unit_power(d):
    """Q from f at e_i + e_j: entries of variance 1/(4·entries) off the diagonal, twice that on it."""
    f = lsa.Quadratic().draw(20_000, d, torch.Generator().manual_seed(0))
    eye = torch.eye(d, dtype=torch.float64)
    points = torch.stack([torch.zeros(d), eye[0], eye[1], eye[0] + eye[1]]).expand(20_000, 4, d)
    zero, one, two, both = f(points).T
    entries = d * (d + 1) / 2
    assert abs(z_score((one - zero) ** 2, 1 / (2 * entries))) < 4
    assert abs(z_score(((both - one - two + zero) / 2) ** 2, 1 / (4 * entries))) < 4
    assert abs(z_score(zero**2, d / (2 * entries))) < 4  # (tr Q)²


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


def test_phases_are_uniform():
    """f(0) = cos φ has the moments of a uniform angle."""
    f = lsa.Cosine().draw(200_000, 2, torch.Generator().manual_seed(0))
    at_zero = f(torch.zeros(200_000, 1, 2, dtype=torch.float64))[:, 0]
    for power, expected in ((1, 0.0), (2, 1 / 2), (4, 3 / 8)):
        assert abs(z_score(at_zero**power, expected)) < 4
