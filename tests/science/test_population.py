"""The exact loss of any weights against sums and integrals that do not know its formula."""

import itertools

import pytest
import torch
from helpers.tasks import TARGETS, covariance, linear_task, loss_of_weights, normal, z_score

import lsa
from lsa.population import white_moments


def grid(*axes):
    """Every combination of the nodes of several rules (nodes, weights): (count, axes) and their weights."""
    index = torch.tensor(list(itertools.product(*(range(len(nodes)) for nodes, _ in axes))))
    nodes = torch.stack([axis[0][index[:, k]] for k, axis in enumerate(axes)], -1)
    weights = torch.stack([axis[1][index[:, k]] for k, axis in enumerate(axes)], -1)
    return nodes, weights.prod(-1)


HERMITE = torch.tensor([-(3**0.5), 0, 3**0.5], dtype=torch.float64), torch.tensor([1, 4, 1]).double() / 6
SIGNS = torch.tensor([-1.0, 1.0], dtype=torch.float64), torch.tensor([0.5, 0.5], dtype=torch.float64)
UNIFORM = torch.tensor([-(1.8**0.5), 0, 1.8**0.5], dtype=torch.float64), torch.tensor([5, 8, 5]).double() / 18


def circle(count=8):
    angles = 2 * torch.pi * (torch.arange(count, dtype=torch.float64) + 0.3) / count
    return angles, torch.full((count,), 1 / count, dtype=torch.float64)


def quadrature_loss(layer, task):
    """E (ŷ − y_q)² for linear targets by a tensor grid: exact, for the loss has degree ≤ 4 in every variable.

    Three Gauss nodes are exact to degree five; ±1 and eight angles on the circle are exact for their laws.
    """
    d, n, law = task.d, task.n, task.covariates
    if isinstance(law, lsa.Sphere):
        z, probability = grid(*[circle()] * n, *[HERMITE] * (d + n))
        x = 2**0.5 * torch.stack([z[:, :n].cos(), z[:, :n].sin()], -1)
        z = z[:, n:]
    else:
        rule = {lsa.Gaussian: HERMITE, lsa.Rademacher: SIGNS, lsa.Uniform: UNIFORM}[type(law)]
        z, probability = grid(*[rule] * (n * d), *[HERMITE] * (d + n))
        x = z[:, : n * d].reshape(-1, n, d) @ lsa.covariates.sqrtm(law.covariance)
        z = z[:, n * d :]
    w = task.target.prior_mean + z[:, :d] @ lsa.covariates.sqrtm(task.target.prior_covariance)
    y = (x @ w[..., None])[..., 0] + task.noise_variance**0.5 * z[:, d:]
    query = torch.zeros(len(z), d, dtype=torch.float64)
    error = layer.in_context_weights(lsa.Prompts(x, y, query, query[:, 0])) - w
    return probability @ (((error @ law.covariance) * error).sum(-1)) + task.noise_variance


@pytest.mark.parametrize(("d", "n"), [(1, 1), (1, 4), (2, 1), (2, 2), (2, 3), (3, 1), (3, 2)])
@pytest.mark.parametrize("heads", [1, 2, 3])
@pytest.mark.parametrize("extras", [False, True], ids=["plain", "mean and residual"])
def test_exact_loss_is_the_quadrature(d, n, heads, extras):
    task = linear_task(d, n, seed=10 * d + n, mean=extras, noise=0.7)
    layer = lsa.LinearSelfAttention(d, heads, residual=extras, scale=2.0, generator=heads)
    exact, expected = lsa.population_loss(layer, task).item(), quadrature_loss(layer, task).item()
    assert abs(exact / expected - 1) <= 1e-12


@pytest.mark.parametrize(
    "law", [lsa.Rademacher(2), lsa.Sphere(2), lsa.Uniform(2), lsa.Uniform(2, 0.5)], ids=str
)
@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("extras", [False, True], ids=["plain", "mean and residual"])
def test_exact_loss_of_other_covariates(law, n, extras):
    prior = lsa.Linear(covariance(2, 3), normal(2, seed=4) if extras else None)
    task = lsa.Task(law, prior, n, 0.4)
    layer = lsa.LinearSelfAttention(2, 2, residual=extras, scale=2.0, generator=n)
    exact, expected = lsa.population_loss(layer, task).item(), quadrature_loss(layer, task).item()
    assert abs(exact / expected - 1) <= 1e-12


