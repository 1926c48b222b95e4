"""The formulas of the chapter on dynamics, against integrated flows, quadrature, sampling and limits."""

import itertools
import math

import numpy as np
import pytest
import torch
from chapter_code import functions
from test_live import node

import lsa
from lsa.landscape import landscape

F = functions("dynamics")
pytestmark = pytest.mark.usefixtures("double")


@pytest.fixture
def double():
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(before)


@pytest.mark.parametrize(("d", "n", "noise"), [(1, 4, 0.3), (2, 6, 0.3), (4, 3, 0.0)])
def test_slopes(d, n, noise):
    """The loss and its gradient on the page against `lsa.population_loss` and autograd."""
    task, g = lsa.isotropic(d, n, noise), torch.Generator().manual_seed(d)
    a, M = torch.randn(5, d + 1, generator=g), torch.randn(5, d + 1, d, generator=g)
    losses, (by_a, by_M) = F.slopes([a, M], task)
    for k in range(5):
        layer = lsa.LinearSelfAttention.from_effective(a[k : k + 1], M[k : k + 1])
        loss = lsa.population_loss(layer, task)
        query, value = torch.autograd.grad(-loss, [layer.query, layer.value])
        assert losses[k].item() == pytest.approx(loss.item(), rel=1e-12)
        torch.testing.assert_close(by_a[k], value[0, -1], rtol=1e-10, atol=1e-9)
        torch.testing.assert_close(by_M[k], query[0, :, :-1], rtol=1e-10, atol=1e-9)


CASES = [
    (3, 6, 0.3, 0.01, 0.01 / math.sqrt(3)),
    (3, 6, 0.3, 0.05, 0.001),
    (4, 10, 0.0, 0.001, 0.02),
    (2, 5, 1.0, 0.2, -0.01),
]


@pytest.mark.parametrize(("d", "n", "noise", "gamma", "nu"), CASES)
def test_gradient_flow_in_closed_form(d, n, noise, gamma, nu):
    """All (d+1)² weights are integrated: the family is never left, Δ is conserved, z and L are as promised."""
    task, eye = lsa.isotropic(d, n, noise), torch.eye(d + 1, d)
    a, M = F.runge_kutta([gamma * torch.eye(d + 1)[-1:], nu * eye[None]], task, 0.5 / n, 400)
    z, best = (a[0, -1] * M[0, 0, 0]).item(), lsa.optimum(task)
    assert F.step_size(0.5 / n, gamma, nu, task).item() == pytest.approx(z, abs=1e-9 * best.step)
    assert a[0, :-1].abs().max() < 1e-14
    assert (M[0] - M[0, 0, 0] * eye).abs().max() < 1e-14
    delta = (a.square().sum() - M.square().sum()).item()
    assert delta == pytest.approx(gamma**2 - d * nu**2, abs=1e-10)
    loss = lsa.population_loss(lsa.LinearSelfAttention.from_effective(a, M), task).item()
    assert loss == pytest.approx(best.loss + n * d / best.step * (z - best.step) ** 2, rel=1e-12)


def test_both_closed_forms_meet_where_the_start_is_balanced():
    task = lsa.isotropic(3, 6, 0.3)
    balanced = F.step_size(0.08, 0.01, 0.01 / math.sqrt(3), task)
    nearly = F.step_size(0.08, 0.01 * (1 + 1e-7), 0.01 / math.sqrt(3), task)
    assert nearly.item() == pytest.approx(balanced.item(), rel=1e-5)


def balanced_layer(factors, s, d):
    """z as a product of balanced factors among W_K, W_Q, W_V, h; and the names of those that are trained."""
    layer, part = lsa.LinearSelfAttention(d, scale=0.0), s / math.sqrt(d)
    with torch.no_grad():
        for weight, size in ((layer.key, part if factors > 2 else 1.0), (layer.query, part)):
            weight[0] = size * torch.diag(torch.cat([torch.ones(d), torch.zeros(1)]))
        layer.value[0, -1, -1] = s
        layer.readout.zero_()[-1] = s if factors == 4 else 1.0
    return layer, {2: ["query", "value"], 3: ["key", "query", "value"]}.get(
        factors, ["key", "query", "value", "readout"]
    )


