import { identity, solve } from "./linalg.js";

// What three predictors make of one prompt: the weights u of ŷ = u·x_q. `xs` is [[…], …] (n, d), `ys` is (n).

/** G = Σ v vᵀ with v = [x; y], (d+1, d+1): all that the layer sees of the examples. */
export function gram(xs, ys) {
  const d = xs[0].length,
    G = new Float64Array((d + 1) ** 2);
  xs.forEach((x, k) => {
    const v = [...x, ys[k]];
    for (let i = 0; i <= d; i++) for (let j = 0; j <= d; j++) G[i * (d + 1) + j] += v[i] * v[j];
  });
  return G;
}

/** u = Mᵀ G a of a layer with effective weights a (d+1) and M (d+1, d). */
export function layerWeights(G, a, M) {
  const size = a.length,
    d = size - 1,
    u = new Array(d).fill(0);
  for (let r = 0; r < size; r++) {
    let Ga = 0;
    for (let s = 0; s < size; s++) Ga += G[r * size + s] * a[s];
    for (let j = 0; j < d; j++) u[j] += Ga * M[r * d + j];
  }
  return u;
}

/** The trained layer for n isotropic examples (Theorem 1): a = (0, …, 0, 1), M = [η* I; 0]. */
export function trainedLayer(d, n, noise) {
  const step = 1 / (n + d + 1 + noise),
    a = new Float64Array(d + 1),
    M = new Float64Array((d + 1) * d);
  a[d] = 1;
  M.set(identity(d).map((x) => x * step));
  return { a, M, step };
}

/** One step of gradient descent from zero, η Xᵀy. */
export const stepWeights = (xs, ys, eta) =>
  xs[0].map((_, j) => eta * xs.reduce((sum, x, k) => sum + x[j] * ys[k], 0));

/** (XᵀX + σ² I)⁻¹ Xᵀy, Bayes' answer for w ~ N(0, I); σ² must be positive, or XᵀX invertible. */
export function ridgeWeights(xs, ys, noise) {
  const d = xs[0].length,
    A = identity(d).map((x) => x * noise);
  for (const x of xs) for (let i = 0; i < d; i++) for (let j = 0; j < d; j++) A[i * d + j] += x[i] * x[j];
  return [...(solve(A, stepWeights(xs, ys, 1), d, 1) ?? new Float64Array(d).fill(NaN))];
}