@pytest.mark.parametrize(
    "task",
    [
        lsa.Task(lsa.Gaussian(covariance(2, 1, rank=1)), lsa.Linear(covariance(2, 2)), 3, 0.5),
        lsa.Task(lsa.Gaussian(covariance(2, 1)), lsa.Linear(covariance(2, 2, rank=1), [0.3, -1.0]), 3, 0.0),
        lsa.Task(lsa.Gaussian(torch.zeros(2, 2)), lsa.Linear(torch.zeros(2, 2)), 2, 0.5),
    ],
    ids=["singular Σ", "singular Λ, no noise", "nothing but noise"],
)
def test_exact_loss_of_degenerate_tasks(task):
    layer = lsa.LinearSelfAttention(2, 2, residual=True, scale=2.0, generator=0)
    torch.testing.assert_close(
        lsa.population_loss(layer, task), quadrature_loss(layer, task), rtol=1e-12, atol=0
    )


class Table:
    """f on {−1, 1}²: one of a few tables, each as likely as the others; its five moments are finite sums."""

    def __init__(self, values, moments=5):
        self.values, self.count = torch.tensor(values, dtype=torch.float64), moments  # (functions, 4 points)

    points = torch.tensor([[-1, -1], [-1, 1], [1, -1], [1, 1]], dtype=torch.float64)

    def draw(self, batch, d, generator):
        rows = self.values[torch.randint(len(self.values), (batch,), generator=generator)]
        return lambda x: rows.gather(1, ((x[..., 0] > 0) * 2 + (x[..., 1] > 0)).long())

    def moments(self, covariates):
        f, x = self.values, self.points
        m = f @ x / 4
        S = torch.einsum("fp,pi,pj->ij", f**2, x, x) / f.numel()
        powers = (f**2).mean().item(), (f**4).mean().item(), ((f**2).mean(1) ** 2).mean().item()
        return lsa.Moments(m.T @ m / len(f), S, *powers[: self.count - 2])


def enumerated_loss(layer, task):
    """The mean over every function, every prompt and every query, without noise."""
    x, f, n = Table.points, task.target.values, task.n
    losses = []
    for places in itertools.product(range(4), repeat=n):
        y = f[:, places]
        prompts = lsa.Prompts(x[list(places)].expand(len(f), n, 2), y, x[:1].expand(len(f), 2), y[:, 0])
        predictions = layer.in_context_weights(prompts) @ x.T  # (functions, queries)
        losses.append((predictions - f).square().mean())
    return torch.stack(losses).mean()


PARITY = [[1.0, 2.0, -0.5, 3.0], [3.0, -0.5, 2.0, 1.0], [0.3, 0, 0, -2.0], [-2.0, 0, 0, 0.3]]  # f(−·) ~ f
SIGN = [[1.0, 2.0, -0.5, 3.0], [-1.0, -2.0, 0.5, -3.0], [0.2, 1.0, 0, 0.7], [-0.2, -1.0, 0, -0.7]]  # f ~ −f


@pytest.mark.parametrize("values", [PARITY, SIGN], ids=["f(−·) ~ f", "f ~ −f"])
@pytest.mark.parametrize("heads", [1, 3])
@pytest.mark.parametrize("n", [1, 2, 4])
def test_exact_loss_is_the_enumeration_of_a_finite_law(values, heads, n):
    task = lsa.Task(lsa.Rademacher(2), Table(values), n)
    layer = lsa.LinearSelfAttention(2, heads, residual=True, scale=2.0, generator=n)
    exact, expected = lsa.population_loss(layer, task).item(), enumerated_loss(layer, task).item()
    assert abs(exact / expected - 1) <= 1e-12


def test_without_either_symmetry_the_formula_does_not_hold():
    task = lsa.Task(lsa.Rademacher(2), Table(SIGN[:1]), 2)
    layer = lsa.LinearSelfAttention(2, scale=2.0, generator=0)
    assert abs(lsa.population_loss(layer, task) / enumerated_loss(layer, task) - 1) > 1e-3


