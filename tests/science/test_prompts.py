"""The formulas of the chapter on prompts, against quadrature, autograd, enumeration and sampling."""

import itertools
import math

import numpy as np
import pytest
import torch
from helpers import ROOT
from helpers.chapter_code import functions
from helpers.javascript import node

import lsa

F = functions("prompts")
pytestmark = pytest.mark.usefixtures("double")


def normals(count: int, nodes: int = 3):
    """Product Gauss–Hermite rule: points (count, nodes**count) and weights, exact to degree 2·nodes − 1."""
    x, w = np.polynomial.hermite_e.hermegauss(nodes)
    points = np.stack(np.meshgrid(*[x] * count, indexing="ij")).reshape(count, -1)
    weights = np.prod(np.meshgrid(*[w / w.sum()] * count, indexing="ij"), 0).ravel()
    return points, weights


def random_covariances(count: int, d: int, seed: int = 0):
    roots = torch.randn(count, d, d, generator=torch.Generator().manual_seed(seed))
    return roots @ roots.mT


def test_loss_under_a_shift_by_quadrature():
    d, n, noise = 2, 2, 0.4
    Sigma, Lambda, Sigma_q = random_covariances(3, d)
    P = torch.randn(d, d, generator=torch.Generator().manual_seed(1))
    z, W = normals(d + n * d + n)
    z = torch.tensor(z).T
    w = z[:, :d] @ torch.linalg.cholesky(Lambda).T
    x = z[:, d : d + n * d].reshape(-1, n, d) @ torch.linalg.cholesky(Sigma).T
    y = (x @ w[:, :, None])[..., 0] + math.sqrt(noise) * z[:, d + n * d :]
    error = (y[:, None, :] @ x)[:, 0] @ P.T - w
    direct = torch.tensor(W) @ ((error @ Sigma_q) * error).sum(-1) + noise
    assert F.loss(P, n, Sigma, Lambda, noise, Sigma_q).item() == pytest.approx(direct.item(), rel=1e-12)


def test_best_step_does_not_know_the_query():
    Sigma, Lambda, *queries = random_covariances(6, 3, seed=2)
    best = lsa.optimum(lsa.Task(lsa.Gaussian(Sigma), lsa.Linear(Lambda), 7, 0.3)).preconditioner
    for Sigma_q in queries:
        lowest = F.loss(best, 7, Sigma, Lambda, 0.3, Sigma_q)
        for change in torch.randn(20, 3, 3, generator=torch.Generator().manual_seed(3)):
            assert F.loss(best + 1e-3 * change, 7, Sigma, Lambda, 0.3, Sigma_q) > lowest


@pytest.mark.parametrize("lengths", [[3], [1, 2, 3, 4, 5], [0, 6], [2, 2, 9]])
def test_random_length(lengths):
    """P of the theorem is where the mean loss is flat, and its loss is the theorem's."""
    Sigma, Lambda = random_covariances(2, 3, seed=4)
    q, mean = (Sigma * Lambda).sum() + 0.3, sum(lengths) / len(lengths)
    biased = sum(k * k for k in lengths) / sum(lengths)
    P = torch.linalg.inv((biased + 1) * Sigma + q * torch.linalg.inv(Lambda)).requires_grad_()
    loss = sum(F.loss(P, k, Sigma, Lambda, 0.3, Sigma) for k in lengths) / len(lengths)
    assert torch.autograd.grad(loss, P)[0].abs().max() < 1e-11
    assert loss.item() == pytest.approx((q - mean * (Sigma @ P @ Sigma @ Lambda).trace()).item(), rel=1e-12)


