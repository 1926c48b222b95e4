import { product, solve } from "./linalg.js";

// The exact population loss of a layer and its gradient, by the formulas of lsa/population.py. A layer's
// weights are one Float64Array: for each head W_K (d+1, d+1), W_Q (its first d columns) and W_V (d+1, d+1),
// then the read-out (d+1).

/** How many weights a layer has.
 * @param {number} d
 * @param {number} heads */
export const count = (d, heads) => heads * (d + 1) * (3 * d + 2) + d + 1;

/** Places of the parts of head i among the weights. */
const places = (d, i) => {
  const size = d + 1,
    K = i * size * (3 * d + 2);
  return { K, Q: K + size * size, V: K + size * size + size * d };
};

export class Objective {
  /**
   * @param {import("./task.js").Task} task
   * @param {number} heads
   * @param {boolean} residual
   */
  constructor(task, heads = 1, residual = false) {
    const { d } = task,
      size = d + 1,
      all = heads + 1, // one head more: the best step, taken away
      make = (/** @type {number} */ n) => new Float64Array(n);
    this.task = task;
    this.heads = heads;
    this.residual = residual;
    this.d = d;
    this.size = size;
    this.length = count(d, heads);
    this.readout = this.length - size;
    // effective weights, in the task's coordinates
    this.a = make(heads * size);
    this.M = make(heads * size * d);
    // in white ones
    this.wa = make(all * size);
    this.wM = make(all * size * d);
    this.h = make(d);
    // their gradients
    this.ga = make(heads * size);
    this.gM = make(heads * size * d);
    this.gh = make(d);
    // room to compute in
    this.one = make(size);
    this.along = make(size * d);
    this.across = make(size * d);
    this.scratch = make(size * d);
    this.u = make(d);
    this.v = make(d);
    this.wa[heads * size + d] = -1;
    for (let i = 0; i < d; i++) this.wM[heads * size * d + i * d + i] = task.step[i];
  }

  head(i) {
    return this.wM.subarray(i * this.size * this.d, (i + 1) * this.size * this.d);
  }
  row(i) {
    return this.wa.subarray(i * this.size, (i + 1) * this.size);
  }

  /** a = W_Vᵀ h and M = W_Kᵀ W_Q of every head, as they are and in white coordinates. */
  effective(w) {
    const { d, size, heads, task, a, M, wa, h, scratch, readout } = this,
      { tokens, R, mean } = task;
    a.fill(0);
    M.fill(0);
    for (let i = 0; i < heads; i++) {
      const { K, Q, V } = places(d, i);
      for (let k = 0; k < size; k++)
        for (let p = 0; p < size; p++) {
          a[i * size + p] += w[V + k * size + p] * w[readout + k];
          for (let j = 0; j < d; j++) M[(i * size + p) * d + j] += w[K + k * size + p] * w[Q + k * d + j];
        }
      product(
        tokens,
        a.subarray(i * size, (i + 1) * size),
        size,
        size,
        1,
        true,
        false,
        wa.subarray(i * size, (i + 1) * size),
      );
      product(tokens, M.subarray(i * size * d, (i + 1) * size * d), size, size, d, true, false, scratch);
      product(scratch, R, size, d, d, false, false, this.head(i));
    }
    for (let j = 0; j < d; j++) {
      h[j] = 0;
      for (let i = 0; i < d; i++) h[j] += ((this.residual ? w[readout + i] : 0) - mean[i]) * R[i * d + j];
    }
  }

  /** Adds E[G A G] V to `out`, A = left rightᵀ = [[K, u], [vᵀ, e]]: left, right (d+1, j) and V (d+1, k). */
  gramSquare(left, right, j, V, k, out) {
    const { d, u, v, along, across } = this,
      { n, bb, xxc, cc } = this.task;
    let e = 0,
      trace = 0,
      yy = 0;
    for (let s = 0; s < j; s++) e += left[d * j + s] * right[d * j + s];
    for (let i = 0; i < d; i++) {
      u[i] = v[i] = 0;
      let diagonal = 0;
      for (let s = 0; s < j; s++) {
        const x = left[i * j + s],
          y = right[i * j + s];
        u[i] += x * right[d * j + s];
        v[i] += y * left[d * j + s];
        diagonal += x * y;
      }
      trace += diagonal;
      yy += bb[i] * diagonal;
    }
    yy += e * cc;
    for (let s = 0; s < j; s++)
      for (let t = 0; t < k; t++) {
        // rightᵀ x and leftᵀ x
        let r = 0,
          l = 0;
        for (let i = 0; i < d; i++) {
          r += right[i * j + s] * V[i * k + t];
          l += left[i * j + s] * V[i * k + t];
        }
        along[s * k + t] = n * n * r;
        across[s * k + t] = n * l;
      }
    for (let i = 0; i < d; i++) {
      const xy = bb[i] * v[i] + xxc[i] * u[i],
        yx = xxc[i] * v[i] + bb[i] * u[i],
        own = n * trace + e * bb[i];
      for (let t = 0; t < k; t++) {
        let sum = own * V[i * k + t] + xy * V[d * k + t];
        for (let s = 0; s < j; s++)
          sum += left[i * j + s] * along[s * k + t] + right[i * j + s] * across[s * k + t];
        out[i * k + t] += sum;
        out[d * k + t] += yx * V[i * k + t];
      }
    }
    for (let t = 0; t < k; t++) out[d * k + t] += yy * V[d * k + t];
  }

