import { eigh, normals, product } from "./linalg.js";
import { gauss } from "./quadrature.js";

// The ladder of depth, as in lsa/ladder.py: moments of W = XᵀX are integers, and so is all that is rounded
// only at the end.

const GUARD = 96n; // binary places of what is summed; the sums are whole numbers

/** E tr Wᵏ for k = 1 … count, as BigInt: the zonal sum, over the shapes (a, b, 1, …, 1) with c ones. */
export function traceMoments(n, d, count) {
  const [N, D] = [BigInt(n), BigInt(d)],
    factorials = [1n];
  for (let i = 1n; i <= 2 * count + 2; i++) factorials.push(factorials.at(-1) * i);
  const products = (from, term) => {
    const list = [1n];
    for (let i = from; i < from + count; i++) list.push(list.at(-1) * term(BigInt(i)));
    return list;
  };
  const first = products(0, (j) => (N + 2n * j) * (D + 2n * j) * (j ? 2n * j : 1n));
  const second = products(0, (j) => (N + 2n * j - 1n) * (D + 2n * j - 1n) * (2n * j - 1n));
  const below = products(2, (i) => -(N - i) * (D - i) * i);
  return Array.from({ length: count }, (_, at) => {
    const k = at + 1;
    let total = (first[k] << GUARD) / (BigInt(2 * k) * factorials[2 * k - 1]);
    for (let b = 1; 2 * b <= k; b++)
      for (let a = b; a <= k - b; a++) {
        const c = k - a - b,
          hooks = BigInt((2 * a + c) * (2 * a + c + 1) * (2 * b + c - 1) * (2 * b + c));
        const below_ =
          factorials[2 * a - 1] * factorials[2 * b - 2] * factorials[c] * factorials[c + 1] * hooks;
        total += ((first[a] * second[b] * below[c] * BigInt(2 * a - 2 * b + 1)) << GUARD) / below_;
      }
    return (BigInt(2 * k) * total + (1n << (GUARD - 1n))) >> GUARD;
  });
}

/** a / b of two BigInts, to the last digit of a float. */
function ratio(a, b) {
  if (b < 0n) [a, b] = [-a, -b];
  const size = (x) => x.toString(16).length * 4,
    shift = BigInt(Math.max(0, size(b) - size(a < 0n ? -a : a) + 70));
  return Number((a << shift) / b) / 2 ** Number(shift);
}

/**
 * The recursion of the orthogonal polynomials of ρ: { alpha, beta }, beta[0] = nd. Bareiss's elimination of
 * the Hankel matrix.
 */
export function jacobi(n, d, size) {
  const m = traceMoments(n, d, 2 * size),
    rows = Array.from({ length: size }, (_, i) =>
      Array.from({ length: size + 1 }, (__, j) => m[Math.min(i + j, 2 * size - 1)]),
    );
  const alpha = [],
    beta = [];
  let before = 1n,
    last = [0n, 1n]; // the minor before; the first entry beside the pivot, over the pivot
  for (let k = 0; k < size; k++) {
    const pivot = rows[k][k],
      beside = [rows[k][k + 1], pivot];
    alpha.push(ratio(beside[0] * last[1] - last[0] * beside[1], beside[1] * last[1]));
    beta.push(k ? ratio(pivot * (k > 1 ? rows[k - 2][k - 2] : 1n), before * before) : ratio(pivot, 1n));
    for (let i = k + 1; i < size; i++)
      for (let j = size; j >= k; j--) rows[i][j] = (rows[i][j] * pivot - rows[i][k] * rows[k][j]) / before;
    [before, last] = [pivot, beside];
  }
  return { alpha, beta };
}

/** L*_k: the Gauss rule of the ridge loss as a continued fraction. */
export function ladderLoss({ alpha, beta }, d, noise, k) {
  let gain = 0;
  for (let j = k - 1; j >= 0; j--) gain = beta[j] / (noise + alpha[j] - gain);
  return d + noise - gain;
}

/** The k Gauss nodes, ascending. */
export const gaussNodes = ({ alpha, beta }, k) =>
  gauss(alpha.slice(0, k), beta.slice(0, k))
    .map(([x]) => x)
    .sort((a, b) => a - b);

/** λ p*(λ), what k steps recover of w along an eigenvector of W; for ridge it is λ / (λ + σ²). */
export const recovered = (nodes, noise, x) =>
  (x / (x + noise || 1e-300)) *
  (1 - nodes.reduce((left, node) => left * (1 - (x + noise) / (node + noise)), 1));

/** The loss in the limit of large n and d: L ↦ σ² + d L / (n + L), k times. */
export function limitLoss(n, d, noise, k) {
  let loss = d + noise;
  for (let j = 0; j < k; j++) loss = noise + (d * loss) / (n + loss);
  return loss;
}

/** Eigenvalues of W of random prompts, at least `least` of them. */
export function eigenvalues(n, d, least, seed = 1) {
  const normal = normals(seed),
    found = [];
  while (found.length < least) {
    const X = Float64Array.from({ length: n * d }, normal);
    found.push(...eigh(product(X, X, d, n, d, true), d).values);
  }
  return found;
}
