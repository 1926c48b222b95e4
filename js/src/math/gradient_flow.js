import { atAngle, barrier } from "./landscape.js";
import { normals, product } from "./linalg.js";
import { Objective } from "./loss.js";
import { makeTask } from "./task.js";

// The landscape of one head on the isotropic task, and gradient flow on it. Time and weights are in units of
// G/n: the layer is a ⊗ M/n, so that growth from zero has the rates 2√d and 2 whatever n is.

/**
 * The task, and its curve V(angle) with the best loss, the barrier, its height, and the loss of the trap
 * behind it.
 */
export function isotropic(d, n, noise) {
  const V = (angle) => atAngle(angle, { d, n, noise }),
    task = makeTask({ d, n, noise }),
    found = barrier({ d, n, noise });
  return {
    task,
    V,
    best: task.best,
    barrier: found,
    height: found && V(found.top),
    caught: found && V(found.trap),
  };
}

/**
 * −∇L by the weights that are trained: a (d+1), M or Q (d+1, d), and with keys apart K (d+1, d+1), M = KᵀQ.
 */
export class Flow {
  /** @param {{ task: import("./task.js").Task }} land */
  constructor({ task }, apart = false) {
    const { d } = task,
      size = d + 1;
    this.task = task;
    this.d = d;
    this.size = size;
    this.apart = apart;
    this.objective = new Objective(task);
    this.M = new Float64Array(size * d);
    this.back = new Float64Array(size);
    this.backs = new Float64Array(size * d);
    this.length = size + size * d + (apart ? size * size : 0);
  }

  /** The loss, q − 2⟨a, J⟩ + ⟨a, E[G M Mᵀ G] a⟩; −∇L goes into `out`. */
  slope(v, out) {
    const {
      d,
      size,
      apart,
      objective,
      M,
      back,
      backs,
      task: { n, q, lam },
    } = this;
    const a = v.subarray(0, size),
      Q = v.subarray(size, size + size * d),
      K = v.subarray(size + size * d);
    if (apart) product(K, Q, size, size, d, true, false, M);
    else M.set(Q);
    for (let i = 0; i < M.length; i++) M[i] /= n;
    back.fill(0);
    backs.fill(0);
    objective.gramSquare(M, M, d, a, 1, back);
    objective.gramSquare(a, a, 1, M, d, backs);
    let loss = q;
    for (let p = 0; p < size; p++) {
      let pull = p < d ? lam[p] * M[d * d + p] : 0;
      if (p === d) for (let k = 0; k < d; k++) pull += lam[k] * M[k * d + k];
      loss += a[p] * (back[p] - 2 * n * pull);
      out[p] = 2 * (n * pull - back[p]);
      for (let j = 0; j < d; j++)
        backs[p * d + j] = (2 / n) * (n * objective.target(a, p, j) - backs[p * d + j]); // by n M
    }
    if (!apart) {
      out.set(backs, size);
      return loss;
    }
    product(K, backs, size, size, d, false, false, out.subarray(size, size + size * d));
    product(Q, backs, size, d, size, false, true, out.subarray(size + size * d));
    return loss;
  }

  angle(v) {
    let alpha = 0;
    for (let i = 0; i < this.d; i++) alpha += v[i] * v[i];
    return Math.atan2(Math.sqrt(alpha), Math.abs(v[this.d]));
  }

  start(size, seed) {
    const normal = normals(seed);
    return Float64Array.from({ length: this.length }, () => size * normal());
  }

  /**
   * Points [time, angle, loss] until `over(angle, loss)`, by Heun's method with steps that fit; v moves along.
   * @param {Float64Array} v
   * @param {{ until?: number, most?: number, tolerance?: number,
   *   over?: (angle: number, loss: number) => boolean }} limits
   */
  run(v, { until = Infinity, most = 800, tolerance = 4e-3, over = () => false } = {}) {
    const { length } = this,
      [k1, k2, trial] = [0, 1, 2].map(() => new Float64Array(length)),
      path = [];
    let time = 0,
      h = 0.02,
      loss = this.slope(v, k1);
    for (let k = 0; k < most; k++) {
      const angle = this.angle(v);
      path.push([time, angle, loss]);
      if (time >= until || over(angle, loss)) break;
      let scale = 0;
      for (let i = 0; i < length; i++) scale += v[i] * v[i];
      h = Math.min(h, until - time);
      for (;;) {
        for (let i = 0; i < length; i++) trial[i] = v[i] + h * k1[i];
        this.slope(trial, k2);
        let error = 0;
        for (let i = 0; i < length; i++) error += (h * (k2[i] - k1[i]) * 0.5) ** 2;
        const off = Math.sqrt(error / scale) / tolerance; // relative: a small start keeps its direction
        if (off > 1) {
          h *= Math.max(0.2, 0.9 / Math.sqrt(off));
          continue;
        }
        for (let i = 0; i < length; i++) v[i] += (h / 2) * (k1[i] + k2[i]);
        time += h;
        h *= Math.min(2, 0.9 / Math.sqrt(off + 1e-12));
        break;
      }
      loss = this.slope(v, k1);
    }
    return path;
  }
}

/**
 * Where a place belongs: "optimum" or "trap", for below the barrier nothing can cross it; "undecided" above.
 */
export function side({ barrier: wall, height, best, task }, angle, loss) {
  if (!wall) return loss < best + 0.05 * (task.q - best) ? "optimum" : "undecided";
  if (loss >= height) return "undecided";
  return angle < wall.top ? "optimum" : "trap";
}

/** Follow a start until it is within a hundredth of its end: { path, end }. */
function followed(land, flow, v) {
  const near = 0.01 * (land.task.q - land.best),
    ends = { optimum: land.best, trap: land.caught };
  const over = (angle, loss) => loss < (ends[side(land, angle, loss)] ?? -Infinity) + near;
  const path = flow.run(v, { over, most: flow.apart ? 1500 : 800 }),
    [, angle, loss] = path.at(-1);
  return { path, end: side(land, angle, loss) };
}

/** `count` random starts of one size. */
export function follow(land, { apart, size, count, seed }) {
  const flow = new Flow(land, apart);
  return Array.from({ length: count }, (_, k) => followed(land, flow, flow.start(size, 1000 * seed + k + 1)));
}

/** The start with a at an angle to the label's axis and with the M that grows along with it. */
export function chosen(land, { apart, size, angle }) {
  const flow = new Flow(land, apart),
    { d } = flow,
    v = new Float64Array(flow.length),
    [gamma, alpha] = [size * Math.cos(angle), size * Math.sin(angle)];
  v[0] = alpha;
  v[d] = gamma;
  for (let i = 0; i < d; i++) v[d + 1 + i * d + i] = gamma / Math.sqrt(d);
  v[d + 1 + d * d] = alpha;
  if (apart) for (let i = 0; i <= d; i++) v[(d + 1) ** 2 + i * (d + 1) + i] = size / Math.sqrt(d + 1);
  return followed(land, flow, v);
}