  /** n (E G / n) M h in row p, M of a head in white coordinates. */
  pulled(M, p) {
    const { d, h, task } = this;
    let sum = 0;
    for (let j = 0; j < d; j++) sum += M[p * d + j] * h[j];
    return task.n * (p < d ? 1 : task.q) * sum;
  }

  /** Half the gradient of E ŷ² by a of head i, among the first `heads` heads; into this.one. */
  pull(i, heads) {
    const { d, size, one } = this,
      M = this.head(i);
    one.fill(0);
    for (let k = 0; k < heads; k++) this.gramSquare(M, this.head(k), d, this.row(k), 1, one);
    for (let p = 0; p < size; p++) one[p] += this.pulled(M, p);
    return one;
  }

  /** E ŷ² of the first `heads` heads and the residual stream, in white coordinates. */
  moment(heads) {
    let sum = this.h.reduce((all, x) => all + x * x, 0);
    for (let i = 0; i < heads; i++) {
      const one = this.pull(i, heads),
        a = this.row(i),
        M = this.head(i);
      for (let p = 0; p < this.size; p++) sum += a[p] * (one[p] + this.pulled(M, p));
    }
    return sum;
  }

  /** Entry (p, j) of E[G a m_fᵀ] / n for a head with row a; its product with M is what agrees with f. */
  target(a, p, j) {
    const {
      d,
      task: { lam },
    } = this;
    return p === d ? lam[j] * a[j] : p === j ? lam[j] * a[d] : 0;
  }

  /** E (ŷ − y_q)². */
  loss(w) {
    this.effective(w);
    const {
      d,
      size,
      heads,
      task: { q, n },
    } = this;
    let agree = 0;
    for (let i = 0; i < heads; i++)
      for (let p = 0; p < size; p++)
        for (let j = 0; j < d; j++) agree += this.head(i)[p * d + j] * this.target(this.row(i), p, j);
    return q - 2 * n * agree + this.moment(heads);
  }

  /** E (ŷ − ŷ_GD)²: how far the layer is from the best step, which starts at the prior mean. */
  distance(w) {
    this.effective(w);
    return this.moment(this.heads + 1);
  }

  /** The loss; its gradient by all weights goes into `g`. */
  gradient(w, g) {
    this.effective(w);
    const { d, size, heads, task, ga, gM, gh, h } = this,
      { n, lam, q } = task;
    let value = q;
    for (let j = 0; j < d; j++) {
      value += h[j] * h[j];
      gh[j] = 2 * h[j];
    }
    for (let i = 0; i < heads; i++) {
      const a = this.row(i),
        M = this.head(i),
        one = this.pull(i, heads),
        own = gM.subarray(i * size * d, (i + 1) * size * d);
      for (let p = 0; p < size; p++) {
        // by a: 2 Σ_k E[G M_i M_kᵀ G] a_k + 2 E[G] M_i h − 2n (what agrees with f)
        let target = p < d ? lam[p] * M[d * d + p] : 0;
        if (p === d) for (let k = 0; k < d; k++) target += lam[k] * M[k * d + k];
        value += a[p] * (one[p] + this.pulled(M, p) - 2 * n * target);
        ga[i * size + p] = 2 * (one[p] - n * target);
        for (let j = 0; j < d; j++) gh[j] += 2 * n * (p < d ? 1 : q) * a[p] * M[p * d + j];
      }
      own.fill(0); // by M: 2 Σ_k E[G a_i a_kᵀ G] M_k + …, by the same formula with the parts exchanged
      for (let k = 0; k < heads; k++) this.gramSquare(a, this.row(k), 1, this.head(k), d, own);
      for (let p = 0; p < size; p++)
        for (let j = 0; j < d; j++)
          own[p * d + j] = 2 * (own[p * d + j] + n * ((p < d ? 1 : q) * a[p] * h[j] - this.target(a, p, j)));
    }
    this.backward(w, g);
    return value;
  }