def test_no_layer_beats_it_at_mixed_lengths():
    """All weights, two heads: the exact mean loss has no slope at the theorem's weights, nor lower values."""
    lengths, d, noise = [1, 4, 9], 2, 0.5
    tasks = [lsa.isotropic(d, k, noise) for k in lengths]
    step, promised = F.summed(lengths, d, noise)

    def mean_loss(layer):
        return sum(lsa.population_loss(layer, task) for task in tasks) / len(tasks)

    best = mean_loss(lsa.LinearSelfAttention.from_preconditioner(step * torch.eye(d))).item()
    assert best == pytest.approx(promised, rel=1e-12)
    for seed in range(3):
        layer = lsa.LinearSelfAttention(d, heads=2, generator=seed)
        optimizer = torch.optim.LBFGS(
            layer.parameters(), max_iter=500, line_search_fn="strong_wolfe", tolerance_change=0
        )

        def closure(layer=layer, optimizer=optimizer):
            optimizer.zero_grad()
            loss = mean_loss(layer)
            loss.backward()
            return loss

        optimizer.step(closure)
        assert mean_loss(layer).item() == pytest.approx(best, rel=1e-7)
        assert mean_loss(layer).item() > best * (1 - 1e-12)


@pytest.mark.parametrize(
    ("law", "biased"),
    [
        ({k: 1 / 20 for k in range(1, 21)}, 41 / 3),  # all prefixes
        ({k: math.exp(-9) * 9**k / math.factorial(k) for k in range(80)}, 10.0),  # Poisson
        ({0: 0.5, 7: 0.5}, 7.0),
        ({k: 0.25 * 0.75 ** (k - 1) for k in range(1, 400)}, 7.0),  # geometric, mean 4
    ],
)
def test_table_of_lengths(law, biased):
    first, second = (sum(p * k**power for k, p in law.items()) for power in (1, 2))
    assert second / first == pytest.approx(biased, rel=1e-12)


def losses(step, lengths, d, noise):
    """Mean over lengths of the exact loss of step(n), by lsa."""
    return np.mean([lsa.one_step_loss(step(k), lsa.isotropic(d, k, noise)) for k in lengths])


@pytest.mark.parametrize("keys", [0, 2, 5.5, 12])
def test_mean_with_null_keys(keys):
    lengths, d, noise = range(1, 9), 3, 0.5
    step, loss = F.mixed(keys, lengths, d, noise)
    assert losses(lambda n: step / (n + keys), lengths, d, noise) == pytest.approx(loss, rel=1e-12)
    for other in (0.99 * step, 1.01 * step):
        assert losses(lambda n, s=other: s / (n + keys), lengths, d, noise) > loss
    if keys == 0:
        assert step == pytest.approx(1 / (1 + (d + 1 + noise) * np.mean([1 / k for k in lengths])), rel=1e-12)
        assert loss == pytest.approx(d + noise - d * step, rel=1e-12)


def test_null_keys_are_the_best_at_every_length():
    lengths, d, noise = range(1, 21), 5, 0.25
    step, loss = F.mixed(d + 1 + noise, lengths, d, noise)
    own = np.mean([lsa.optimum(lsa.isotropic(d, k, noise)).loss for k in lengths])
    assert (step, loss) == (pytest.approx(1, rel=1e-12), pytest.approx(own, rel=1e-12))
    numbers = [F.summed(lengths, d, noise)[1]] + [F.mixed(k, lengths, d, noise)[1] for k in (0, 6.25)]
    assert numbers == pytest.approx([2.614017, 2.896276, 2.400217], abs=5e-7)


def test_null_keys_on_prompts():
    """A softmax-like mean with null keys, on drawn prompts: weights 1, values zero for the null keys."""
    d, n, noise = 3, 4, 1.0
    prompts = lsa.isotropic(d, n, noise).sample(200_000, generator=0)
    keys = torch.cat([prompts.x, torch.zeros(len(prompts.x), 5, d)], 1)  # d + 1 + σ² = 5 null keys
    labels = torch.cat([prompts.y, torch.zeros(len(prompts.y), 5)], 1)
    guess = (labels * (keys @ prompts.x_query[:, :, None])[..., 0]).mean(1)
    squares = (guess - prompts.y_query).square()
    z = (squares.mean() - (d + noise - d * n / (n + 5))) / (squares.std() / len(squares) ** 0.5)
    assert abs(z) < 4