@pytest.mark.parametrize("factors", [2, 3, 4])
def test_escape_time_by_the_flow_of_the_layer_s_own_weights(factors):
    """Runge and Kutta on W_K, W_Q, W_V and h, up to the promised time: half the step is reached there."""
    task, s = lsa.isotropic(2, 5, 0.5), 0.3
    layer, names = balanced_layer(factors, s, 2)
    steps, time = 150, F.escape_time(factors, s, task)
    weights = [getattr(layer, name) for name in names]

    def slope(values):
        with torch.no_grad():
            for weight, value in zip(weights, values, strict=True):
                weight.copy_(value)
        return [-g for g in torch.autograd.grad(lsa.population_loss(layer, task), weights)]

    def moved(values, changes, h):
        return [v + h * c for v, c in zip(values, changes, strict=True)]

    now, h = [w.detach().clone() for w in weights], time / steps
    for _ in range(steps):
        k1 = slope(now)
        k2 = slope(moved(now, k1, h / 2))
        k3 = slope(moved(now, k2, h / 2))
        k4 = slope(moved(now, k3, h))
        now = [v + h / 6 * (a + 2 * b + 2 * c + e) for v, a, b, c, e in zip(now, k1, k2, k3, k4, strict=True)]
    slope(now)
    a, M = layer.effective()
    assert (a[0, -1] * M[0, 0, 0]).item() == pytest.approx(lsa.optimum(task).step / 2, rel=1e-6)


def test_escape_times_of_small_starts():
    task = lsa.isotropic(5, 10, 0.3)
    n, root, eta = 10, math.sqrt(5), lsa.optimum(task).step
    for s in (1e-2, 1e-4):
        exact = math.log(eta * root / s**2 - 1) / (4 * n * root)
        assert F.escape_time(2, s, task) == pytest.approx(exact, rel=1e-10)
        x, y = math.sqrt(s**4 / 5 / eta), math.sqrt(0.5)  # four factors: artanh x − 1/x
        exact = (math.atanh(y) - 1 / y - math.atanh(x) + 1 / x) / (4 * n * math.sqrt(5 * eta))
        assert F.escape_time(4, s, task) == pytest.approx(exact, rel=1e-8)
    s = 1e-5
    leading = {2: math.log(1 / s) / (2 * n * root), 3: 1 / (2 * n * s), 4: 1 / (4 * n * s**2)}
    for factors, promised in leading.items():
        assert F.escape_time(factors, s, task) == pytest.approx(promised, rel=0.15 if factors == 2 else 1e-3)
    decade = F.escape_time(2, s, task) - F.escape_time(2, 10 * s, task)
    assert decade == pytest.approx(math.log(10) / (2 * n * root), rel=1e-6)
    table = [(0.0284, 0.436, 2.475), (0.0808, 4.94, 250), (0.1323, 49.9, 2.5e4), (0.1837, 500, 2.5e6)]
    for s, row in zip((1e-1, 1e-2, 1e-3, 1e-4), table, strict=True):
        assert [F.escape_time(k, s, task) for k in (2, 3, 4)] == pytest.approx(row, rel=2e-3)


@pytest.mark.parametrize(("d", "n"), [(2, 6), (3, 7), (5, 10)])
def test_rates_at_zero(d, n):
    task = lsa.isotropic(d, n, 0.3)

    def loss(v):
        a, M = v[: d + 1], v[d + 1 :].view(d + 1, d)
        layer = lsa.LinearSelfAttention.from_effective(a[None], M[None])
        del layer.value, layer.query
        layer.value = torch.eye(d + 1)[None, :, -1:] * a
        layer.query = torch.cat([M, torch.zeros(d + 1, 1)], -1)[None]
        return lsa.population_loss(layer, task)

    rates = torch.linalg.eigvalsh(-torch.autograd.functional.hessian(loss, torch.zeros((d + 1) ** 2)))
    growing = rates[rates > 1e-9]
    expected = torch.tensor([2.0 * n] * d + [2 * n * math.sqrt(d)])
    torch.testing.assert_close(growing, expected, rtol=1e-10, atol=0)


def test_keys_and_queries_apart_have_no_preference():
    g = torch.Generator().manual_seed(0)
    for d in (2, 3, 5):
        for a in torch.randn(10, d + 1, generator=g):
            alpha, gamma = a[:-1], a[-1]
            matrix = torch.cat([gamma * torch.eye(d), alpha[:, None]], 1)
            assert torch.linalg.matrix_norm(matrix, 2).item() == pytest.approx(a.norm().item(), rel=1e-12)


