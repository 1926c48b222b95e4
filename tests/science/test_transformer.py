"""Deep linear attention: against tokens moved one by one, polynomials, cubature and samples."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
import torch
from helpers.chapter_code import functions
from helpers.rules import chi_square_rule, hermite_rule, normal_equations
from helpers.tasks import conditioned, linear_task, normal, z_score

import lsa

chapter = functions("depth")


def random_model(d, layers, seed=0, scale=0.3):
    return lsa.LinearTransformer(d, layers, scale=scale, generator=seed)


def by_tokens(model, prompts):
    """The definition: every token moves, the query follows with the labelled tokens as keys."""
    answers = []
    for x, y, x_query in zip(prompts.x, prompts.y, prompts.x_query, strict=True):
        Z, z = torch.cat([x, y[:, None]], 1).T, torch.cat([x_query, torch.zeros(1, dtype=torch.float64)])
        for P, Q in zip(model.P, model.Q, strict=True):
            S = Z @ Z.T
            Z, z = Z + P @ S @ Q @ Z, z + P @ S @ Q @ z
        answers.append(-z[-1])
    return torch.stack(answers)


# ---- what layers compute ----


@pytest.mark.parametrize("layers", [1, 2, 3])
def test_the_prompt_enters_through_its_gram_matrix(layers):
    model, prompts = random_model(3, layers), lsa.isotropic(3, 7, 0.2).sample(5, generator=1)
    torch.testing.assert_close(model(prompts), by_tokens(model, prompts), rtol=1e-10, atol=1e-10)
    same = model.weights_from_gram(prompts.gram)
    torch.testing.assert_close((same * prompts.x_query).sum(-1), model(prompts))


def test_the_answer_is_linear_in_the_query():
    model, prompts = random_model(3, 3), lsa.isotropic(3, 7, 0.2).sample(4, generator=1)
    other = prompts._replace(x_query=normal(4, 3, seed=2))
    both = prompts._replace(x_query=2 * prompts.x_query - 3 * other.x_query)
    torch.testing.assert_close(model(both), 2 * model(prompts) - 3 * model(other), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize(("layers", "degree"), [(1, 1), (2, 4), (3, 13)])
def test_the_degree_in_the_gram_matrix(layers, degree):
    """Finite differences of u(tG) in integers: exact, the last that is not zero has the degree's number."""
    rng = np.random.default_rng(1)
    P, Q = rng.integers(1, 4, (2, layers, 2, 2)).astype(object)
    G, eye = np.array([[2, 1], [1, 3]], dtype=object), np.eye(2, dtype=int).astype(object)

    def u(t):
        F = eye
        for p, q in zip(P, Q, strict=True):
            F = F + p @ F @ (t * G) @ F.T @ q @ F
        return -F[1, 0]

    model = lsa.LinearTransformer(1, layers)
    with torch.no_grad():
        for weight, value in ((model.P, P), (model.Q, Q)):
            weight.copy_(torch.from_numpy(value.astype(float)))
    gram = 1e-3 * torch.from_numpy(G.astype(float))
    found = model.weights_from_gram(gram).item()
    assert found == pytest.approx(float(u(Fraction(1, 1000))), rel=1e-12)
    values, order = [u(t) for t in range(degree + 3)], -1
    while any(values):
        values, order = [b - a for a, b in itertools.pairwise(values)], order + 1
    assert order == degree == (3**layers - 1) // 2


def test_one_layer_is_a_linear_self_attention():
    deep, layer = random_model(3, 1), lsa.LinearSelfAttention(3, scale=0.0)
    with torch.no_grad():
        layer.key[0] = torch.eye(4)
        layer.query[0] = deep.Q[0]
        layer.value[0, -1] = -deep.P[0, -1]
        layer.readout.zero_()[-1] = 1
    prompts = lsa.isotropic(3, 7, 0.2).sample(5, generator=1)
    torch.testing.assert_close(deep(prompts), layer(prompts))


def test_layers_of_gradient_descent():
    prompts = lsa.isotropic(4, 9, 0.3).sample(6, generator=0)
    deep = lsa.LinearTransformer.from_steps(4, [0.05] * 3)
    torch.testing.assert_close(deep(prompts), lsa.gradient_descent(prompts, 0.05, steps=3))
    w = torch.zeros(4, dtype=torch.float64).expand(6, 4)
    for step in (0.03, 0.1):
        w = w + step * ((prompts.y - (prompts.x @ w[..., None])[..., 0])[:, None] @ prompts.x)[:, 0]
    unequal = lsa.LinearTransformer.from_steps(4, [0.03, 0.1])
    torch.testing.assert_close(unequal.in_context_weights(prompts), w)


