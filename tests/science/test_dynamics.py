"""The formulas of the chapter on dynamics, against integrated flows, quadrature, sampling and limits."""

import itertools
import math

import numpy as np
import pytest
import torch
from helpers.chapter_code import functions
from helpers.javascript import node
from helpers.tasks import linear_task

import lsa
from lsa.landscape import landscape

F = functions("dynamics")
pytestmark = pytest.mark.usefixtures("double")


def weights_of(layer, apart=False):
    """The row (1, …) in which the page keeps a layer's weights: a, M, or a, W_Q, W_K."""
    a, M = layer.effective()
    parts = [a, layer.query[..., :-1], layer.key] if apart else [a, M]
    return torch.cat([part.detach().flatten() for part in parts])[None]


@pytest.mark.parametrize("apart", [False, True])
@pytest.mark.parametrize(("d", "n", "noise"), [(1, 4, 0.3), (2, 6, 0.3), (4, 3, 0.0)])
def test_the_loss_and_its_slope(d, n, noise, apart):
    """The page's loss against `lsa.population_loss`, for any Σ and Λ too, and its slope by differences."""
    for task in (lsa.isotropic(d, n, noise), linear_task(d, n, seed=d, noise=noise)):
        layer = lsa.LinearSelfAttention(d, scale=1.0, generator=n)
        v = weights_of(layer, apart)
        exact = lsa.population_loss(layer, task).item()
        assert F.loss(v, task).item() == pytest.approx(exact, rel=1e-12)
        along = torch.randn(v.shape, generator=torch.Generator().manual_seed(d))
        along /= along.norm()
        ahead, behind = (F.loss(v + h * along, task) for h in (1e-5, -1e-5))
        slope = (F.downhill(v, task) * along).sum().item()
        assert slope == pytest.approx(((behind - ahead) / 2e-5).item(), rel=1e-5, abs=1e-6 * exact)


CASES = [
    (3, 6, 0.3, 0.01, 0.01 / math.sqrt(3)),
    (3, 6, 0.3, 0.05, 0.001),
    (4, 10, 0.0, 0.001, 0.02),
    (2, 5, 1.0, 0.2, -0.01),
]


@pytest.mark.parametrize(("d", "n", "noise", "gamma", "nu"), CASES)
def test_gradient_flow_in_closed_form(d, n, noise, gamma, nu):
    """All (d+1)² weights flow: the family is never left, Δ is conserved, z and L are as promised."""
    task, eye = lsa.isotropic(d, n, noise), torch.eye(d + 1, d)
    v = torch.cat([gamma * torch.eye(d + 1)[-1], nu * eye.flatten()])[None]
    for _ in range(400):
        v = F.flow(v, task, 0.5 / n / 400)
    a, M = v[:, : d + 1], v[:, d + 1 :].view(1, d + 1, d)
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
    """The same 400 starts at two sizes: a decade takes the factor 10^(1−√d), within what chance leaves."""
    sizes = torch.tensor([1e-1, 1e-2, 1e-3])
    found = F.ends(lsa.isotropic(2, 6, 0.3), sizes, 400)
    assert found[2].sum() == 0  # on the way
    large, _, small = (found[1] / 400).tolist()
    slope = math.log(large / small) / math.log(100)
    error = math.sqrt(1 / (400 * large) + 1 / (400 * small)) / math.log(100)
    assert abs(slope - (math.sqrt(2) - 1)) < 3 * error
    assert error < 0.06


FOLLOW = """
import { Flow, isotropic, side } from "./gradient_flow.js";
const land = isotropic(3, 40, 0.3), flow = new Flow(land, true), ends = {};
const over = (angle, loss) => side(land, angle, loss) !== "undecided";
for (const size of [0.1, 0.01]) {
  const found = (ends[size] = { optimum: 0, trap: 0, saddle: [] });
  for (let k = 1; k <= 60; k++) {
    const path = flow.run(flow.start(size, k), { over, most: 30000, tolerance: 1e-3 });
    const [, angle, loss] = path.at(-1), end = side(land, angle, loss);
    if (end === "undecided") found.saddle.push([angle, loss]);
    else found[end]++;
  }
}
console.log(JSON.stringify(ends));
"""


