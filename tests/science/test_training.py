"""Training ends where theory says, from every start that can, and says so when it cannot."""

import io
import math
import re

import pytest
import torch
from helpers.tasks import TARGETS, conditioned, linear_task, loss_of_weights, near_twins, normal
from tqdm import tqdm

import lsa
from lsa.history import History

Layer = lsa.LinearSelfAttention


def starts(few, many):
    """How many starts every claim about all of them is tried on: by day, and by night."""
    return pytest.mark.parametrize("starts", [few, pytest.param(many, marks=pytest.mark.nightly)])


def final_excess(task, seeds, **options):
    return torch.tensor(
        [lsa.fit(Layer(task.d, generator=s), task, **options).excess[-1] for s in range(seeds)]
    )


@starts(4, 20)
@pytest.mark.parametrize(("d", "n"), [(5, 10), (10, 20)])
@pytest.mark.parametrize("optimizer", ["lbfgs", "als"])
def test_every_default_start_reaches_the_optimum(d, n, optimizer, starts):
    excess = final_excess(lsa.isotropic(d, n, 0.3), starts, optimizer=optimizer)
    assert (excess.abs() <= 1e-12).all(), excess


@pytest.mark.nightly  # by day, test_landscape.py trains three starts there
def test_at_d_2_a_local_minimum_catches_about_half():
    excess = final_excess(lsa.isotropic(2, 6, 0.3), 40)
    caught = excess > 1e-6
    assert 10 <= caught.sum() <= 30
    assert (excess[~caught].abs() < 1e-12).all()
    (trap,) = lsa.traps(lsa.isotropic(2, 6, 0.3))
    expected = torch.full_like(excess[caught], trap.excess)
    torch.testing.assert_close(excess[caught], expected, atol=1e-9, rtol=0)


@starts(1, 5)
@pytest.mark.parametrize("condition", [100, 1000])
def test_theorem_2_the_learned_preconditioner_is_the_inverse(condition, starts):
    for seed in range(starts):
        sigma = conditioned(5, condition, seed)
        task = lsa.skewed(sigma, 10, 0.3)
        layer = Layer(5, generator=seed)
        run = lsa.fit(layer, task)
        (a,), (M,) = layer.effective()
        P = (a[-1] * M[:-1]).T
        scale = P.abs().max()
        assert (P - run.optimum.step * torch.linalg.inv(sigma)).abs().max() <= 1e-6 * scale
        assert a[:-1].abs().max() < 1e-4 * a[-1].abs()


def test_a_prior_mean_is_learned_with_the_residual_stream_and_not_without():
    mu = normal(3, seed=5)
    task = linear_task(3, 8, seed=6)
    moved = lsa.Task(task.covariates, lsa.Linear(task.target.prior_covariance, mu), 8, task.noise_variance)
    best = lsa.optimum(task).loss  # gradient descent from μ does as well as from 0 with mean 0
    losses = {
        residual: min(
            lsa.fit(Layer(3, residual=residual, generator=s), moved).losses[-1].item() for s in (3, 4)
        )
        for residual in (True, False)
    }
    assert losses[True] == pytest.approx(best, rel=1e-9)
    assert losses[False] > 1.05 * best


@pytest.mark.parametrize(("d", "steps"), [(3, 500), pytest.param(10, 2000, marks=pytest.mark.nightly)])
def test_training_on_samples(d, steps):
    task = lsa.isotropic(d, 2 * d, 0.25)
    run = lsa.fit(Layer(d, generator=0), task, loss="samples", generator=1, steps=steps)
    assert 0 < run.excess[-1] <= 1e-4
    assert len(run.losses) == len(run.excess) == steps + 1


def test_training_on_samples_of_a_nonlinear_target():
    task = lsa.nonlinear(lsa.Sign(), 3, 10)
    layer = Layer(3, generator=0)
    run = lsa.fit(layer, task, loss="samples", steps=600, learning_rate=0.02, batch=1024, generator=1)
    found = lsa.compare(layer, run.optimum.step, task, batch=20_000, generator=2)
    assert found.squared_distance < 0.02 * run.optimum.loss
    assert found.cosine > 0.95


class Own:
    """A reader's target, whose moments are not known."""

    def draw(self, batch, d, generator):
        return lsa.Sign().draw(batch, d, generator)