  /** From the gradient by a, M and h in white coordinates to that by the weights. */
  backward(w, g) {
    const {
      d,
      size,
      heads,
      task: { tokens, R },
      ga,
      gM,
      gh,
      scratch,
      one,
      readout,
    } = this;
    g.fill(0);
    for (let i = 0; i < heads; i++) {
      const { K, Q, V } = places(d, i),
        own = gM.subarray(i * size * d, (i + 1) * size * d);
      product(tokens, own, size, size, d, false, false, scratch);
      product(scratch, R, size, d, d, false, true, own);
      product(tokens, ga.subarray(i * size, (i + 1) * size), size, size, 1, false, false, one);
      for (let p = 0; p < size; p++)
        for (let k = 0; k < size; k++) {
          g[V + k * size + p] = w[readout + k] * one[p];
          g[readout + k] += w[V + k * size + p] * one[p];
          for (let j = 0; j < d; j++) {
            g[K + k * size + p] += w[Q + k * d + j] * own[p * d + j];
            g[Q + k * d + j] += w[K + k * size + p] * own[p * d + j];
          }
        }
    }
    if (this.residual)
      for (let i = 0; i < d; i++) for (let j = 0; j < d; j++) g[readout + i] += R[i * d + j] * gh[j];
  }

  /**
   * Weights whose a (heads, d+1) and M (heads, d+1, d) are given: W_K = I, W_Q = M, W_V = e aᵀ, h = e + h_x.
   */
  weightsOf(a, M, skip = null) {
    const { d, size, heads, readout } = this,
      w = new Float64Array(this.length);
    for (let i = 0; i < heads; i++) {
      const { K, Q, V } = places(d, i);
      for (let k = 0; k < size; k++) {
        w[K + k * size + k] = 1;
        w[V + d * size + k] = a[i * size + k];
      }
      for (let k = 0; k < size * d; k++) w[Q + k] = M[i * size * d + k];
    }
    if (skip) w.set(skip, readout);
    w[readout + d] = 1;
    return w;
  }

  /**
   * One step of gradient descent from the prior mean: a = (−μ, 1), M = [Pᵀ; 0], h_x = μ; the other heads
   * rest.
   */
  optimalWeights() {
    const {
        d,
        size,
        heads,
        task: { P, mean },
      } = this,
      a = new Float64Array(heads * size),
      M = new Float64Array(heads * size * d);
    for (let i = 0; i < d; i++) {
      a[i] = -mean[i];
      for (let j = 0; j < d; j++) M[i * d + j] = P[j * d + i];
    }
    a[d] = 1;
    return this.weightsOf(a, M, this.residual ? mean : null);
  }

  /**
   * Move an entry of M (or of a, column −1) of a head by `by`, with the least change of W_Q or W_V that does
   * it.
   */
  nudge(w, head, row, column, by) {
    const { d, size, readout } = this,
      { K, Q, V } = places(d, head);
    if (column < 0) {
      const h = w.subarray(readout),
        norm = h.reduce((sum, x) => sum + x * x, 0);
      for (let k = 0; k < size; k++) w[V + k * size + row] += (h[k] * by) / norm;
      return;
    }
    const unit = new Float64Array(size),
      key = new Float64Array(size * size);
    unit[row] = by;
    for (let i = 0; i < size; i++) for (let k = 0; k < size; k++) key[i * size + k] = w[K + k * size + i];
    const change = solve(key, unit, size, 1);
    if (change) {
      for (let k = 0; k < size; k++) w[Q + k * d + column] += change[k];
      return;
    }
    this.effective(w); // a key without an inverse: let it be the identity, and the query M itself
    for (let i = 0; i < size; i++) for (let k = 0; k < size; k++) w[K + i * size + k] = i === k ? 1 : 0;
    for (let i = 0; i < size * d; i++) w[Q + i] = this.M[head * size * d + i];
    w[Q + row * d + column] += by;
  }
}

/** ŷ of the layer on a prompt; `effective` must have been called. */
export function predict({ d, size, heads, a, M, residual, readout }, w, { gram, x }) {
  let y = 0;
  if (residual) for (let j = 0; j < d; j++) y += w[readout + j] * x[j];
  for (let i = 0; i < heads; i++)
    for (let r = 0; r < size; r++) {
      let Ga = 0,
        Mx = 0;
      for (let s = 0; s < size; s++) Ga += gram[r * size + s] * a[i * size + s];
      for (let j = 0; j < d; j++) Mx += M[(i * size + r) * d + j] * x[j];
      y += Ga * Mx;
    }
  return y;
}