def test_keys_and_queries_apart_miss_the_optimum_at_every_size():
    """By another program, d = 3, n = 40, 60 starts: the others are in the trap, or wait at 90°."""
    ends, curve = node(FOLLOW), landscape(lsa.isotropic(3, 40, 0.3))
    assert ends["0.1"]["optimum"] == pytest.approx(ends["0.01"]["optimum"], abs=3)
    assert ends["0.01"]["optimum"] == 36
    assert ends["0.1"]["trap"] >= 24
    for angle, loss in ends["0.1"]["saddle"] + ends["0.01"]["saddle"]:
        assert math.degrees(angle) > 89
        assert loss == pytest.approx(curve(math.inf), rel=1e-2)


def test_keys_and_queries_apart_on_the_page():
    task, sizes = lsa.isotropic(2, 6, 0.3), torch.tensor([0.1, 0.01, 0.001])
    optimum, trap, on_the_way = F.ends(task, sizes, 60, apart=True)
    assert optimum.max() - optimum.min() <= 2
    assert 0.35 * 60 < optimum.min() < optimum.max() < 0.75 * 60
    assert (on_the_way > 5 * trap).all()
    # they rest at 90°, above the barrier: none that rests there has passed it
    assert landscape(task)(math.inf) > F.barrier(task)[1]


@pytest.mark.nightly
def test_keys_and_queries_apart_after_2400_steps():
    """Nobody who was on the way has reached the optimum since; the larger starts went to the trap."""
    task, sizes = lsa.isotropic(2, 6, 0.3), torch.tensor([0.1, 0.01, 0.001])
    early, late = (F.ends(task, sizes, 200, apart=True, steps=steps) for steps in (300, 2400))
    assert (early[0] - late[0]).abs().max() <= 1
    assert (1 - early[0] / 200).tolist() == pytest.approx([0.44] * 3, abs=0.01)
    assert (late[1] / 200).tolist() == pytest.approx([0.245, 0.025, 0.015], abs=0.011)


KAPPA = {(2, 6): (1.36, 1.40, 1.417), (3, 40): (1.84, 1.88, 2.878)}


@pytest.mark.parametrize(("d", "n"), KAPPA)
def test_the_share_of_the_trap_by_shooting_from_zero(d, n):
    """rem-dynamics-share: where κ* is, the constant that it gives, and 2,000 random starts."""
    task, (inside, outside, constant) = lsa.isotropic(d, n, 0.3), KAPPA[d, n]
    top, height = F.barrier(task)

    def in_the_trap(v):
        for _ in range(1500):
            on = F.loss(v, task) >= height
            if not on.any():
                break
            v[on] = F.flow(v[on], task, 0.2 / (n * math.sqrt(d)))
        assert not on.any()
        return v[:, :d].square().sum(1) >= top * v[:, d] ** 2

    b, kappa = 0.02, torch.tensor([1e-4, 0.3, 0.8, inside, outside, 2.5, 4.0])  # b = (α + m)/2 along e₁
    g = kappa * b ** math.sqrt(d)
    M = torch.cat([torch.eye(d), torch.zeros(1, d)]) * (g / math.sqrt(d))[:, None, None]
    M[:, d, 0] = b
    a = torch.zeros(len(kappa), d + 1)
    a[:, 0], a[:, d] = b, g
    assert in_the_trap(torch.cat([a, M.flatten(1)], 1) / math.sqrt(n)).tolist() == [True] * 4 + [False] * 3

    ratio = math.gamma((d + math.sqrt(d)) / 2) / math.gamma(d / 2) / math.sqrt(math.pi)
    assert (inside + outside) * ratio == pytest.approx(constant, rel=5e-3)  # |K| = 2κ*
    s, generator = 0.003, torch.Generator().manual_seed(7)
    caught = in_the_trap(s / math.sqrt(n) * torch.randn(2000, (d + 1) ** 2, generator=generator)).sum()
    expected = 2000 * constant * s ** (math.sqrt(d) - 1)
    assert abs(caught - expected) < 4 * math.sqrt(expected)


def test_a_balanced_start_of_the_wrong_sign_decays_into_the_saddle():
    """Δ = 0, z₀ < 0 in thm-dynamics-flow, against the integrated equation."""
    task, s = lsa.isotropic(3, 6, 0.3), 0.05
    z, eta, h = -(s**2) / math.sqrt(3), lsa.optimum(task).step, 1e-5
    slope = lambda z: 4 * task.n * math.sqrt(3) * abs(z) * (1 - z / eta)  # noqa: E731
    for _ in range(5000):
        middle = z + h / 2 * slope(z)
        z += h * slope(middle)
    assert F.step_size(0.05, -s, s / math.sqrt(3), task).item() == pytest.approx(z, rel=1e-5)
    assert z < 0