def test_landmarks():
    d, n, noise = 5, 10, 0.25
    n0, eta = d + 1 + noise, lsa.optimum(lsa.isotropic(d, n, noise)).step
    for k in (1, 7, 10, 30, 100):
        exact = lsa.one_step_loss(eta, lsa.isotropic(d, k, noise))
        assert F.parabola(k, n, d, noise) == pytest.approx(exact, rel=1e-12)
    trained, silent = F.parabola(n, n, d, noise), d + noise
    assert F.parabola(n + n0, n, d, noise) == pytest.approx(trained, rel=1e-14)
    assert F.parabola(2 * n + n0, n, d, noise) == F.parabola(0, n, d, noise) == silent
    grid = np.linspace(0, 60, 60_001)
    assert grid[F.parabola(grid, n, d, noise).argmin()] == pytest.approx(n + n0 / 2, abs=1e-3)
    values = [F.parabola(k, n, d, noise) for k in (10, 13.125, 26.25, 100)]
    assert values == pytest.approx([2.173077, 1.988166, 5.25, 144.894970], abs=1e-6)


@pytest.mark.parametrize("counts", [(1, 1), (2, 2), (3, 1), (5, 0)])
def test_repeats_by_quadrature(counts):
    d, noise = 2, 0.3
    n0, shown = d + 1 + noise, np.array(counts, dtype=float)
    z, W = normals(d + 2 * d + 2)
    w, x = z[:d], z[d : 3 * d].reshape(2, d, -1)
    y = (x * w).sum(1) + math.sqrt(noise) * z[3 * d :]
    total = (shown[:, None, None] * x * y[:, None]).sum(0)
    first, second = W @ (total * w).sum(0), W @ (total**2).sum(0)
    effective = shown.sum() ** 2 / (shown**2).sum()
    assert d + noise - first**2 / second == pytest.approx(
        d + noise - d * effective / (effective + n0), rel=1e-12
    )
    best = shown.sum() / (shown.sum() ** 2 + n0 * (shown**2).sum())
    assert first / second == pytest.approx(best, rel=1e-12)


def test_twice_is_never_on_prompts():
    """The layer itself, on prompts whose examples really are repeated."""
    d, n, noise = 2, 3, 0.5
    layer = lsa.LinearSelfAttention(d, generator=3)
    lsa.fit(layer, lsa.isotropic(d, n, noise), optimizer="als")
    prompts = lsa.isotropic(d, n, noise).sample(300_000, generator=0)
    twice = prompts._replace(x=prompts.x.repeat(1, 2, 1), y=prompts.y.repeat(1, 2))
    with torch.no_grad():
        difference = (layer(twice) - prompts.y_query).square() - prompts.y_query.square()
    assert abs(difference.mean() / (difference.std() / len(difference) ** 0.5)) < 4


@pytest.mark.parametrize(("n", "unlabelled"), [(1, 1), (1, 3), (2, 0), (2, 2)])
@pytest.mark.parametrize("query", [False, True])
def test_extra_tokens_change_nothing_in_one_dimension(n, unlabelled, query):
    best = lsa.optimum(lsa.isotropic(1, n, 0.3)).loss
    assert F.best_over_heads(n, unlabelled, 0.3, query=query) == pytest.approx(best, rel=1e-12)