def test_the_lowest_order_of_the_loss_with_keys_and_queries_apart():
    d, n, noise, s = 3, 7, 0.3, 1e-3
    task, layer = lsa.isotropic(d, n, noise), lsa.LinearSelfAttention(d, scale=s, generator=1)
    a = layer.effective()[0][0]
    pull = torch.cat([a[-1] * torch.eye(d), a[:-1, None]], 1)  # [γI, α]
    sum_ = ((layer.key[0] @ pull.T) * layer.query[0, :, :d]).sum()
    assert (lsa.population_loss(layer, task) - d - noise).item() == pytest.approx(
        -2 * n * sum_.item(), rel=1e-3
    )


def test_share_of_the_trap_falls_with_the_start():
    """600 starts a size: a decade takes the factor 10^(1−√d), within what chance leaves of a ratio of counts."""
    task = lsa.isotropic(2, 6, 0.3)
    large, small = (F.share_in_trap(task, s, 600, seed=1) for s in (1e-2, 1e-4))
    slope = math.log(large / small) / math.log(100)
    error = math.sqrt(1 / (600 * large) + 1 / (600 * small)) / math.log(100)
    assert abs(slope - (math.sqrt(2) - 1)) < 3 * error
    assert error < 0.06


def test_the_barrier_separates():
    """Starts that are called caught, and others, are followed on to the end."""
    task = lsa.isotropic(2, 6, 0.3)
    (trap,), best = lsa.traps(task), lsa.optimum(task).loss
    top, height = F.barrier(landscape(task), trap)
    assert 0 < top < trap.tangent
    assert height > trap.loss > best
    g = torch.Generator().manual_seed(2)
    weights = [0.1 * torch.randn(60, 3, generator=g), 0.1 / 6 * torch.randn(60, 3, 2, generator=g)]
    side = None
    for _ in range(4000):
        loss, (by_a, by_M) = F.slopes(weights, task)
        weights = [weights[0] + 0.02 * by_a, weights[1] + 0.02 / 36 * by_M]
        if side is None and (loss < height).all():
            side = weights[0][:, :-1].square().sum(-1) / weights[0][:, -1] ** 2 > top
    assert 5 < side.sum() < 55
    ends = torch.where(side, trap.loss, best)
    torch.testing.assert_close(loss, ends, rtol=1e-3, atol=0)


def test_long_prompts_in_the_limit():
    """The gap to the limit falls like 1/d."""
    for scale, x in itertools.product((1, 4, 9, 30), (0.2, 1.0, 2.0, 5.0, 20.0)):
        limit, gaps = x / scale + 2 * x / (1 + x * x), []
        for d in (100, 400):
            curve = landscape(lsa.isotropic(d, scale * d * d, 0.3))
            gaps.append(curve(x * d) - curve(0.0) - limit)
        assert abs(gaps[1]) < 0.1 * limit
        assert gaps[1] / gaps[0] == pytest.approx(1 / 4, abs=0.1)
    for scale, roots in ((4.2, 2), (3.8, 0)):  # (1+x²)² = 2ν(x²−1), as a quadratic in x²
        solved = np.roots([1, 2 - 2 * scale, 1 + 2 * scale])
        assert (abs(solved.imag) < 1e-12).sum() == roots
        if roots:
            expected = scale - 1 + np.array([1, -1]) * math.sqrt(scale**2 - 4 * scale)
            assert sorted(solved.real) == pytest.approx(sorted(expected))


VARIANCES, N = [0.4, 0.3, 0.2, 0.1], 31


@pytest.mark.parametrize("noise", [0.0, 0.5])
def test_plateaus_are_stationary_points(noise):
    """Every set of directions, in W_K, W_Q, W_V and h: no slope, the promised loss, and a way down."""
    task = lsa.Task(lsa.Gaussian(torch.diag(torch.tensor(VARIANCES))), lsa.Linear(torch.eye(4)), N, noise)
    q = sum(VARIANCES) + noise
    for kept in itertools.product([0, 1], repeat=4):
        p = torch.tensor([k / ((N + 1) * v + q) for k, v in zip(kept, VARIANCES, strict=True)])
        root = torch.diag(torch.cat([p.sqrt(), torch.zeros(1)]))
        layer = lsa.LinearSelfAttention(4, scale=0.0)
        with torch.no_grad():
            layer.key[0], layer.query[0], layer.value[0, -1, -1] = root, root, 1
            layer.readout.zero_()[-1] = 1
        loss = lsa.population_loss(layer, task)
        gain = sum(k * N * v / (N + 1 + q / v) for k, v in zip(kept, VARIANCES, strict=True))
        assert loss.item() == pytest.approx(q - gain, rel=1e-12)
        slopes = torch.autograd.grad(loss, list(layer.parameters()))
        assert max(slope.abs().max() for slope in slopes) < 1e-12
        for j in (j for j in range(4) if not kept[j]):
            with torch.no_grad():
                layer.key[0, j, j] = layer.query[0, j, j] = 1e-3
            change = lsa.population_loss(layer, task) - loss
            assert change.item() == pytest.approx(-2 * N * VARIANCES[j] ** 2 * 1e-6, rel=1e-3)
            with torch.no_grad():
                layer.key[0, j, j] = layer.query[0, j, j] = 0
    promised = F.plateaus(VARIANCES, N, 0.0)
    assert promised.round(5) == pytest.approx([1, 0.64058, 0.37737, 0.20980, 0.13600], abs=1e-12)