def test_a_target_without_moments_is_trained_on_samples():
    task = lsa.nonlinear(Own(), 3, 10)
    run = lsa.fit(Layer(3, generator=0), task, steps=20, batch=64, generator=1)
    assert run.ending == "not known: the loss is sampled"
    with pytest.raises(TypeError, match="five moments"):
        lsa.fit(Layer(3), task, loss="exact")


EVERY = {f"{target} {k}": lsa.nonlinear(target, 4, 9, 0.5) for k, target in enumerate(TARGETS)} | {
    str(law): lsa.Task(law, lsa.Linear(torch.eye(4)), 9, 0.5)
    for law in (lsa.Rademacher(4), lsa.Sphere(4), lsa.Uniform(4), lsa.Uniform(4, 0.5))
}


@starts(1, 4)
@pytest.mark.parametrize("task", EVERY.values(), ids=EVERY)
def test_every_task_is_trained_to_its_optimum_or_a_predicted_trap(task, starts):
    excess = final_excess(task, starts)
    arrived = excess.abs() <= 1e-12
    assert arrived.any()
    if not arrived.all():
        (trap,) = lsa.traps(task)
        torch.testing.assert_close(excess[~arrived], torch.full_like(excess[~arrived], trap.excess))


@starts(4, 25)
@pytest.mark.parametrize("heads", [1, 2, 3, 4])
def test_alternating_least_squares_goes_down_and_twice_the_same_way(heads, starts):
    task = lsa.isotropic(3, 6, 0.3)
    for seed in range(starts):
        options = {"heads": heads, "scale": 1.0, "generator": seed}
        one = lsa.fit(Layer(3, **options), task, optimizer="als", steps=3000)
        two = lsa.fit(Layer(3, **options), task, optimizer="als", steps=30)
        assert torch.equal(one.losses[: len(two.losses)], two.losses)
        assert one.losses.diff().max() <= 1e-13 * one.losses[0]
        assert one.excess[-1].abs() <= 1e-9


def test_alternating_least_squares_goes_down_where_keys_cannot_follow():
    """Of a layer built for one step, the key reads no labels: half of M is out of the query's reach."""
    task, P = linear_task(3, 6, seed=1), normal(3, 3, seed=2) / 20
    layer = Layer.from_preconditioner(P)
    run = lsa.fit(layer, task, optimizer="als")
    assert run.losses.diff().max() <= 1e-13 * run.losses[0]
    assert abs(run.excess[-1]) <= 1e-12


def test_a_run_says_where_it_came_to_rest():
    caught = lsa.isotropic(3, 40, 0.25)
    (trap,) = lsa.traps(caught)
    ends = {lsa.fit(Layer(3, generator=seed), caught).ending for seed in range(4)}
    named = f"at the local minimum that lsa.traps predicts, relative excess {trap.excess:.6f}"
    assert ends == {"at the optimum", named}
    stack = Layer.stack([Layer(3, generator=seed) for seed in range(3)])
    assert lsa.fit(stack, caught, optimizer="adam", steps=5).ending == ["stopped early"] * 3
    rank_one = torch.zeros(1, 6, 5, dtype=torch.float64)
    rank_one[0, -1, 0] = 1 / 16.3  # the saddle a = (e₁, 0), M = [0; η e₁ᵀ] of d = 5, n = 10
    saddle = Layer.from_effective(torch.eye(1, 6, dtype=torch.float64), rank_one)
    task = lsa.isotropic(5, 10, 0.3)
    excess = lsa.population_loss(saddle, task).detach() / lsa.optimum(task).loss - 1
    assert lsa.history.describe_end(saddle, task, excess) == "at a local minimum or saddle"
    assert lsa.fit(saddle, task).ending == "at the optimum"
    moved = lsa.Task(task.covariates, lsa.Linear(torch.eye(5), torch.ones(5)), 10, 0.3)
    below = "at a stationary point below the best single step from zero"
    assert lsa.fit(Layer(5, residual=True, generator=0), moved).ending == below


STACKED = {
    "exact, adam": {"loss": "exact", "optimizer": "adam"},
    "exact, gd": {"loss": "exact", "optimizer": "gd"},
    "samples, adam": {"loss": "samples", "optimizer": "adam", "generator": 3, "batch": 64},
}


