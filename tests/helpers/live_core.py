"""The loss of the live figures, run by node, and what it is asked."""

import torch

CODE = """
import { Objective, predict } from "./loss.js";
import { METHODS } from "./descend.js";
import { makeTask } from "./task.js";
console.log(JSON.stringify(given.map(({ heads, residual, weights, prompts, ...task }) => {
  const f = new Objective(makeTask(task), heads, residual);
  const w = Float64Array.from(weights), gradient = new Float64Array(w.length);
  const loss = f.gradient(w, gradient), same = f.loss(w), distance = f.distance(w);
  const predictions = prompts.map((prompt) => predict(f, w, prompt)), optimal = f.loss(f.optimalWeights());
  const nudged = Float64Array.from(w);
  f.nudge(nudged, heads - 1, 0, task.d - 1, 0.25);
  f.nudge(nudged, heads - 1, task.d, -1, -0.5);
  f.effective(nudged);
  const a = [...f.a], M = [...f.M], adam = new METHODS.adam(f);
  const path = Array.from({ length: 50 }, () => adam.step(w, 0.01));
  const { best, P } = f.task;
  return { loss, same, distance, gradient: [...gradient], best, P: [...P], predictions, optimal, a, M, path };
})));
"""


def flat(layer, of=lambda weight: weight):
    """The weights (or their gradients) in the order of loss.js: of W_Q the first d columns."""
    key, query, value, readout = (of(w) for w in (layer.key, layer.query, layer.value, layer.readout))
    parts = [(key[i], query[i, :, : layer.d], value[i]) for i in range(layer.heads)]
    return torch.cat([*(part.flatten() for head in parts for part in head), readout]).tolist()


def question(task, layer, prompts, **law):
    if not law:
        law = {"sigma": task.covariates.covariance, "prior": task.target.prior_covariance}
        law = {name: matrix.flatten().tolist() for name, matrix in law.items()}
        law["mean"] = task.target.prior_mean.tolist()
    pairs = zip(prompts.gram.flatten(1).tolist(), prompts.x_query.tolist(), strict=True)
    return law | {
        "d": task.d, "n": task.n, "noise": task.noise_variance, "heads": layer.heads,
        "residual": layer.residual, "weights": flat(layer),
        "prompts": [{"gram": gram, "x": x} for gram, x in pairs],
    }  # fmt: skip


def close(ours, theirs, scale=None, tolerance=1e-12):
    ours, theirs = (torch.as_tensor(each, dtype=torch.float64).flatten() for each in (ours, theirs))
    scale = max(float(theirs.abs().max()), 1e-300) if scale is None else scale
    assert float((ours - theirs).abs().max()) < tolerance * scale