def test_the_flow_of_the_plateaus_is_that_of_the_layer():
    """One short step of `descend` against the exact loss and its gradient by autograd."""
    rng, noise = np.random.default_rng(1), 0.2
    K, Q = 0.5 * rng.standard_normal((2, 4, 4))
    task = lsa.Task(lsa.Gaussian(torch.diag(torch.tensor(VARIANCES))), lsa.Linear(torch.eye(4)), N, noise)
    gamma, k, q = (torch.tensor(x, requires_grad=True) for x in (0.7, K, Q))

    def loss(gamma, k, q):
        layer = lsa.LinearSelfAttention(4, scale=0.0)
        del layer.key, layer.query, layer.value
        corner = torch.eye(5)[-1]
        layer.key, layer.query = (torch.nn.functional.pad(w, (0, 1, 0, 1))[None] for w in (k, q / N))
        layer.value = (gamma * torch.outer(corner, corner))[None]
        layer.readout = torch.nn.Parameter(corner)
        return lsa.population_loss(layer, task)

    value = loss(gamma, k, q)
    fall = sum(g.square().sum() for g in torch.autograd.grad(value, [gamma, k, q])).item()
    first, second = F.descend(VARIANCES, N, noise, 0.7, K, Q, step=1e-5, count=2)
    assert first == pytest.approx(value.item(), rel=1e-12)
    assert (first - second) / 1e-5 == pytest.approx(fall, rel=1e-3)


def test_products_of_traces():
    """Against closed forms, and E (tr W)² tr W² by sampling."""
    n, d = 5, 3
    assert F.traces((1,), n, d) == n * d
    assert F.traces((2,), n, d) == n * d * (n + d + 1)
    assert F.traces((1, 1), n, d) == (n * d) ** 2 + 2 * n * d
    assert F.traces((2, 1), n, d) == n * d * (n + d + 1) * (n * d + 4)  # |X|² is independent of X/|X|
    x = torch.randn(200_000, n, d, generator=torch.Generator().manual_seed(0))
    W = x.mT @ x
    p1, p2 = (torch.linalg.matrix_power(W, k).diagonal(dim1=1, dim2=2).sum(-1) for k in (1, 2))
    for sample, powers in ((p1**2 * p2, (2, 1, 1)), (p2**2, (2, 2))):
        error = sample.std() / math.sqrt(len(sample))
        assert abs(sample.mean() - F.traces(powers, n, d)) < 4 * error


@pytest.mark.parametrize(("n", "noise"), [(3, 0.3), (8, 1.0), (2, 0.0)])
def test_kappa_in_one_dimension_by_quadrature(n, noise):
    """d = 1: W is χ² with n degrees of freedom, its moments are exact; w and the noise by Gauss–Hermite."""
    h, weight = np.polynomial.hermite_e.hermegauss(8)
    weight = weight / weight.sum()
    w, e = np.meshgrid(h, h)
    both, u, total = np.outer(weight, weight), n + 2 + noise, np.zeros(9)
    for i, j in itertools.product(range(8), repeat=2):  # b = W w + √(Wσ²) e, as a polynomial in √W
        b = np.zeros(3)
        b[2], b[1] = w[i, j], math.sqrt(noise) * e[i, j]
        residual = np.array([w[i, j], 0, 0]) - b / u
        square = np.convolve(residual, residual)
        value = 3 * square + noise * np.array([1, 0, 0, 0, 0])
        total += both[i, j] * np.convolve(value, np.convolve(b, b))
    root = [2 ** (k / 2) * math.gamma((n + k) / 2) / math.gamma(n / 2) for k in range(9)]  # E W^(k/2)
    assert F.kappa(n, 1, noise) == pytest.approx(total @ root / (n * u), rel=1e-10)


