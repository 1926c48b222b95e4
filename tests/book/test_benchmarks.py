"""What is compared for speed does the same work, and the stored figures keep what was promised."""

import json
import sys

import pytest
import torch
from helpers import ROOT

import lsa

FOLDER = ROOT / "benchmarks"
sys.path.insert(0, str(FOLDER))
import compared  # noqa: E402
import measure  # noqa: E402

RESULTS = json.loads((FOLDER / "results.json").read_text())


@pytest.mark.parametrize("micro", [8, 2])
def test_the_compared_steps_are_the_same_step(micro):
    task, layers = lsa.isotropic(3, 5, 0.2), [lsa.LinearSelfAttention(3, generator=0) for _ in range(2)]
    prompts = task.sample(8, generator=1)
    parts = iter([lsa.Prompts(*(each[k : k + micro] for each in prompts)) for k in range(0, 8, micro)])
    sampled = type("Given", (), {"sample": lambda self, batch: next(parts)})()
    compared.materialised_step(layers[0], sampled, 8, micro)
    compared.prompt_step(layers[1], type("Given", (), {"sample": lambda self, batch: prompts})(), 8)
    for one, other in zip(layers[0].parameters(), layers[1].parameters(), strict=True):
        torch.testing.assert_close(one.grad, other.grad)
        torch.testing.assert_close(one, other)


def test_times_are_medians_of_repeats_that_take_turns():
    order = []
    found = measure.side_by_side({"a": lambda: order.append("a"), "b": lambda: order.append("b")}, repeats=2)
    assert order == ["a", "b"] * 3
    assert all(seconds >= 0 for seconds in found.values())


@pytest.mark.parametrize(
    ("what", "least", "most"),
    [
        ("a step at n = 20,000 over one at n = 20", 0, 1.3),
        ("all n × n scores over our step, n = 2000", 500, 1e9),
        ("drawing the prompts over our step, n = 2000", 5, 1e9),
        ("32 stacked runs over one, exact loss", 0, 6),
        ("32 runs in a row over 32 stacked, samples", 2, 1e9),
        ("exact loss and gradient over a matrix product, d = 500", 0, 15),
        ("three layers at n = 20,000 over n = 20", 0, 1.3),
        ("three layers on tokens over Gram matrices, n = 2000", 5, 1e9),
        ("twenty rungs of the ladder over ten", 0, 16),
    ],
)
def test_the_stored_ratios_keep_the_promises(what, least, most):
    assert RESULTS["ratios"] == pytest.approx(measure.ratios(RESULTS))
    assert least <= RESULTS["ratios"][what] <= most


def test_the_stored_table_has_every_chapter():
    chapters = {name.removesuffix(".ipynb") for name in measure.executed()}
    assert {row["chapter"] for row in RESULTS["chapters"]} == chapters | {"all"}


def test_layers_on_tokens_are_layers_on_gram_matrices():
    task, models = (
        lsa.isotropic(3, 5, 0.2),
        [lsa.LinearTransformer(3, 2, scale=0.2, generator=0) for _ in range(2)],
    )
    prompts = task.sample(8, generator=1)
    compared.moving_tokens(models[0], type("Given", (), {"sample": lambda self, batch: prompts})(), 8)
    (models[1](prompts) - prompts.y_query).square().mean().backward()
    torch.testing.assert_close(models[0].P.grad, models[1].P.grad)
    torch.testing.assert_close(models[0].Q.grad, models[1].Q.grad)