@pytest.mark.parametrize("options", STACKED.values(), ids=STACKED)
@pytest.mark.parametrize(
    "task", [linear_task(3, 6, seed=1), lsa.nonlinear(lsa.Sign(), 3, 6)], ids=["linear", "sign"]
)
def test_a_stack_trains_as_its_layers_alone(options, task):
    layers = [Layer(3, generator=seed) for seed in range(4)]
    stack = Layer.stack(layers)
    together = lsa.fit(stack, task, steps=30, **options)
    assert together.losses.shape == together.excess.shape == (31, 4)
    for k, (layer, trained) in enumerate(zip(layers, stack.unstack(), strict=True)):
        alone = lsa.fit(layer, task, steps=30, **options)
        torch.testing.assert_close(together.losses[:, k], alone.losses, rtol=1e-9, atol=1e-12)
        for one, other in zip(layer.parameters(), trained.parameters(), strict=True):
            torch.testing.assert_close(one, other, rtol=1e-7, atol=1e-9)


def test_snapshots_are_copies_of_the_way():
    layer, task = Layer(3, generator=0), lsa.isotropic(3, 6, 0.1)
    run = lsa.fit(layer, task, optimizer="adam", steps=25, snapshots=10)
    assert [step for step, _ in run.snapshots] == [0, 10, 20, 25]
    for step, kept in run.snapshots:
        torch.testing.assert_close(lsa.population_loss(kept, task), run.losses[step])
    assert lsa.fit(Layer(3), task, steps=3).snapshots == []


def test_the_same_seed_gives_the_same_run():
    task = lsa.isotropic(3, 6, 0.1)
    runs = [lsa.fit(Layer(3, generator=0), task, loss="samples", steps=20, generator=5) for _ in range(2)]
    assert torch.equal(runs[0].losses, runs[1].losses)


@pytest.mark.parametrize(
    "options", [{"optimizer": "gd", "learning_rate": 50.0}, {"loss": "samples", "learning_rate": 1e6}]
)
def test_divergence_is_an_error_that_names_step_and_rate(options):
    layer = Layer(4, scale=1.0, generator=0)
    rate = re.escape(f"{options['learning_rate']:g}")
    task = lsa.isotropic(4, 8)
    start = lsa.population_loss(layer, task).item()
    with pytest.raises(FloatingPointError, match=rf"step \d+ with learning_rate = {rate}"):
        lsa.fit(layer, task, generator=0, **options)
    assert lsa.population_loss(layer, task).item() <= start  # the weights of the lowest loss


def test_one_run_of_a_stack_diverges_alone():
    task = lsa.isotropic(3, 8, 0.2)
    layers = [Layer(3, generator=0), Layer(3, scale=3.0, generator=1), Layer(3, generator=2)]
    stack = Layer.stack(layers)
    run = lsa.fit(stack, task, optimizer="gd", learning_rate=0.005, steps=50)
    assert "diverged at step" in run.ending[1]
    assert "learning_rate = 0.005" in run.ending[1]
    assert torch.isfinite(run.losses).all()
    for k in (0, 2):
        alone = lsa.fit(layers[k], task, optimizer="gd", learning_rate=0.005, steps=50)
        torch.testing.assert_close(run.losses[:, k], alone.losses)
    assert lsa.population_loss(stack, task)[1] <= run.losses[0, 1]


def test_ctrl_c_returns_what_there_is(monkeypatch):
    task, layer = lsa.isotropic(3, 8, 0.2), Layer(3, generator=0)
    real, calls = lsa.training.population_loss, []

    def impatient(*arguments):
        calls.append(1)
        if len(calls) == 30:
            raise KeyboardInterrupt
        return real(*arguments)

    monkeypatch.setattr("lsa.training.population_loss", impatient)
    run = lsa.fit(layer, task, optimizer="adam", snapshots=10)
    assert run.ending == "interrupted"
    assert len(run.losses) == 29
    assert [step for step, _ in run.snapshots] == [0, 10, 20, 28]
    torch.testing.assert_close(real(layer, task), run.losses.min())


def test_some_weights_may_be_frozen():
    task, layer = lsa.isotropic(3, 6, 0.2), Layer(3, generator=0)
    layer.key.requires_grad_(False)
    key = layer.key.clone()
    run = lsa.fit(layer, task, optimizer="adam", steps=20)
    assert run.losses[-1] < run.losses[0]
    assert run.ending == "stopped early"
    assert torch.equal(layer.key, key)