@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_k_layers_attain_the_ladder_below_a_noise_threshold(k):
    """1 − λ p* = ∏ (1 − η_l λ) with real η_l at σ² = ¼; the steps of the chapter."""
    steps = {
        1: [1 / 16.25],
        2: [0.03890, 0.10541],
        3: [0.02996, 0.05371, 0.15264],
        4: [0.02469, 0.03778, 0.07178, 0.19894],
    }
    task, (_, p) = (
        lsa.isotropic(5, 10, 0.25),
        normal_equations(10, 5, Fraction(1, 4), k),
    )
    roots = np.roots([*(-float(c) for c in reversed(p)), 1.0])
    assert np.abs(roots.imag).max() < 1e-9
    found = np.sort(1 / roots.real)
    assert found == pytest.approx(steps[k], abs=6e-6)
    model, prompts = lsa.LinearTransformer.from_steps(5, found.tolist()), task.sample(20, generator=0)
    W, b = prompts.x.mT @ prompts.x, (prompts.y[:, None] @ prompts.x)[:, 0]
    u = sum(float(c) * (torch.linalg.matrix_power(W, i) @ b[..., None])[..., 0] for i, c in enumerate(p))
    torch.testing.assert_close(model.in_context_weights(prompts), u, rtol=1e-9, atol=1e-9)
    loss = lsa.polynomial_loss(lambda x: lsa.step_polynomial(x, found), k - 1, task).item()
    assert loss == pytest.approx(lsa.ladder(task, k).loss, rel=1e-10)


@pytest.mark.parametrize(("noise", "real"), [(3.4923, True), (3.4925, False)])
def test_where_plain_steps_turn_complex(noise, real):
    _, p = normal_equations(10, 5, Fraction(noise), 2)
    assert (float(p[0]) ** 2 + 4 * float(p[1]) > 0) is real  # the discriminant of 1 − p₀λ − p₁λ²


# ---- layers that move the covariates, too ----


def test_the_polynomial_of_moving_layers():
    steps, moves = [0.05, 0.1, 0.07], [-0.02, 0.03, 0.0]
    model = lsa.LinearTransformer.from_steps(4, steps, moves)
    prompts = lsa.isotropic(4, 6, 0.2).sample(5, generator=0)
    values, vectors = torch.linalg.eigh(prompts.x.mT @ prompts.x)
    b = (prompts.y[:, None] @ prompts.x)[:, 0]
    p = lsa.step_polynomial(values, steps, moves)
    u = (vectors @ (p * (vectors.mT @ b[..., None])[..., 0])[..., None])[..., 0]
    torch.testing.assert_close(model.in_context_weights(prompts), u, rtol=1e-9, atol=1e-9)


def polish(loss, start, steps=300):
    """Minimise from `start` by L-BFGS."""
    x = torch.tensor(start, dtype=torch.float64, requires_grad=True)
    options = {"line_search_fn": "strong_wolfe", "tolerance_grad": 1e-13, "tolerance_change": 1e-16}
    optimizer = torch.optim.LBFGS([x], max_iter=steps, history_size=30, **options)

    def closure():
        optimizer.zero_grad()
        value = loss(x)
        value.backward()
        return value

    optimizer.step(closure)
    return loss(x).item(), x.detach()


def exact_loss(task, k):
    """x = (η_1 … η_k, ω_1 … ω_(k−1)) in units of G/n ↦ loss, exact: the chapter's function."""
    return lambda x: chapter.exact_loss(x, k, task)


