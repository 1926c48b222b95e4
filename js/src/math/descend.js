import { dot, normals } from "./linalg.js";
import { count } from "./loss.js";

// Optimisers for the exact loss: step(w, rate) changes the weights w and returns the loss before the step.

/** Weights N(0, scale²/(d+1)), those of the read-out N(0, 1/(d+1)), as in lsa.LinearSelfAttention. */
export function randomWeights(d, heads, scale, seed) {
  const normal = normals(seed),
    length = count(d, heads),
    unit = 1 / Math.sqrt(d + 1);
  return Float64Array.from({ length }, (_, i) => normal() * unit * (i < length - d - 1 ? scale : 1));
}

export class GradientDescent {
  /** @param {import("./loss.js").Objective} objective */
  constructor(objective) {
    this.objective = objective;
    this.g = new Float64Array(objective.length);
  }
  step(w, rate) {
    const { g } = this,
      loss = this.objective.gradient(w, g);
    for (let i = 0; i < w.length; i++) w[i] -= rate * g[i];
    return loss;
  }
}

export class Adam {
  /** @param {import("./loss.js").Objective} objective */
  constructor(objective) {
    this.objective = objective;
    this.t = 0;
    this.g = new Float64Array(objective.length);
    this.m = new Float64Array(objective.length);
    this.v = new Float64Array(objective.length);
  }
  step(w, rate) {
    const { g, m, v } = this,
      loss = this.objective.gradient(w, g),
      t = ++this.t;
    const first = 1 - 0.9 ** t,
      second = 1 - 0.999 ** t;
    for (let i = 0; i < w.length; i++) {
      m[i] += 0.1 * (g[i] - m[i]);
      v[i] += 0.001 * (g[i] * g[i] - v[i]);
      w[i] -= (rate * m[i]) / first / (Math.sqrt(v[i] / second) + 1e-8);
    }
    return loss;
  }
}

/** L-BFGS with the last 30 steps; the line is searched by halving until the loss falls enough. */
export class LBFGS {
  /** @param {import("./loss.js").Objective} objective */
  constructor(objective) {
    this.objective = objective;
    this.past = [];
    this.loss = null;
    this.g = new Float64Array(objective.length);
    this.next = new Float64Array(objective.length);
  }
  step(w) {
    const { objective, past, next } = this;
    const before = this.loss ?? objective.gradient(w, this.g),
      g = this.g;
    this.loss = before;
    const way = Float64Array.from(g),
      alpha = [];
    for (let k = past.length - 1; k >= 0; k--) {
      const { s, y, rho } = past[k];
      alpha[k] = rho * dot(s, way);
      for (let i = 0; i < way.length; i++) way[i] -= alpha[k] * y[i];
    }
    const last = past.at(-1),
      scale = last ? 1 / (last.rho * dot(last.y, last.y)) : 0.1 / Math.sqrt(dot(g, g) || 1);
    for (let i = 0; i < way.length; i++) way[i] *= scale;
    past.forEach(({ s, y, rho }, k) => {
      const beta = rho * dot(y, way);
      for (let i = 0; i < way.length; i++) way[i] += (alpha[k] - beta) * s[i];
    });
    const slope = dot(g, way);
    if (!(slope > 0)) {
      this.past = [];
      return before;
    }
    const trial = new Float64Array(w.length);
    for (let rate = 1, k = 0; k < 40; k++, rate /= 2) {
      for (let i = 0; i < w.length; i++) trial[i] = w[i] - rate * way[i];
      const loss = objective.gradient(trial, next);
      if (loss <= before - 1e-4 * rate * slope) {
        const s = trial.map((x, i) => x - w[i]),
          y = next.map((x, i) => x - g[i]),
          sy = dot(s, y);
        if (sy > 1e-16 * dot(y, y)) past.push({ s, y, rho: 1 / sy });
        if (past.length > 30) past.shift();
        w.set(trial);
        this.loss = loss;
        g.set(next);
        return before;
      }
    }
    this.past = []; // no way down within rounding: next time along the gradient
    return before;
  }
}

export const METHODS = { gd: GradientDescent, adam: Adam, lbfgs: LBFGS };