def test_ctrl_c_on_a_stack_says_which_run_diverged_before(monkeypatch):
    real, calls = lsa.training.population_loss, []

    def impatient(*arguments):
        calls.append(1)
        if len(calls) == 30:
            raise KeyboardInterrupt
        return real(*arguments)

    monkeypatch.setattr("lsa.training.population_loss", impatient)
    stack = Layer.stack([Layer(3, generator=0), Layer(3, scale=3.0, generator=1)])
    run = lsa.fit(stack, lsa.isotropic(3, 8, 0.2), optimizer="gd", learning_rate=0.005)
    assert run.ending[0] == "interrupted"
    assert "diverged at step" in run.ending[1]


@pytest.mark.parametrize("optimizer", ["lbfgs", "als", "adam"])
def test_an_optimum_of_zero_is_no_divergence(optimizer):
    task = lsa.Task(lsa.Rademacher(1), lsa.Linear(torch.eye(1)), 5)  # y = ±w, and one step is exact
    assert lsa.optimum(task).loss == pytest.approx(0, abs=1e-12)
    run = lsa.fit(Layer(1, generator=0), task, optimizer=optimizer, steps=500)
    assert run.excess[-1].abs() < 1e-9
    nothing = lsa.Task(lsa.Gaussian(torch.eye(2)), lsa.Linear(torch.zeros(2, 2)), 5)
    assert torch.isfinite(lsa.fit(Layer(2, generator=0), nothing, optimizer=optimizer, steps=50).excess).all()


@pytest.mark.parametrize(("d", "n"), [(2, 6), (5, 10), (20, 40), (5, 200)])
def test_the_default_rate_of_gradient_descent_suits_the_task(d, n):
    for task in (lsa.isotropic(d, n, 0.25), lsa.skewed(4 * torch.eye(d), n, 0.25)):
        run = lsa.fit(Layer(d, generator=0), task, optimizer="gd", steps=300)
        assert run.losses[-1] < run.losses[0]
        assert run.losses.diff().max() <= 1e-9


def test_a_progress_bar_only_where_somebody_watches(monkeypatch, capsys):
    task = lsa.isotropic(2, 4, 0.1)
    lsa.fit(Layer(2), task, steps=3)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    lsa.fit(Layer(2), task, steps=3)
    assert "training" in capsys.readouterr().err
    lsa.fit(Layer(2), task, steps=3, progress=False)
    assert capsys.readouterr().err == ""


def test_the_bar_counts_steps_and_shows_the_excess(monkeypatch):
    bars = []

    def watched(steps, progress):
        bars.append(tqdm(total=steps, file=io.StringIO(), mininterval=0))
        return bars[-1]

    monkeypatch.setattr("lsa.training.progress_bar", watched)
    task = lsa.isotropic(2, 4, 0.1)
    run = lsa.fit(Layer(2, generator=0), task, optimizer="adam", steps=7)
    (bar,) = bars
    assert bar.n == bar.total == 7
    assert bar.postfix == f"excess={run.excess[-1]:.1e}"
    run = lsa.fit(Layer(2, generator=0), task)  # stops by itself: a bar that ends full
    assert bars[-1].n == bars[-1].total == len(run.losses) - 1 < 300


def test_l_bfgs_begins_with_the_given_rate():
    task, losses = lsa.isotropic(3, 6, 0.1), {}
    for rate in (None, 1.0, 0.05):
        losses[rate] = lsa.fit(Layer(3, scale=0.5, generator=0), task, steps=4, learning_rate=rate).losses
    assert torch.equal(losses[None], losses[1.0])
    assert (losses[None][1] - losses[0.05][1]).abs() > 1e-3


# ---- step by step, against loops written out ----


