import { FAMILIES } from "./families.js";
import { diagonal, eigh, identity, matrixFunction, normals, product } from "./linalg.js";

// Laws of prompts, in white coordinates: x = R z with z ~ N(0, I), where all moments are diagonal.

const total = (values) => values.reduce((sum, x) => sum + x, 0);

/**
 * x ~ N(0, Σ), n examples, label noise σ²; f is linear with w ~ N(μ, Λ), or of a family for Σ = I.
 * The moments are those of lsa/population.py: lam = diag C, bb = E bbᵀ, xxc = E[XᵀX c], cc = E c², b = Xᵀy,
 * c = yᵀy.
 *
 * @typedef {ReturnType<typeof makeTask>} Task
 * @param {{ d: number, n: number, noise: number, sigma?: Float64Array, prior?: Float64Array,
 *   mean?: Float64Array, family?: string }} law
 */
export function makeTask({
  d,
  n,
  noise,
  sigma = identity(d),
  prior = identity(d),
  mean = new Float64Array(d),
  family = "linear",
}) {
  const linear = family === "linear",
    half = matrixFunction(sigma, d, Math.sqrt),
    inverse = matrixFunction(sigma, d, (x) => 1 / Math.sqrt(x));
  let lam,
    S,
    power,
    fourth,
    square,
    vectors = identity(d);
  if (linear) {
    const own = eigh(product(half, product(prior, half, d, d, d), d, d, d), d);
    lam = own.values.map((x) => Math.max(x, 0));
    vectors = own.vectors;
    power = total(lam);
    square = power ** 2 + 2 * total(lam.map((x) => x * x));
    fourth = 3 * square;
    S = lam.map((x) => 2 * x + power);
  } else {
    const known = FAMILIES[family].moments(d);
    ({ power, fourth, square } = known);
    lam = new Float64Array(d).fill(known.c / d);
    S = new Float64Array(d).fill(known.s / d);
  }
  const q = power + noise,
    both = S.map((x) => n * (x + noise));
  const bb = both.map((x, i) => x + n * (n - 1) * lam[i]),
    xxc = both.map((x) => x + n * (n - 1) * q);
  const cc =
    n * (fourth + 6 * noise * power + 3 * noise ** 2) +
    n * (n - 1) * (square + 2 * noise * power + noise ** 2);
  // the best step, P* = Σ⁻¹ C (S + σ²Σ + (n−1) C)⁻¹
  const step = lam.map((x, i) => (x ? (n * x) / bb[i] : 0)),
    best = q - n * total(lam.map((x, i) => x * step[i]));
  const R = product(half, vectors, d, d, d),
    left = product(inverse, vectors, d, d, d); // left = R⁻ᵀ
  const P = product(product(left, diagonal(step), d, d, d), left, d, d, d, false, true);
  // the map from white tokens to the task's, [[R, 0], [μᵀR, 1]]
  const size = d + 1,
    tokens = new Float64Array(size * size);
  for (let i = 0; i < d; i++)
    for (let j = 0; j < d; j++) {
      tokens[i * size + j] = R[i * d + j];
      tokens[d * size + j] += mean[i] * R[i * d + j];
    }
  tokens[d * size + d] = 1;
  return {
    d,
    n,
    noise,
    sigma,
    prior,
    mean,
    family,
    linear,
    half,
    R,
    tokens,
    lam,
    q,
    bb,
    xxc,
    cc,
    step,
    P,
    best,
  };
}

/** Σ with a geometric spectrum, turned by the same angle in every plane (i, i+1), and its inverse. */
export function covariance(d, condition, degrees = 0) {
  let turn = identity(d);
  const angle = (degrees * Math.PI) / 180,
    c = Math.cos(angle),
    s = Math.sin(angle);
  for (let i = 0; i + 1 < d; i++) {
    const plane = identity(d);
    plane[i * d + i] = plane[(i + 1) * d + i + 1] = c;
    plane[i * d + i + 1] = -s;
    plane[(i + 1) * d + i] = s;
    turn = product(turn, plane, d, d, d);
  }
  const values = Array.from({ length: d }, (_, i) => (d > 1 ? condition ** (0.5 - i / (d - 1)) : 1));
  const turned = (spectrum) =>
    product(product(turn, diagonal(spectrum), d, d, d), turn, d, d, d, false, true);
  return { sigma: turned(values), inverse: turned(values.map((x) => 1 / x)) };
}

/**
 * Prompts: their Gram matrices (d+1, d+1), queries, labels of the queries, and what one best step predicts.
 */
export function samplePrompts(task, batch, seed) {
  const { d, n, noise, half, prior, mean, P, family, linear } = task,
    size = d + 1,
    sd = Math.sqrt(noise),
    priorRoot = matrixFunction(prior, d, Math.sqrt);
  return Array.from({ length: batch }, (_, k) => {
    const normal = normals(seed + 7919 * k); // each prompt has its own: a longer one begins as the shorter
    const point = (matrix) => product(matrix, Float64Array.from({ length: d }, normal), d, d, 1);
    const w = linear ? point(priorRoot).map((x, i) => x + mean[i]) : null,
      f = linear
        ? (x) => x.reduce((sum, xi, i) => sum + w[i] * xi, 0)
        : FAMILIES[family].draw(d, seed + 7919 * k + 13);
    const gram = new Float64Array(size * size),
      x = point(half),
      y = f(x) + sd * normal();
    for (let i = 0; i < n; i++) {
      const at = point(half),
        v = [...at, f(at) + sd * normal()];
      for (let r = 0; r < size; r++) for (let s = 0; s < size; s++) gram[r * size + s] += v[r] * v[s];
    }
    return { gram, x, y, gd: oneStep(task, { gram, x }, P) };
  });
}

/** (μ + P Xᵀ(y − Xμ))·x_q: one step that starts at the prior mean. */
export function oneStep({ d, mean }, { gram, x }, P) {
  const size = d + 1;
  let answer = 0;
  for (let i = 0; i < d; i++) {
    let step = mean[i];
    for (let j = 0; j < d; j++) {
      let residual = gram[j * size + d];
      for (let k = 0; k < d; k++) residual -= gram[j * size + k] * mean[k];
      step += P[i * d + j] * residual;
    }
    answer += step * x[i];
  }
  return answer;
}
