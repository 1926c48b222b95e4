import { identity } from "./linalg.js";
import { covariance, makeTask } from "./task.js";

// What the playground's controls mean: the task they describe, the claims they can show, and the Python that
// does the same.

export const DEFAULTS = {
  d: 5,
  n: 10,
  noise_variance: 0.3,
  family: "linear",
  condition: 1,
  rotation: 0,
  prior: "matched",
  prior_condition: 10,
  mean: 0,
  heads: 1,
  residual: false,
  scale: 0.1,
  optimizer: "adam",
  rate: 0.01,
  speed: 2,
  seed: 1,
};

/** The task of the controls; lsa.Playground.task says the same in Python. */
export function taskOf({
  d,
  n,
  noise_variance: noise,
  family,
  condition,
  rotation,
  prior,
  prior_condition: spread,
  mean,
}) {
  if (family !== "linear") return makeTask({ d, n, noise, family });
  const { sigma, inverse } = covariance(d, condition, rotation);
  const priors = {
    matched: () => inverse,
    identity: () => identity(d),
    custom: () => covariance(d, spread).sigma,
  };
  return makeTask({
    d,
    n,
    noise,
    sigma,
    prior: priors[prior](),
    mean: new Float64Array(d).fill(mean / Math.sqrt(d)),
  });
}

export const PRESETS = {
  "theorem-1": [
    "Theorem 1: one step is optimal",
    {},
    "Press ▶ Train. The layer finds one step of gradient descent, to nine digits.",
  ],
  "theorem-2": [
    "Theorem 2: a preconditioned step",
    { condition: 16, rotation: 35 },
    "Skewed inputs, prior Σ⁻¹. Train: the weights M become η* Σ⁻¹.",
  ],
  "theorem-3": [
    "Theorem 3: nonlinear targets",
    { family: "relu", d: 4, n: 9, noise_variance: 0.5 },
    "Every prompt has its own ReLU network. Train: still one plain step, only shorter.",
  ],
  nothing: [
    "Nothing to learn: η* = 0",
    { family: "hermite3", d: 4, n: 20, noise_variance: 0.1 },
    "These functions have no linear part. Train: the best layer answers 0.",
  ],
  trap: [
    "The trap at d = 3, n = 40",
    { d: 3, n: 40, noise_variance: 0.25, seed: 3, speed: 3 },
    "Train: this start ends in a local minimum, with a relative excess of 1.506. " +
      "Try New start: about every other one gets through.",
  ],
  "two-heads": [
    "Two heads escape it",
    { d: 3, n: 40, noise_variance: 0.25, seed: 3, heads: 2, speed: 3 },
    "The same task, one more head. Train: the excess passes 1.506, the height of the trap, before step 10, " +
      "and does not stay there.",
  ],
  mean: [
    "A prior mean has its price",
    { d: 4, n: 10, mean: 1, speed: 8 },
    "Train: a gap stays. Then switch the residual stream on and train again: it closes.",
  ],
  identity: [
    "Another prior, another step",
    { condition: 16, rotation: 35, prior: "identity", speed: 8 },
    "Λ = I in place of Σ⁻¹. Train: one step again, but its P* is not a multiple of Σ⁻¹.",
  ],
};

export const presetState = (name) => ({ ...DEFAULTS, ...PRESETS[name][1] });

/** What is known about this task and layer. */
export function says({ family, prior, condition, mean, residual }) {
  if (family !== "linear")
    return ["hermite3", "absolute"].includes(family)
      ? "Theorem 3: these targets have no linear part, so that η* = 0."
      : "Theorem 3: one step of gradient descent is optimal, with the η* of this family.";
  if (mean)
    return residual
      ? "A prior mean, and a residual stream to hold it: one step that starts at μ is optimal."
      : "A prior mean, and nothing to hold it: a gap to the step from μ stays. Switch the residual stream on.";
  if (condition === 1 && prior !== "custom")
    return "Theorem 1: one step of gradient descent is optimal, η* = 1/(n + d + 1 + σ²).";
  if (prior === "matched") return "Theorem 2: one preconditioned step is optimal, P* = η* Σ⁻¹.";
  return "Beyond the paper, Λ ≠ Σ⁻¹: still one step, with P* = ((n+1)Σ + (tr ΣΛ + σ²)Λ⁻¹)⁻¹.";
}

const literal = (value) => (typeof value === "boolean" ? (value ? "True" : "False") : JSON.stringify(value));

/** Values that differ from the defaults. */
const changed = (state) =>
  Object.entries(DEFAULTS)
    .filter(([name, value]) => state[name] !== value)
    .map(([name]) => [name, state[name]]);

/** Python that takes the same steps; `weights` if they were moved by hand. */
export function python(state, step, weights = null) {
  const given = changed(state).filter(([name]) => name !== "speed");
  if (weights) given.push(["weights", Array.from(weights)]);
  const lines = [
    "import torch",
    "",
    "import lsa",
    "",
    `playground = lsa.Playground(${given.map(([name, value]) => `${name}=${literal(value)}`).join(", ")})`,
    "task, layer = playground.task, playground.layer",
  ];
  if (step && !weights) {
    const make = { adam: "torch.optim.Adam", gd: "torch.optim.SGD" }[state.optimizer];
    lines.push(
      ...(make
        ? [
            `optimizer = ${make}(layer.parameters(), lr=${literal(state.rate)})`,
            `for _ in range(${step}):`,
            "    optimizer.zero_grad()",
            "    lsa.population_loss(layer, task).backward()",
            "    optimizer.step()",
          ]
        : ["lsa.fit(layer, task)  # L-BFGS, to the end"]),
    );
  }
  lines.push(
    "loss, best = lsa.population_loss(layer, task).item(), playground.best",
    'print(f"L = {loss:.8f}, L* = {best:.8f}, relative excess {loss / best - 1:.2e}")',
  );
  return `${lines.join("\n")}\n`;
}