def test_the_barrier_separates():
    """Starts that are called caught, and others, are followed on to the end."""
    task = lsa.isotropic(2, 6, 0.3)
    (trap,), best = lsa.traps(task), lsa.optimum(task).loss
    top, height = F.barrier(task)
    grid = [landscape(task)(t) for t in np.logspace(-4, math.log10(trap.tangent), 4000)]
    assert height == pytest.approx(max(grid), rel=1e-6)
    assert 0 < top < trap.tangent
    assert height > trap.loss > best
    v = 0.1 / math.sqrt(6) * torch.randn(60, 9, generator=torch.Generator().manual_seed(2))
    side = None
    for _ in range(2500):
        v = v + 0.02 / 6 * F.downhill(v, task)
        loss = F.loss(v, task)
        if side is None and (loss < height).all():
            side = v[:, :2].square().sum(-1) / v[:, 2] ** 2 > top
    assert 5 < side.sum() < 55
    torch.testing.assert_close(loss, torch.where(side, trap.loss, best), rtol=1e-3, atol=0)


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
    promised = F.plateaus(torch.tensor(VARIANCES), N, noise)
    assert promised[-1].item() == pytest.approx(lsa.optimum(task).loss, rel=1e-12)
    if noise == 0:
        assert promised.tolist() == pytest.approx([1, 0.64058, 0.37737, 0.20980, 0.13600], abs=5e-6)


def test_directions_are_learned_in_the_order_of_their_variances():
    """The layer's own weights, by autograd: near the m-th level, M sees the m largest directions only."""
    task = lsa.Task(lsa.Gaussian(torch.diag(torch.tensor(VARIANCES))), lsa.Linear(torch.eye(4)), N, 0.0)
    levels = F.plateaus(torch.tensor(VARIANCES), N)
    layer = lsa.LinearSelfAttention(4, scale=0.0)
    g = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for weight in (layer.key, layer.query):
            weight[0, :4, :4] = 0.002 * N ** (-1 / 3) * torch.randn(4, 4, generator=g)
        layer.value[0, -1, -1] = 0.01 * N ** (-1 / 3)
        layer.readout.zero_()[-1] = 1
    nearest, seen = torch.full((5,), torch.inf), [None] * 5
    weights = [layer.key, layer.query, layer.value]
    for _ in range(2500):
        loss = lsa.population_loss(layer, task)
        slopes = torch.autograd.grad(loss, weights)
        step = 0.3 / (N * math.sqrt(sum(w.square().sum().item() for w in weights)))
        a, M = layer.effective()
        P = a[0, -1] * M[0, :4]
        for m, gap in enumerate((loss / levels - 1).abs().detach()):
            if gap < nearest[m]:
                nearest[m], seen[m] = gap, P.detach().diagonal().clone()
        with torch.no_grad():
            for weight, slope in zip(weights, slopes, strict=True):
                weight -= step * slope
    best = 1 / ((N + 1) * torch.tensor(VARIANCES) + 1)
    for m, P in enumerate(seen):
        torch.testing.assert_close(P / best, (torch.arange(4) < m).double(), rtol=0, atol=0.25)


def test_other_sets_of_directions_have_other_levels():
    """More than 3 % apart, as the page says."""
    lam, levels = torch.tensor(VARIANCES), F.plateaus(torch.tensor(VARIANCES), N)
    gains = -levels.diff()
    for kept in itertools.product([0, 1], repeat=4):
        if sorted(kept, reverse=True) != list(kept):
            level = lam.sum() - (torch.tensor(kept) * gains).sum()
            assert (level / levels - 1).abs().min() > 0.03


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
def test_the_price_in_one_dimension_by_quadrature(n, noise):
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
    assert F.price(lsa.isotropic(1, n, noise)) == pytest.approx(total @ root / (n * u), rel=1e-10)


def test_the_price_by_sampling():
    """E[residual² |x_q|² |b|²] over prompts, d = 3; and the numbers on the page."""
    task = lsa.isotropic(3, 6, 0.3)
    prompts, u = task.sample(400_000, generator=0), 10.3
    b = (prompts.y[:, None, :] @ prompts.x)[:, 0]
    residual = prompts.y_query - (prompts.x_query * b).sum(-1) / u
    sample = residual.square() * prompts.x_query.square().sum(-1) * b.square().sum(-1) / (6 * u)
    assert abs(sample.mean() - F.price(lsa.isotropic(3, 6, 0.3))) < 4 * sample.std() / math.sqrt(len(sample))
    assert F.price(lsa.isotropic(3, 6, 0.3)) == pytest.approx(33.948, abs=1e-3)
    assert F.price(lsa.isotropic(4, 8, 0.25)) == pytest.approx(59.462, abs=1e-3)
    assert F.price(lsa.isotropic(6, 12, 0.25)) == pytest.approx(147.148, abs=1e-3)
    tasks = [lsa.isotropic(d, 2 * d, 0.25) for d in (3, 6, 12, 24)]
    ratios = [F.price(task) / (task.d**2 * lsa.optimum(task).loss) for task in tasks]
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