def test_kappa_by_sampling():
    """E[residual² |x_q|² |b|²] over prompts, d = 3; and the numbers on the page."""
    task = lsa.isotropic(3, 6, 0.3)
    prompts, u = task.sample(400_000, generator=0), 10.3
    b = (prompts.y[:, None, :] @ prompts.x)[:, 0]
    residual = prompts.y_query - (prompts.x_query * b).sum(-1) / u
    sample = residual.square() * prompts.x_query.square().sum(-1) * b.square().sum(-1) / (6 * u)
    assert abs(sample.mean() - F.kappa(6, 3, 0.3)) < 4 * sample.std() / math.sqrt(len(sample))
    assert F.kappa(6, 3, 0.3) == pytest.approx(33.948, abs=1e-3)
    assert F.kappa(8, 4, 0.25) == pytest.approx(59.462, abs=1e-3)
    assert F.kappa(12, 6, 0.25) == pytest.approx(147.148, abs=1e-3)
    ratios = [
        F.kappa(2 * d, d, 0.25) / (d * d * lsa.optimum(lsa.isotropic(d, 2 * d, 0.25)).loss)
        for d in (3, 6, 12, 24)
    ]
    assert ratios == pytest.approx([2.50, 1.63, 1.29, 1.14], abs=5e-3)


@pytest.mark.parametrize("d", [2, 3])
def test_the_threshold_is_d_squared(d):
    """d² features are independent; below, T prompts are fitted exactly, above they are not."""
    prompts = lsa.isotropic(d, 6, 0.3).sample(d * d + 1, generator=0)
    b = (prompts.y[:, None, :] @ prompts.x)[:, 0]
    features = (prompts.x_query[:, :, None] * b[:, None, :]).flatten(1)
    for T in range(1, d * d + 2):
        some, y = features[:T], prompts.y_query[:T]
        assert torch.linalg.matrix_rank(some) == min(T, d * d)
        left = (some @ torch.linalg.pinv(some) @ y - y).norm()
        assert (left < 1e-9) == (d * d >= T)


def test_losses_of_fits_peak_at_the_threshold_and_follow_kappa():
    task = lsa.isotropic(3, 6, 0.3)
    medians = [F.fitted_loss(task, T, 100).median() for T in (3, 9, 40)]
    assert medians[1] > 5 * max(medians[0], medians[2])
    found = 2000 * (F.fitted_loss(task, 2000, 200, seed=3) - lsa.optimum(task).loss)
    assert abs(found.mean() - F.kappa(6, 3, 0.3)) < 4 * found.std() / math.sqrt(200)


@pytest.mark.parametrize(("K", "d", "n", "noise"), [(2, 5, 8, 0.3), (5, 5, 40, 0.0), (12, 4, 3, 1.0)])
def test_few_tasks(K, d, n, noise):
    task = lsa.isotropic(d, n, noise)
    w = torch.randn(K, d, generator=torch.Generator().manual_seed(K))
    lam = torch.linalg.eigvalsh(w.T @ w / K).clamp(min=0)
    lam = torch.where(lam < 1e-12, 0.0, lam)
    p = lam / ((n + 1) * lam + lam.sum() + noise)
    promised = d + noise + n * ((n + d + 1 + noise) * p**2 - 2 * p).sum()
    assert F.on_new_tasks(w, task) == pytest.approx(promised.item(), rel=1e-9)


def test_few_tasks_have_a_kink():
    for K in (1, 3, 6, 9):
        w = torch.randn(K, 6, generator=torch.Generator().manual_seed(K))
        assert F.on_new_tasks(w, lsa.isotropic(6, 10**8, 0.25)) == pytest.approx(
            0.25 + max(6 - K, 0), abs=1e-3
        )