def tensor_minimum(d, n, unlabelled, noise, *, query, mu=None, guess=False):
    """min over all tensors, by quadrature, any d; `guess` labels the extra tokens by μ·x."""
    z, W = normals(2 * d + n * d + n + unlabelled * d, nodes=4 if query else 3)
    size, mu = z.shape[1], np.zeros(d) if mu is None else np.asarray(mu)
    w, xq = z[:d] + mu[:, None], z[d : 2 * d]
    x = z[2 * d : 2 * d + n * d].reshape(n, d, size)
    y = (x * w).sum(1) + math.sqrt(noise) * z[2 * d + n * d : 2 * d + n * d + n]
    u = z[2 * d + n * d + n :].reshape(unlabelled, d, size)
    label = np.einsum("kib,i->kb", u, mu * guess)
    tokens = np.concatenate([np.concatenate([x, y[:, None]], 1), np.concatenate([u, label[:, None]], 1)])
    if query:
        tokens = np.concatenate([tokens, np.concatenate([xq, np.zeros((1, size))])[None]])
    G = np.einsum("kib,kjb->ijb", tokens, tokens)
    i, j = np.triu_indices(d + 1)
    features = (G[i, j][:, None] * xq).reshape(-1, size)
    target = (w * xq).sum(0)
    second, first = (features * W) @ features.T, (features * W) @ target
    return W @ target**2 + noise - first @ np.linalg.lstsq(second, first, rcond=1e-12)[0]


@pytest.mark.parametrize("query", [False, True])
def test_extra_tokens_change_nothing_in_the_plane(query):
    best = lsa.optimum(lsa.isotropic(2, 1, 0.3)).loss
    assert tensor_minimum(2, 1, 0 if query else 1, 0.3, query=query) == pytest.approx(best, rel=1e-10)


@pytest.mark.parametrize("unlabelled", [0, 1, 3])
def test_price_of_a_mean_with_guessed_labels(unlabelled):
    base = lsa.optimum(lsa.isotropic(1, 2, 0.3)).loss
    found = F.best_over_heads(2, unlabelled, 0.3, mu=1.5, guess=True)
    assert found - base == pytest.approx(F.mean_gap(2, unlabelled, 1, 0.3, 1.5**2), rel=1e-10)
    kept = F.best_over_heads(2, unlabelled, 0.3, mu=1.5, guess=True, constant=True)
    assert kept == pytest.approx(base, rel=1e-12)


def test_price_of_a_mean_in_the_plane():
    mu = np.array([0.5, -1.0])
    base = lsa.optimum(lsa.isotropic(2, 1, 0.7)).loss
    for unlabelled in (0, 1):
        found = tensor_minimum(2, 1, unlabelled, 0.7, query=False, mu=mu, guess=True)
        assert found - base == pytest.approx(F.mean_gap(1, unlabelled, 2, 0.7, mu @ mu), rel=1e-9)


def test_price_of_a_mean_for_any_prior():
    """The general κ, by regression of the constant on the moments of tr XᵀX and yᵀy (Wishart moments)."""
    lam, n, extra, noise = np.array([2.0, 0.5, 0.1]), 4, 3, 0.7
    d, q, both = len(lam), lam.sum() + noise, n + extra
    # even features g_ii (all tokens) and s = yᵀy (the examples): means, and second moments about zero
    mean = np.append(np.full(d, both), n * q)
    second = np.outer(mean, mean)
    second[range(d), range(d)] += 2 * both
    second[:d, d] += 2 * n * lam
    second[d, :d] += 2 * n * lam
    second[d, d] = n * (n + 2) * (q**2 + 2 * (lam**2).sum())
    residual = 1 - mean @ np.linalg.solve(second, mean)
    inner = q**2 + (lam**2).sum() * (n + 2 - n / both)
    kappa = both * d / 2 + n * noise**2 / (2 * inner)
    assert residual == pytest.approx(1 / (1 + kappa), rel=1e-12)


def test_label_zero_with_a_prior_mean():
    """What the chapter's table says in words: [x; 0] helps without a residual, and hurts with one."""
    plain = [F.best_over_heads(2, u, 0.3, mu=1.0) for u in range(4)]
    constant = [F.best_over_heads(2, u, 0.3, mu=1.0, constant=True) for u in range(4)]
    assert all(b < a for a, b in itertools.pairwise(plain))
    assert all(b > a for a, b in itertools.pairwise(constant))


