"""Training ends where theory says, from every start that can, and says so when it cannot."""

import re

import pytest
import torch
from laws import conditioned, linear_task, normal

import lsa

Layer = lsa.LinearSelfAttention


def final_excess(task, seeds, **options):
    return torch.tensor(
        [lsa.fit(Layer(task.d, generator=s), task, **options).excess[-1] for s in range(seeds)]
    )


@pytest.mark.parametrize(("d", "n"), [(5, 10), (10, 20)])
@pytest.mark.parametrize("optimizer", ["lbfgs", "als"])
def test_every_default_start_reaches_the_optimum(d, n, optimizer):
    excess = final_excess(lsa.isotropic(d, n, 0.3), 20, optimizer=optimizer)
    assert (excess.abs() <= 1e-12).all(), excess


def test_at_d_2_a_local_minimum_catches_about_half():
    excess = final_excess(lsa.isotropic(2, 6, 0.3), 40)
    caught = excess > 1e-6
    assert 10 <= caught.sum() <= 30
    assert (excess[~caught].abs() < 1e-12).all()
    torch.testing.assert_close(excess[caught], torch.full_like(excess[caught], 0.5754), atol=1e-3, rtol=0)


def test_the_local_minimum_at_d_2_is_a_minimum():
    task = lsa.isotropic(2, 6, 0.3)
    for seed in range(40):
        layer = Layer(2, generator=seed)
        if lsa.fit(layer, task).excess[-1] > 0.1:
            break
    weights = torch.cat([weight.detach().flatten() for weight in layer.parameters()])

    def loss(vector):
        parts = vector.split([weight.numel() for weight in layer.parameters()])
        state = {n: p.view_as(w) for (n, w), p in zip(layer.named_parameters(), parts, strict=True)}
        key, query, value, readout = (state[name] for name in ("key", "query", "value", "readout"))
        twin = Layer(2, scale=0.0)
        for name in state:
            delattr(twin, name)
        twin.key, twin.query, twin.value, twin.readout = key, query, value, readout
        return lsa.population_loss(twin, task)

    curvatures = torch.linalg.eigvalsh(torch.autograd.functional.hessian(loss, weights))
    assert curvatures[0] > -1e-6 * curvatures[-1]


def test_two_heads_escape_it():
    task = lsa.isotropic(2, 6, 0.3)
    excess = torch.tensor([lsa.fit(Layer(2, heads=2, generator=s), task).excess[-1] for s in range(10)])
    assert (excess.abs() < 1e-9).all()


@pytest.mark.parametrize("condition", [100, 1000])
def test_theorem_2_the_learned_preconditioner_is_the_inverse(condition):
    for seed in range(5):
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
            lsa.fit(Layer(3, residual=residual, generator=s), moved).losses[-1].item() for s in range(5)
        )
        for residual in (True, False)
    }
    assert losses[True] == pytest.approx(best, rel=1e-9)
    assert losses[False] > 1.05 * best


def test_training_on_samples():
    task = lsa.isotropic(10, 20, 0.25)
    run = lsa.fit(Layer(10, generator=0), task, loss="samples", generator=1)
    assert 0 < run.excess[-1] <= 1e-4
    assert len(run.losses) == len(run.excess) == 2001


def test_training_on_samples_of_a_nonlinear_target():
    task = lsa.nonlinear(lsa.ReLUNetwork(3), 3, 10)
    layer = Layer(3, generator=0)
    run = lsa.fit(layer, task, steps=600, learning_rate=0.02, batch=1024, generator=1)
    found = lsa.compare(layer, run.optimum.step, task, batch=20_000, generator=2)
    assert found.squared_distance < 0.02 * run.optimum.loss
    assert found.cosine > 0.95


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
    if options["loss"] == "exact" and not task.linear:
        options = options | {"loss": "samples", "generator": 4, "batch": 64}
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
    with pytest.raises(FloatingPointError, match=rf"step \d+ with learning_rate = {rate}"):
        lsa.fit(layer, lsa.isotropic(4, 8), generator=0, **options)


def test_a_progress_bar_only_where_somebody_watches(monkeypatch, capsys):
    task = lsa.isotropic(2, 4, 0.1)
    lsa.fit(Layer(2), task, steps=3)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    lsa.fit(Layer(2), task, steps=3)
    assert "training" in capsys.readouterr().err
    lsa.fit(Layer(2), task, steps=3, progress=False)
    assert capsys.readouterr().err == ""