def by_hand(layer, steps, rate, optimizer, loss):
    """Plain Adam with a cosine, or plain gradient descent; returns the losses before every step."""
    weights, losses = [weight.detach().clone().requires_grad_() for weight in layer.parameters()], []
    first, second = ([torch.zeros_like(weight) for weight in weights] for _ in range(2))
    for step in range(steps):
        copy = Layer(layer.d, layer.heads, residual=layer.residual)
        given = {f"layer.{name}": weight for name, weight in zip(NAMES, weights, strict=True)}
        value = torch.func.functional_call(Call(copy, loss), given, ())
        losses.append(value.item())
        now = rate * (1 + math.cos(math.pi * step / steps)) / 2 if optimizer == "adam" else rate
        with torch.no_grad():
            for k, (w, g) in enumerate(zip(weights, torch.autograd.grad(value, weights), strict=True)):
                if optimizer == "gd":
                    w -= now * g
                    continue
                first[k] = 0.9 * first[k] + 0.1 * g
                second[k] = 0.999 * second[k] + 0.001 * g * g
                m, v = first[k] / (1 - 0.9 ** (step + 1)), second[k] / (1 - 0.999 ** (step + 1))
                w -= now * m / (v.sqrt() + 1e-8)
    return losses, weights


NAMES = ["key", "query", "value", "readout"]


class Call(torch.nn.Module):
    def __init__(self, layer, loss):
        super().__init__()
        self.layer, self.loss = layer, loss

    def forward(self):
        return self.loss(self.layer)


@pytest.mark.parametrize("optimizer", ["adam", "gd"])
def test_steps_on_the_exact_loss_by_hand(optimizer):
    task, start = linear_task(3, 6, seed=1), Layer(3, 2, generator=0)
    layer = Layer(3, 2, generator=0)
    run = lsa.fit(layer, task, optimizer=optimizer, steps=12, learning_rate=0.02)
    losses, weights = by_hand(start, 12, 0.02, optimizer, lambda layer: lsa.population_loss(layer, task))
    torch.testing.assert_close(run.losses[:-1], torch.tensor(losses, dtype=torch.float64))
    for found, expected in zip(layer.parameters(), weights, strict=True):
        torch.testing.assert_close(found, expected)
    best = lsa.optimum(task).loss
    torch.testing.assert_close(run.excess, run.losses / best - 1)
    torch.testing.assert_close(run.losses[-1], lsa.population_loss(layer, task))


SAMPLED = {
    "linear": linear_task(3, 6, seed=1, mean=True),
    "sign": lsa.nonlinear(lsa.Sign(), 3, 6, 0.2),
    "unknown": lsa.nonlinear(Own(), 3, 6, 0.2),
}


@pytest.mark.parametrize("task", SAMPLED.values(), ids=SAMPLED)
def test_steps_on_samples_by_hand(task):
    generator, drawn = torch.Generator().manual_seed(5), []

    def loss(layer):
        if task.linear:  # given G and w the query integrates out
            factor, w = task.gram_factor(32, generator)
            a, M = layer.effective()
            error = torch.einsum("hi,bij,hjk->bk", a, factor @ factor.mT, M) - w
            return torch.einsum("bi,ij,bj->b", error, task.covariates.covariance, error).mean() + 0.3
        drawn.append(task.sample(32, generator))
        return (layer(drawn[-1]) - drawn[-1].y_query).square().mean()

    layer = Layer(3, generator=0)
    options = {"loss": "samples", "steps": 6, "learning_rate": 0.02, "batch": 32, "generator": 5}
    run = lsa.fit(layer, task, **options)
    losses, weights = by_hand(Layer(3, generator=0), 6, 0.02, "adam", loss)
    for found, expected in zip(layer.parameters(), weights, strict=True):
        torch.testing.assert_close(found, expected)
    best = lsa.optimum(task)
    if isinstance(task.target, Own):
        torch.testing.assert_close(run.losses[:-1], torch.tensor(losses, dtype=torch.float64))
        steps = [lsa.gradient_descent(p, best.preconditioner) - p.y_query for p in drawn]
        reference = torch.stack([error.square().mean() for error in steps])
        torch.testing.assert_close(run.excess[:-1], (run.losses[:-1] - reference) / best.loss)
    else:
        torch.testing.assert_close(run.excess, run.losses / best.loss - 1)
        torch.testing.assert_close(run.losses[-1], lsa.population_loss(layer, task))