def test_an_intercept_acts_like_noise():
    d, n, noise, beta = 2, 3, 0.25, 1.5
    task = lsa.isotropic(d, n, noise)
    eta, prompts = lsa.optimum(task).step, task.sample(400_000, generator=1)
    shifted = prompts._replace(y=prompts.y + beta)
    squares = (lsa.gradient_descent(shifted, eta) - prompts.y_query - beta).square()
    promised = lsa.one_step_loss(eta, lsa.isotropic(d, n, noise + beta**2))
    assert abs((squares.mean() - promised) / (squares.std() / len(squares) ** 0.5)) < 4


def test_the_live_figure_computes_the_same():
    """steps.js: sum, mean and null keys at any length, each example shown once or more often."""
    cases = list(itertools.product((1, 10), (1, 5), (0.0, 0.25), (1, 2, 3), (3, 14)))
    code = """
    import { landmarks, stepLoss, weightsAt } from "./steps.js";
    console.log(JSON.stringify(given.map(([n, d, noise, copies, seen]) => {
      const task = { n, d, noise, copies }, weights = weightsAt(task, seen);
      const losses = ["sum", "mean", "nulls"].map((who) => stepLoss(weights[who], seen, d, noise));
      const { best, useless } = landmarks(task);
      return [...losses, best, stepLoss(weightsAt(task, useless).sum, useless, d, noise)];
    })));"""
    for (n, d, noise, k, seen), found in zip(cases, node(code, cases), strict=True):
        total, mean, nulls, best, useless = found
        eta, task = lsa.optimum(lsa.isotropic(d, n, noise)).step, lsa.isotropic(d, seen, noise)
        steps = k * eta, eta * n / seen, k / (k * seen + d + 1 + noise)
        assert [total, mean, nulls] == pytest.approx([lsa.one_step_loss(s, task) for s in steps], rel=1e-12)
        assert useless == pytest.approx(d + noise, rel=1e-12)
        assert best == pytest.approx((n + d + 1 + noise) / k - (d + 1 + noise) / 2, rel=1e-12)


def test_patients_by_drawn_prompts():
    """The page's table for n = 20, and what ridge loses, by prompts drawn from the file."""
    table = np.loadtxt(ROOT / "book/source/diabetes.csv", delimiter=",", skiprows=3)
    assert table.shape == (442, 11)
    table = (table - table.mean(0)) / table.std(0)
    x, y, d, n, rng = table[:, :-1], table[:, -1], 10, 20, np.random.default_rng(0)
    Sigma, m = x.T @ x / 442, x.T @ y / 442
    inverse = np.linalg.inv(Sigma)
    R2 = m @ inverse @ m
    assert pytest.approx(0.517748, abs=1e-6) == R2
    noise = d * (1 - R2) / R2  # σ² over the signal of one direction
    drawn = rng.integers(442, size=(20_000, n + 1))
    X, Y, q, target = x[drawn[:, :-1]], y[drawn[:, :-1]], x[drawn[:, -1]], y[drawn[:, -1]]
    Xy = (Y[:, None] @ X)[:, 0]
    C, S = np.outer(m, m), (x.T * y**2) @ x / 442
    best = inverse @ C @ np.linalg.inv(S + (n - 1) * C)
    for P, expected in ((inverse / (n + d + 1 + noise), 0.7435), (best, 0.5250)):
        losses = (np.einsum("bi,ij,bj->b", q, P, Xy) - target) ** 2
        assert abs(losses.mean() - expected) < 4 * losses.std() / math.sqrt(len(losses))
    w = np.linalg.solve(X.transpose(0, 2, 1) @ X + noise * Sigma, Xy[..., None])[..., 0]
    losses = ((q * w).sum(1) - target) ** 2
    assert losses.mean() == pytest.approx(0.69, abs=0.025)
    z2 = ((x @ inverse) * x).sum(1)
    assert (z2**2).mean() == pytest.approx(145.4, abs=0.05)
    random_w = (
        1
        - 2 * n * R2 / (n + d + 1 + noise)
        + (n * (R2 / d * (z2**2).mean() + (1 - R2) * d) + n * (n - 1) * R2) / (n + d + 1 + noise) ** 2
    )
    assert random_w == pytest.approx(0.7593, abs=1e-4)