def test_the_training_loss_sees_tasks_through_their_second_moment():
    """Sampled prompts with w one of K vectors: the slope at P of the second moment Λ_K is zero."""
    K, d, n = 3, 2, 4
    g = torch.Generator().manual_seed(0)
    w = torch.randn(K, d, generator=g)
    few = lsa.Task(lsa.Gaussian(torch.eye(d)), lsa.Linear(w.T @ w / K), n, 0.3)
    P = lsa.optimum(few).preconditioner
    count = 400_000
    task = w[torch.randint(K, (count,), generator=g)]
    x = torch.randn(count, n, d, generator=g)
    y = (x @ task[..., None])[..., 0] + math.sqrt(0.3) * torch.randn(count, n, generator=g)
    b = (y[:, None, :] @ x)[:, 0]
    slope = ((b @ P.T - task)[:, :, None] * b[:, None, :]).flatten(1)
    z = slope.mean(0) / slope.std(0) * math.sqrt(count)
    assert z.abs().max() < 4


LIVE = """
import { Flow, follow, isotropic } from "./valley.js";
console.log(JSON.stringify(given.map(({ d, n, noise, at, v, apart, start }) => {
  const land = isotropic(d, n, noise), flow = new Flow(land, apart), out = new Float64Array(flow.length);
  const loss = flow.slope(Float64Array.from(v), out), moved = Float64Array.from(start);
  if (!apart) flow.run(moved, { until: 0.5, tolerance: 1e-6, most: 1e5 });
  const ends = apart ? [] : follow(land, { apart, size: 0.1, count: 12, seed: 1 }).map(({ path, end }) => [end, path.at(-1)[2]]);
  return { curve: at.map((t) => land.V(t)), best: land.best, caught: land.caught, height: land.height, wall: land.barrier, loss, slope: [...out], moved: [...moved], ends };
})));
"""


def test_the_live_figure_s_landscape_and_flow():
    cases, at, g = [], [0.0, 0.3, 2.0, 17.0, 400.0], torch.Generator().manual_seed(0)
    for (d, n, noise), apart in itertools.product(
        [(2, 6, 0.3), (3, 40, 0.3), (4, 9, 0.0), (3, 22, 0.3)], [False, True]
    ):
        v = torch.randn((d + 1) ** 2 * (1 + apart), generator=g).tolist()
        start = [0.0] * d + [0.3] + (0.2 * torch.eye(d + 1, d)).flatten().tolist()
        cases.append({"d": d, "n": n, "noise": noise, "at": at, "v": v, "apart": apart, "start": start})
    for case, answer in zip(cases, node(LIVE, cases), strict=True):
        d, n, noise = case["d"], case["n"], case["noise"]
        task, size = lsa.isotropic(d, n, noise), d + 1
        curve, traps = landscape(task), lsa.traps(task)
        assert answer["curve"] == pytest.approx([curve(t) for t in at], rel=1e-12)
        assert answer["best"] == pytest.approx(curve(0.0), rel=1e-12)
        assert bool(answer["wall"]) == bool(traps)
        if traps:
            assert answer["caught"] == pytest.approx(traps[0].loss, rel=1e-10)
            assert answer["height"] == pytest.approx(F.barrier(curve, traps[0])[1], rel=1e-6)
        parts = torch.tensor(case["v"]).split([size, size * d, size * size][: 2 + case["apart"]])
        weights = [
            part.view(shape).requires_grad_()
            for part, shape in zip(parts, [(1, size), (1, size, d), (1, size, size)], strict=False)
        ]
        M = weights[2].mT @ weights[1] if case["apart"] else weights[1]
        losses, (by_a, by_M) = F.slopes([weights[0], M / n], task)
        assert answer["loss"] == pytest.approx(losses.item(), rel=1e-12)
        (pull,) = (by_M / n).detach()
        expected = [by_a.flatten()]
        expected += (
            [(weights[2][0] @ pull).flatten(), (weights[1][0] @ pull.T).flatten()]
            if case["apart"]
            else [pull.flatten()]
        )
        expected = torch.cat(expected).detach()
        torch.testing.assert_close(torch.tensor(answer["slope"]), expected, rtol=1e-10, atol=1e-10)
        if not case[
            "apart"
        ]:  # time in units of 1/n, M in units of 1/n: so a and M are √n times those of the plain flow
            gamma, nu = answer["moved"][d], answer["moved"][d + 1]
            z = F.step_size(0.5 / n, 0.3 / math.sqrt(n), 0.2 / math.sqrt(n), task).item()
            assert gamma * nu / n == pytest.approx(z, rel=1e-4)
            near = 0.011 * (d + noise - curve(0.0))
            for end, loss in answer["ends"]:
                assert end in ("optimum", "trap")
                assert abs(loss - (curve(0.0) if end == "optimum" else traps[0].loss)) < near