SAMPLED = {f"{target} {k}": lsa.nonlinear(target, 3, 5, 0.5) for k, target in enumerate(TARGETS)} | {
    "linear, mean and residual": linear_task(3, 9, seed=3, mean=True),
    "sphere": lsa.Task(lsa.Sphere(3), lsa.Linear(covariance(3, 2), normal(3, seed=1)), 5, 0.5),
}


@pytest.mark.parametrize("task", SAMPLED.values(), ids=SAMPLED)
def test_exact_loss_is_the_loss_of_sampled_prompts(task):
    layer = lsa.LinearSelfAttention(3, 2, residual=True, scale=0.7, generator=1)
    squares = []
    generator = torch.Generator().manual_seed(2)
    for _ in range(4):
        prompts = task.sample(100_000, generator)
        squares.append((layer(prompts) - prompts.y_query).square().detach())
    squares = torch.cat(squares)
    assert abs(z_score(squares, lsa.population_loss(layer, task).item())) < 4


@pytest.mark.parametrize(
    "task",
    [linear_task(2, 4, seed=5, mean=True), lsa.nonlinear(lsa.ReLUNetwork(2), 2, 4, 0.1)],
    ids=["linear", "ReLU"],
)
def test_exact_loss_has_the_right_gradient(task):
    layer = lsa.LinearSelfAttention(2, 2, residual=True, scale=1.0, generator=0)
    assert torch.autograd.gradcheck(*loss_of_weights(layer, task))


PYTHAGORAS = {
    "Theorem 1": lsa.isotropic(3, 5, 0.4),
    "general Σ and Λ": linear_task(4, 7, seed=2),
    **{f"{target} {k}": lsa.nonlinear(target, 3, 5, 0.5) for k, target in enumerate(TARGETS)},
    **{
        str(law): lsa.Task(law, lsa.Linear(covariance(3, 1)), 6, 0.3)
        for law in (lsa.Rademacher(3), lsa.Sphere(3), lsa.Uniform(3))
    },
}


@pytest.mark.parametrize("task", PYTHAGORAS.values(), ids=PYTHAGORAS)
@pytest.mark.parametrize("heads", [1, 2])
def test_pythagoras(task, heads):
    """L(θ) − L* = E (ŷ_θ − ŷ_GD)², the right side from the exact loss of t·(ŷ_θ − ŷ_GD), a parabola in t."""
    best = lsa.optimum(task)
    layer = lsa.LinearSelfAttention(task.d, heads, scale=1.0, generator=3)
    step = lsa.LinearSelfAttention.from_preconditioner(best.preconditioner)
    a, M = (torch.cat(pair).detach() for pair in zip(layer.effective(), step.effective(), strict=True))
    a[-1] *= -1
    build = lsa.LinearSelfAttention.from_effective
    at = {t: lsa.population_loss(build(t * a, M), task).item() for t in (-1.0, 0.0, 1.0)}
    squared_distance = (at[1.0] + at[-1.0]) / 2 - at[0.0]
    excess = lsa.population_loss(layer, task).item() - best.loss
    assert abs(excess / squared_distance - 1) < 1e-10


class Own:
    """A reader's target with nothing but `draw`: it happens to be sign(b·x)."""

    def draw(self, batch, d, generator):
        return lsa.Sign().draw(batch, d, generator)


class OwnThree(Own):
    """The same with the three moments that the optimum needs, and no more."""

    def moments(self, covariates):
        return lsa.Moments(*lsa.Sign().moments(covariates)[:3])


@pytest.mark.parametrize("target", [Own(), OwnThree()], ids=["no moments", "three moments"])
def test_an_estimate_is_made_when_asked_for_and_not_in_silence(target):
    task = lsa.nonlinear(target, 3, 5, 0.5)
    layer = lsa.LinearSelfAttention(3, residual=True, scale=0.7, generator=1)
    with pytest.raises(TypeError, match=r"five moments .* moments = lsa.estimate_moments\(task\)"):
        lsa.population_loss(layer, task)
    groups = lsa.population_loss(layer, task, moments=lsa.estimate_moments(task)).detach()
    known = lsa.nonlinear(lsa.Sign(), 3, 5, 0.5)
    assert groups.shape == (64,)
    assert abs(z_score(groups, lsa.population_loss(layer, known).item())) < 4
    assert groups.std() / 8 < 0.01 * groups.mean()
    assert lsa.optimum(task).exact == isinstance(target, OwnThree)
    with pytest.raises(TypeError, match="moments"):
        lsa.population_loss(layer, known, moments=lsa.estimate_moments(known))