@pytest.mark.parametrize("clip", [None, 0.05])
def test_steps_of_fit_samples_by_hand(clip):
    task, models = lsa.isotropic(2, 5, 0.2), [lsa.SoftmaxAttention(2, generator=0) for _ in range(2)]
    options = {"steps": 8, "learning_rate": 0.1, "batch": 16, "clip": clip}
    losses = lsa.fit_samples(models[0], task, generator=3, **options)
    generator, expected = torch.Generator().manual_seed(3), []
    optimizer = torch.optim.Adam(models[1].parameters())
    for step in range(8):
        optimizer.param_groups[0]["lr"] = 0.05 * (1 + math.cos(math.pi * step / 8))
        prompts = task.sample(16, generator)
        loss = (models[1](prompts) - prompts.y_query).square().mean()
        optimizer.zero_grad()
        loss.backward()
        expected.append(loss.item())
        norm = torch.cat([weight.grad.flatten() for weight in models[1].parameters()]).norm()
        for weight in models[1].parameters():
            weight.grad *= 1 if clip is None else min(1, clip / norm.item())
        optimizer.step()
    torch.testing.assert_close(losses, torch.tensor(expected, dtype=torch.float64), rtol=1e-5, atol=1e-7)


def test_a_run_down_the_exact_loss_stops_after_five_idle_steps():
    """The last five bring less than 1e-15 of the optimum, and no five before them do."""
    task = lsa.isotropic(3, 6, 0.3)
    run = lsa.fit(Layer(3, generator=1), task, optimizer="als", steps=3000)
    unit, lowest, idle, stops = 1e-15 * run.optimum.loss, math.inf, 0, []
    for step, loss in enumerate(run.losses[1:].tolist(), 1):
        idle, lowest = (0, loss) if loss < lowest - unit else (idle + 1, lowest)
        stops += [step] if idle == 5 else []
    assert stops == [len(run.losses) - 1]
    assert len(lsa.fit(Layer(3, generator=1), task, optimizer="als", steps=4).losses) == 5
    assert len(lsa.fit(Layer(3, generator=1), task, optimizer="adam", steps=4).losses) == 5


def test_a_loss_a_million_times_the_start_is_divergence_and_less_is_not():
    task = lsa.isotropic(2, 4, 0.5)
    for factor, diverges in ((0.9e6, False), (1.1e6, True)):
        history = History(Layer(2), task, 0.1, 0, None)
        history.record(torch.tensor(2.0, dtype=torch.float64))
        loss = torch.tensor(factor * (2.0 + lsa.optimum(task).loss), dtype=torch.float64)
        if diverges:
            with pytest.raises(FloatingPointError, match=r"at step 1 with learning_rate = 0.1"):
                history.record(loss)
        else:
            history.record(loss)
            assert history.lowest == 2
            assert history.losses[-1] == loss


def test_the_excess_is_in_units_of_the_labels_where_the_optimum_is_zero():
    task = lsa.Task(lsa.Rademacher(1), lsa.Linear(4 * torch.eye(1)), 5)
    run = lsa.fit(Layer(1, generator=0), task, optimizer="adam", steps=3)
    torch.testing.assert_close(run.excess, run.losses / 4, atol=1e-9, rtol=1e-9)


@pytest.mark.parametrize("residual", [False, True])
def test_least_squares_goes_down_where_there_is_a_prior_mean(residual):
    """There the map to white tokens is not symmetric."""
    task = linear_task(3, 6, seed=1, mean=True)
    for seed in range(3):
        layer = Layer(3, 2, residual=residual, scale=0.5, generator=seed)
        run = lsa.fit(layer, task, optimizer="als", steps=20)
        assert run.losses.diff().max() <= 1e-12 * run.losses[0]
        assert run.losses[1] < 0.9 * run.losses[0]


@pytest.mark.parametrize("residual", [False, True])
@pytest.mark.parametrize("mean", [False, True])
def test_a_sweep_is_a_newton_step_in_the_query_and_one_in_the_value(mean, residual):
    """The loss is quadratic in each: autograd's Hessian gives the minimum that least squares has to find."""
    task = linear_task(3, 6, seed=1, mean=mean)
    layer = Layer(3, residual=residual, scale=0.5, generator=0)  # with one head both minima are unique
    loss, weights = loss_of_weights(layer, task)
    weights, names = list(weights), [name for name, _ in layer.named_parameters()]
    for part in ("query", "value"):
        at = names.index(part)
        now = weights[at].detach().requires_grad_()

        def of(part, at=at):
            return loss(*weights[:at], part, *weights[at + 1 :])

        (slope,) = torch.autograd.grad(of(now), now)
        slope = slope.flatten()
        hessian = torch.autograd.functional.hessian(of, now).reshape(len(slope), -1)
        move = torch.linalg.pinv(hessian, hermitian=True, rtol=1e-10) @ slope
        weights[at] = weights[at].detach() - move.detach().view_as(weights[at])
    (after,) = lsa.minimise.alternating_least_squares(layer, task, 1, 1e-15)
    assert after.item() == pytest.approx(loss(*weights).item(), rel=1e-9)