def test_losses_of_fits_peak_at_the_threshold_and_follow_the_price():
    task = lsa.isotropic(3, 6, 0.3)
    medians = [F.fitted(task, T, 100).median() for T in (3, 9, 40)]
    assert medians[1] > 5 * max(medians[0], medians[2])
    found = 2000 * (F.fitted(task, 2000, 200, seed=3) - lsa.optimum(task).loss)
    assert abs(found.mean() - F.price(lsa.isotropic(3, 6, 0.3))) < 4 * found.std() / math.sqrt(200)


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
import { Flow, follow, isotropic } from "./gradient_flow.js";
const answers = given.map(({ d, n, noise, at, v, apart, start }) => {
  const land = isotropic(d, n, noise), flow = new Flow(land, apart), out = new Float64Array(flow.length);
  const loss = flow.slope(Float64Array.from(v), out), moved = Float64Array.from(start);
  const curve = at.map((t) => land.V(Math.atan(Math.sqrt(t))));  // V of the angle
  const answer = { curve, best: land.best, caught: land.caught, height: land.height };
  Object.assign(answer, { wall: land.barrier, loss, slope: [...out], ends: [] });
  if (!apart) {
    flow.run(moved, { until: 0.5, tolerance: 1e-6, most: 1e5 });
    const runs = follow(land, { apart, size: 0.1, count: 12, seed: 1 });
    answer.ends = runs.map(({ path, end }) => [end, path.at(-1)[2]]);
  }
  return { ...answer, moved: [...moved] };
});
console.log(JSON.stringify(answers));
"""
TASKS = [(2, 6, 0.3), (3, 40, 0.3), (4, 9, 0.0), (3, 22, 0.3)]


def test_the_live_figure_s_landscape_and_flow():
    """Its weights are those of G/n: a M/n, and time n τ."""
    cases, at, g = [], [0.0, 0.3, 2.0, 17.0, 400.0], torch.Generator().manual_seed(0)
    for (d, n, noise), apart in itertools.product(TASKS, [False, True]):
        v = torch.randn((d + 1) ** 2 * (1 + apart), generator=g).tolist()
        start = [0.0] * d + [0.3] + (0.2 * torch.eye(d + 1, d)).flatten().tolist()
        cases.append({"d": d, "n": n, "noise": noise, "at": at, "v": v, "apart": apart, "start": start})
    for case, answer in zip(cases, node(LIVE, cases), strict=True):
        d, n, noise = case["d"], case["n"], case["noise"]
        task, v = lsa.isotropic(d, n, noise), torch.tensor(case["v"])[None]
        curve, traps = landscape(task), lsa.traps(task)
        assert answer["curve"] == pytest.approx([curve(t) for t in at], rel=1e-12)
        assert answer["best"] == pytest.approx(curve(0.0), rel=1e-12)
        assert bool(answer["wall"]) == bool(traps)
        if traps:
            assert answer["caught"] == pytest.approx(traps[0].loss, rel=1e-10)
            assert answer["height"] == pytest.approx(F.barrier(task)[1], rel=1e-10)
        unit = torch.ones_like(v)
        unit[:, d + 1 : (d + 1) ** 2] = 1 / n
        assert answer["loss"] == pytest.approx(F.loss(v * unit, task).item(), rel=1e-12)
        slope = unit * F.downhill(v * unit, task)
        torch.testing.assert_close(torch.tensor(answer["slope"])[None], slope, rtol=1e-10, atol=1e-10)
        if not case["apart"]:  # a and M are √n times those of the plain flow
            gamma, nu = answer["moved"][d], answer["moved"][d + 1]
            z = F.step_size(0.5 / n, 0.3 / math.sqrt(n), 0.2 / math.sqrt(n), task).item()
            assert gamma * nu / n == pytest.approx(z, rel=1e-4)
        for end, loss in answer["ends"]:
            expected = {"optimum": curve(0.0)} | ({"trap": traps[0].loss} if traps else {})
            assert abs(loss - expected[end]) < 0.011 * (d + noise - curve(0.0))