def test_two_tasks_with_the_same_five_moments_train_alike():
    """w is a vertex of an icosahedron, or uniform on its sphere: the same moments up to degree five."""
    golden = (1 + 5**0.5) / 2

    class Design:
        def draw(self, batch, d, generator):
            w = self.vertices[torch.randint(12, (batch,), generator=generator)]
            return lambda x: (x @ w[:, :, None])[..., 0]

        vertices = (
            torch.tensor(
                [[0, s, t, 0, s][k : k + 3] for s in (1, -1) for t in (golden, -golden) for k in range(3)],
                dtype=torch.float64,
            )
            * (3 / (1 + golden**2)) ** 0.5
        )

        def moments(self, covariates):
            w = self.vertices
            fourth = (3 * (w.square().sum(-1) ** 2)).mean().item()
            return lsa.Moments(w.T @ w / 12, covariates.fourth(w.T @ w / 12), 3.0, fourth, 9.0)

    class OnSphere(Design):
        def moments(self, covariates):
            eye = torch.eye(3, dtype=torch.float64)
            return lsa.Moments(eye, 5 * eye, 3.0, 27.0, 9.0)

    tasks = [lsa.nonlinear(target, 3, 8, 0.2) for target in (Design(), OnSphere())]
    layers = [lsa.LinearSelfAttention(3, generator=0) for _ in tasks]
    runs = [lsa.fit(*pair, optimizer="adam", steps=50) for pair in zip(layers, tasks, strict=True)]
    torch.testing.assert_close(runs[0].losses, runs[1].losses, rtol=1e-10, atol=0)
    groups = lsa.estimate_moments(lsa.nonlinear(Design(), 3, 8), generator=1)
    assert abs(z_score(groups.fourth, 27.0)) < 4


@pytest.mark.parametrize("heads", [1, 3])
def test_the_linear_part_of_the_loss_seen_from_a_and_from_M(heads):
    """⟨M, J(a)⟩ is linear in both; `cross_transposed` is its gradient in a."""
    white = white_moments(linear_task(3, 6, seed=1, mean=True))
    a, M, h = normal(heads, 4, seed=2).requires_grad_(), normal(heads, 4, 3, seed=3), normal(3, seed=4)
    value = (M * white.cross(a, h)).sum()
    torch.testing.assert_close(white.cross_transposed(M, h), torch.autograd.grad(value, a)[0])


def test_the_quadratic_part_of_the_loss_from_factors_and_from_their_product():
    """E[G A G] V depends on A = left rightᵀ alone; with A symmetric it is symmetric."""
    white, eye = white_moments(linear_task(3, 6, seed=1)), torch.eye(4, dtype=torch.float64)
    left, right = normal(4, 2, seed=2), normal(4, 2, seed=3)
    whole = white.gram_square(left, right, eye)
    torch.testing.assert_close(white.gram_square(left @ right.T, eye, eye), whole)
    torch.testing.assert_close(white.gram_square(right, left, eye), whole.T)
    V = normal(4, 2, seed=4)
    torch.testing.assert_close(white.gram_square(left, right, V), whole @ V)


def test_weak_directions_count_and_missing_ones_do_not():
    """At the optimum both formulas know the loss: spectra over eleven decades, three of eight directions."""
    spectra = [torch.tensor([1.0, least], dtype=torch.float64) for least in (1e-3, 1e-8, 1e-11)]
    tasks = [lsa.skewed(spectrum.diag(), 5, 0.3) for spectrum in spectra]
    for seed in range(5):
        basis = torch.linalg.qr(normal(8, 8, seed=seed))[0][:, :3]
        tasks.append(lsa.Task(lsa.Gaussian(basis @ basis.T), lsa.Linear(torch.eye(8)), 5, 0.3))
    for task in tasks:
        best = lsa.optimum(task)
        layer = lsa.LinearSelfAttention.from_preconditioner(best.preconditioner)
        assert lsa.population_loss(layer, task).item() == pytest.approx(best.loss, rel=1e-6)