def test_l_bfgs_alone_gets_close():
    """Without least squares at the end: near the minimum torch has to see the loss in small units."""
    task = lsa.isotropic(3, 6, 0.3)
    best = lsa.optimum(task).loss
    for seed in range(3):
        layer = Layer(3, generator=seed)
        *_, last = lsa.minimise.lbfgs(layer, task, 300, 1.0, 1e-15 * best)
        assert abs(last.item() / best - 1) < 1e-10


def test_least_squares_tells_heads_apart_down_to_what_rounding_leaves():
    """Heads 1e-4 apart do after one sweep what two heads can; at 1e-6 no weight explodes over noise."""
    task = lsa.isotropic(3, 6, 0.3)
    for gap, loss, size in ((1e-4, 1.7, 1e4), (1e-6, 2.0, 1.0)):
        layer = Layer.from_effective(near_twins(gap), normal(2, 4, 3, seed=2) / 20)
        (after,) = lsa.minimise.alternating_least_squares(layer, task, 1, 1e-15)
        assert after < loss
        assert layer.query.abs().max() < size


@pytest.mark.parametrize(("excess", "tried"), [(1e-8, True), (1e-10, False)])
def test_a_run_that_ends_a_billionth_too_high_tries_a_step_aside(monkeypatch, excess, tried):
    task, calls = lsa.isotropic(3, 6, 0.3), []
    best = lsa.optimum(task)
    longer = 1 + math.sqrt(excess * best.loss / (3 - best.loss + 0.3))  # L − L* = (L₀ − L*)(η/η* − 1)²
    layer = Layer.from_preconditioner(longer * best.preconditioner)
    assert lsa.population_loss(layer, task).item() / best.loss - 1 == pytest.approx(excess, rel=1e-3)
    for name in ("lbfgs", "alternating_least_squares"):
        monkeypatch.setattr(lsa.training, name, lambda *arguments: iter(()))
    monkeypatch.setattr(lsa.training, "perturb_from_saddle", lambda *arguments: iter(calls.append(1) or ()))
    lsa.fit(layer, task)
    assert bool(calls) == tried


def test_least_squares_with_keys_of_low_rank():
    """What query and value can reach is projected on: no sweep raises the loss, and it ends at rest."""
    task = linear_task(3, 6, seed=1)
    for seed in range(3):
        layer = Layer(3, 2, scale=0.5, generator=seed)
        with torch.no_grad():
            layer.key -= layer.key[..., :1] * normal(2, 1, 4, seed=seed) / 2
            layer.key[:, 0] = layer.key[:, 1:].sum(1)
        losses = torch.stack(list(lsa.minimise.alternating_least_squares(layer, task, 300, 1e-15)))
        assert losses.diff().max() <= 1e-12 * losses[0]
        loss = lsa.population_loss(layer, task)
        slopes = torch.autograd.grad(loss, [layer.query, layer.value])
        assert max(slope.abs().max() for slope in slopes) < 1e-3 * loss


@pytest.mark.parametrize(("gain", "taken"), [(1.1e-9, True), (0.9e-9, False), (-1.0, False)])
def test_a_step_aside_is_taken_where_it_gains_a_billionth(monkeypatch, gain, taken):
    task, layer, calls = lsa.isotropic(3, 6, 0.3), Layer(3, generator=0), []
    start = lsa.population_loss(layer, task).item()

    def sweeps(moved, *arguments):
        calls.append(moved)
        return iter([torch.tensor(2 * start), torch.tensor((1 - gain) * start, dtype=torch.float64)])

    monkeypatch.setattr(lsa.minimise, "alternating_least_squares", sweeps)
    weights = [weight.detach().clone() for weight in layer.parameters()]
    list(lsa.minimise.perturb_from_saddle(layer, task, 10, 1e-15))
    for weight, moved in zip(weights, calls[0].parameters(), strict=True):
        assert 0.005 < ((moved - weight).norm() / weight.norm()).item() < 0.016  # one per cent
    assert [moved is layer for moved in calls] == [False, True][: 1 + taken]