@pytest.mark.parametrize(
    ("n", "d", "noise", "equal", "best", "start"),
    [
        (20, 5, 0.0, 0.499007, 0.057501, [0.5168, 3.4747, -0.4488]),
        (20, 5, 0.0, 0.268342, 0.000961, [0.3383, 2.0908, 8.5681, -0.2969, -1.2088]),
        (10, 5, 0.25, 1.489175, 0.789312, [0.3711, 2.8412, -0.3443]),
        (10, 5, 0.25, 1.200478, 0.534225, [0.8494, 1.2999, 8.9256, -0.1515, -1.385]),
        (6, 3, 0.3, 1.169756, 0.782379, [0.2943, 2.3343, -0.2903]),
        (6, 3, 0.3, 1.014354, 0.620425, [0.7234, 0.9612, 6.0932, -0.1118, -1.0351]),
        (4, 2, 0.0, 0.612417, 0.265681, [0.5254, 2.1906, -0.178]),
        (4, 2, 0.0, 0.503644, 0.065680, [0.7532, 0.5659, 7.5011, -0.0819, -0.8892]),
    ],
)
def test_the_tabled_families(n, d, noise, equal, best, start):
    """k equal steps, k best steps, moving layers (best found), and the ladder's bound for their degree."""
    task, k = lsa.isotropic(d, n, noise), (len(start) + 1) // 2
    same, _ = polish(
        lambda x: lsa.polynomial_loss(lambda lam: lsa.step_polynomial(lam, [x[0] / n] * k), k - 1, task),
        [0.4],
    )
    assert same == pytest.approx(equal, abs=6e-7)
    moving, _ = polish(exact_loss(task, k), start)
    assert moving == pytest.approx(best, abs=6e-7)
    bound = lsa.ladder(task, (3**k - 1) // 2).loss
    assert bound < moving < lsa.ladder(task, k).loss < same


def test_measured_losses_of_three_layers_lie():
    """The median prompt costs 0.44, ten thousand average 0.53, the expectation is above 28,000."""
    task = lsa.isotropic(5, 10, 0.25)
    x = torch.tensor([0.300, 1.944, 9.703, -0.283, -1.569], dtype=torch.float64)
    assert exact_loss(task, 3)(x).item() == pytest.approx(28643.08, rel=1e-6)
    model = lsa.LinearTransformer.from_steps(5, x[:3] / 10, torch.cat([x[3:], x[:1]]) / 10)
    with torch.no_grad():
        losses = model.sampled_losses(task, 10_000, 0)
    assert losses.median().item() == pytest.approx(0.44, abs=0.02)
    assert losses.mean() < 1


def test_two_layers_from_other_starts_find_the_same():
    task, g = lsa.isotropic(5, 20), np.random.default_rng(0)
    found = [
        polish(exact_loss(task, 2), [*g.uniform(0.2, 1, 1), *g.uniform(1, 5, 1), *g.uniform(-0.6, -0.1, 1)])[
            0
        ]
        for _ in range(8)
    ]
    assert min(found) == pytest.approx(0.057501, abs=6e-7)


def planar_nodes(n, m):
    """Gram matrices / n of d = 2, σ = 0 prompts with their w and weights: exact for polynomials."""
    chi = (
        list(zip(*chi_square_rule(n, m[0]), strict=True)),
        list(zip(*chi_square_rule(n - 1, m[0]), strict=True)),
    )
    normals = [list(zip(*hermite_rule(m[1]), strict=True))] * 3
    T, w, weights = [], [], []
    for (top, a), (corner, b), (below, c), (w1, e), (w2, f) in itertools.product(*chi, *normals):
        T.append([[top**0.5, 0.0], [below, corner**0.5]])
        w.append([w1, w2])
        weights.append(a * b * c * e * f)
    T, w = torch.tensor(T, dtype=torch.float64), torch.tensor(w, dtype=torch.float64)
    tokens = torch.cat([T, (w[:, None] @ T)], 1)
    return tokens @ tokens.mT / n, w, torch.tensor(weights, dtype=torch.float64)


def test_moving_layers_are_not_stationary_among_all_weights():
    """d = 2, n = 4, σ = 0, two layers: exact cubature of the whole model (the y-scores have a gradient)."""
    gram, w, weights = planar_nodes(4, (6, 9))

    def loss(P, Q):
        model = lsa.LinearTransformer(2, 2)
        del model.P, model.Q  # parameters; plain tensors take their place
        model.P, model.Q = P, Q
        return (weights * (model.weights_from_gram(gram) - w).square().sum(-1)).sum()

    def split(x):  # four numbers a layer: P = diag(b, b, p), Q = diag(a, a, q)
        b, a, p, q = x.view(2, 4).unbind(1)
        return torch.diag_embed(torch.stack([b, b, p], -1)), torch.diag_embed(torch.stack([a, a, q], -1))

    value, best = polish(exact_loss(lsa.isotropic(2, 4), 2), [0.5254, 2.1906, -0.178])
    x = torch.tensor([best[2], 1, -best[0], 0, 0, 1, -best[1], 0], dtype=torch.float64, requires_grad=True)
    found = loss(*split(x))
    assert found.item() == pytest.approx(value, rel=1e-10)
    assert value == pytest.approx(0.2656806968, abs=1e-10)
    slope = torch.autograd.grad(found, x)[0].view(2, 4)
    assert slope[:, :3].abs().max() < 1e-5
    assert slope[:, 3].tolist() == pytest.approx([-0.0976, -3.1383], abs=1e-4)
    start = x.detach() + 0.005 * normal(8, seed=0)
    four, x = polish(lambda x: loss(*split(x)), start.tolist(), 60)
    assert four == pytest.approx(0.26414107, abs=1e-7)
    P, Q = split(x)
    start = torch.stack([P, Q]) + 1e-3 * normal(2, 2, 3, 3, seed=1)
    everything, _ = polish(lambda x: loss(*x.view(2, 2, 3, 3)), start.flatten().tolist(), 60)
    assert everything == pytest.approx(four, abs=1e-7)


# where seven of fourteen random starts of all 36 weights ended: the diagonals of P_1, P_2, Q_1, Q_2, rounded
TRAP = [[-0.548, -0.548, -0.265], [0.0, 0.0, -1.827], [0.557, 0.557, 0.007], [1.405, 1.405, -0.073]]


def test_two_layers_have_a_trap():
    """d = 2, n = 4, σ = 0, by exact cubature: a minimum, but for eight directions that move nothing."""
    gram, w, weights = planar_nodes(4, (6, 9))
    eye = torch.eye(3, dtype=torch.float64)

    def loss(x):
        P, Q = x.view(2, 2, 3, 3)
        first = eye + P[0] @ gram @ Q[0]
        both = first + P[1] @ first @ gram @ first.mT @ Q[1] @ first
        return (weights * (-both[:, -1, :-1] - w).square().sum(-1)).sum()

    found, x = polish(loss, torch.diag_embed(torch.tensor(TRAP)).flatten().tolist(), 60)
    assert found == pytest.approx(0.268616, abs=1e-6)
    assert torch.autograd.functional.jacobian(loss, x).abs().max() < 1e-4
    eigenvalues = torch.linalg.eigvalsh(torch.autograd.functional.hessian(loss, x))
    assert eigenvalues[:8].abs().max() < 1e-4 < 0.04 < eigenvalues[8]


# ---- samples and training ----


def test_training_never_sees_a_prompt():
    """A billion examples would fill 50 GB: layers are trained on Gram matrices alone, at any length."""
    task = lsa.isotropic(5, 10**9, 0.25)
    model = lsa.LinearTransformer(5, 3, scale=1e-6, generator=0)
    losses = lsa.fit_samples(model, task, steps=3, learning_rate=1e-9, batch=8, generator=0)
    assert torch.isfinite(losses).all()


@pytest.mark.parametrize(
    "task",
    [lsa.isotropic(3, 8, 0.3), linear_task(3, 8, seed=5), lsa.isotropic(3, 2, 0.3)],
    ids=["I", "Σ", "short"],
)
def test_sampled_losses_have_the_mean_of_prompts(task):
    model = random_model(3, 2, scale=0.05)
    with torch.no_grad():
        drawn = model.sampled_losses(task, 60_000, 0)
        prompts = task.sample(60_000, generator=1)
        direct = (model(prompts) - prompts.y_query).square()
    error = math.hypot(drawn.std() / 60_000**0.5, direct.std() / 60_000**0.5)
    assert abs(drawn.mean() - direct.mean()) < 4 * error


def test_sampled_losses_have_the_exact_mean():
    task, x = lsa.isotropic(3, 12, 0.2), torch.tensor([0.5, 0.9, -0.15])
    model = lsa.LinearTransformer.from_steps(3, x[:2] / 12, torch.tensor([x[2], 0]) / 12)
    with torch.no_grad():
        losses = model.sampled_losses(task, 200_000, 3)
    assert abs(z_score(losses, exact_loss(task, 2)(x).item())) < 4


def test_other_targets_are_sampled_as_prompts():
    """He₃ has no linear part: at every depth the loss is E f² + σ² = 6 and the square of what is said."""
    task, model = lsa.nonlinear(lsa.Hermite3(), 3, 12, 0.1), random_model(3, 2, scale=0.1)
    with torch.no_grad():
        losses = model.sampled_losses(task, 100_000, 0)
        prompts = task.sample(100_000, generator=0)
        said = model(prompts).square()
    assert abs(z_score(losses - said, 6.1)) < 4


def train(task, layers, steps, batch=512):
    model = lsa.LinearTransformer(task.d, layers, scale=0.1 / task.n**0.5, generator=0)
    rate, clip = 0.02 / task.n**0.5, task.n**0.5
    return model, lsa.fit_samples(
        model, task, steps=steps, learning_rate=rate, batch=batch, clip=clip, generator=0
    )


def test_two_trained_layers_beat_two_steps():
    task = lsa.isotropic(3, 12)
    model, losses = train(task, 2, 400, 256)
    with torch.no_grad():
        tested = model.sampled_losses(task, 50_000, 1).mean().item()
    steps = lsa.ladder(task, 2).loss
    assert losses.shape == (400,)
    assert losses[:5].mean() > 1.2  # it started at 3
    assert tested < 0.5 * steps
    assert tested > 0.95 * lsa.ladder(task, 4).loss


def test_training_is_reproducible():
    task = lsa.skewed(conditioned(2, 4.0, seed=0), 6, 0.1)
    (one, first), (other, second) = (train(task, 2, 5, 16) for _ in range(2))
    assert torch.equal(first, second)
    assert torch.equal(one.P, other.P)
