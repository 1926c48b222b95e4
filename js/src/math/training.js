import { Adam, randomWeights } from "./descend.js";
import { angleOf, atAngle, trapAngles } from "./landscape.js";
import { Objective } from "./loss.js";
import { makeTask } from "./task.js";

// A whole training run of one layer, kept to be walked through: by the steps of lsa.fit with Adam.

export const STEPS = 400;
const RATE = 0.02,
  SCALE = 0.1;

/**
 * { task, objective, steps: [{ w, loss, excess }], end: "optimum", "trap" or "" (not there yet) }
 * @param {{ d: number, n: number, noise_variance: number, seed: number }} state
 */
export function trainingRun({ d, n, noise_variance: noise, seed }) {
  const task = makeTask({ d, n, noise }),
    objective = new Objective(task, 1),
    adam = new Adam(objective),
    w = randomWeights(d, 1, SCALE, seed),
    steps = [];
  for (let k = 0; k < STEPS; k++) {
    const before = w.slice(),
      loss = adam.step(w, (RATE * (1 + Math.cos((Math.PI * k) / STEPS))) / 2); // the loss before the step
    steps.push({ w: before, loss });
  }
  steps.push({ w, loss: objective.loss(w) });
  for (const each of steps) each.excess = each.loss / task.best - 1;
  const one = { d, n, noise, heads: 1 },
    last = steps[STEPS],
    caught = trapAngles(one).some((angle) => Math.abs(last.loss / atAngle(angle, one) - 1) < 1e-3);
  return { task, objective, steps, end: last.excess < 1e-3 ? "optimum" : caught ? "trap" : "" };
}

/** A player's pace: a third of a step a frame for the first 60, where most happens, then faster and faster. */
export const pace = (k) => Math.max(1, (k / 60) ** 1.8) / 3;

/**
 * Where a layer stands in the plane of "Why": `across` along other steps η, `rest` at a right angle to them, in
 * the distance √E(difference)²; the foot is at 0, and across² + rest² = L − L*. And the angle of its a to the
 * label's axis. Isotropic tasks.
 */
export function placeOf(objective, w) {
  objective.effective(w);
  const { d, a, M, task } = objective,
    { n, step } = task;
  let agree = 0; // E[ŷ x_qᵀXᵀy] over that of x_qᵀXᵀy itself: the step hidden in the layer
  for (let j = 0; j < d; j++) agree += (a[d] * M[j * d + j] + a[j] * M[d * d + j]) / d;
  const angle = angleOf(a, 1, d + 1),
    distance = objective.distance(w),
    across = (agree - step[0]) * Math.sqrt((d * n) / step[0]);
  return { across, rest: Math.sqrt(Math.max(distance - across ** 2, 0)), distance, angle };
}
