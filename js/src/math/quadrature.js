import { eigh } from "./linalg.js";

// The loss of one step under other losses than the square: Gauss rules for the four numbers that decide its
// error.

/**
 * Gauss rule of a weight with the recurrence (a, b): the eigenvalues of its Jacobi matrix (Golub and Welsch).
 */
export function gauss(a, b) {
  const size = a.length,
    J = new Float64Array(size * size);
  for (let i = 0; i < size; i++) {
    J[i * size + i] = a[i];
    if (i) J[i * size + i - 1] = J[(i - 1) * size + i] = Math.sqrt(b[i]);
  }
  const { values, vectors } = eigh(J, size);
  return Array.from(values, (x, j) => [x, vectors[j] ** 2]);
}

/** Nodes and weights of Gauss' rule on [-1, 1], by Newton's method on Legendre's polynomial. */
export function gaussLegendre(count) {
  return Array.from({ length: count }, (_, k) => {
    let x = Math.cos((Math.PI * (k + 0.75)) / (count + 0.5)),
      slope = 1;
    for (let turn = 0; turn < 20; turn++) {
      let [before, value] = [1, x];
      for (let j = 2; j <= count; j++)
        [before, value] = [value, ((2 * j - 1) * x * value - (j - 1) * before) / j];
      slope = (count * (x * value - before)) / (x * x - 1);
      x -= value / slope;
    }
    return [x, 2 / ((1 - x * x) * slope * slope)];
  });
}

export const normalRule = (count) =>
  gauss(
    new Array(count).fill(0),
    Array.from({ length: count }, (_, i) => i),
  );
/** χ² with k degrees of freedom. */
export const chiSquareRule = (k, count) =>
  k === 0
    ? [[0, 1]]
    : gauss(
        Array.from({ length: count }, (_, i) => 4 * i + k),
        Array.from({ length: count }, (_, i) => 4 * i * (i + k / 2 - 1)),
      );

/** Numbers weight, r0, r1, r2, weight, …: the error of the step η is N(0, ρ²), ρ² = r0 − 2η r1 + η² r2. */
export function radius(d, n, noise, [a, b, c, e] = [12, 20, 10, 8]) {
  const nodes = [],
    normal = normalRule(e),
    across = chiSquareRule(d - 1, c);
  for (const [square, p] of chiSquareRule(d, a))
    for (const [xi, q] of chiSquareRule(n, b))
      for (const [zeta, r] of normal) {
        const w = Math.sqrt(square),
          along = w * xi + Math.sqrt(noise * xi) * zeta;
        for (const [k, s] of across)
          nodes.push(p * q * r * s, square + noise, along * w, along * along + (square + noise) * xi * k);
      }
  return Float64Array.from(nodes);
}

/** The error function, to 1e-15: its series, or the continued fraction of its tail (Lentz). */
export function erf(x) {
  if (x < 0) return -erf(-x);
  if (x < 2.5) {
    let term = x,
      sum = x;
    for (let k = 1; Math.abs(term) > 1e-17 * sum; k++) {
      term *= (-x * x) / k;
      sum += term / (2 * k + 1);
    }
    return (2 / Math.sqrt(Math.PI)) * sum;
  }
  if (x > 6) return 1;
  let fraction = x;
  for (let k = 60; k > 0; k--) fraction = x + k / 2 / fraction;
  return 1 - Math.exp(-x * x) / Math.sqrt(Math.PI) / fraction;
}

const half = 1 / Math.sqrt(2 * Math.PI); // E max(ζ, 0) of a standard normal ζ

/** Losses ℓ(e) and their means for e ~ N(0, ρ²), as functions of ρ². */
export const LOSSES = {
  squared: { of: (e) => e * e, mean: (square) => square },
  absolute: { of: Math.abs, mean: (square) => 2 * half * Math.sqrt(square) },
  pinball: {
    of: (e, { level }) => Math.max(level * e, (level - 1) * e),
    mean: (square, { level }) => (level * half + (1 - level) * half) * Math.sqrt(square),
  },
  Huber: {
    of: (e, { delta }) => (Math.abs(e) < delta ? (e * e) / 2 : delta * (Math.abs(e) - delta / 2)),
    mean: (square, { delta }) => {
      const rho = Math.sqrt(square),
        t = delta / rho,
        density = half * Math.exp((-t * t) / 2),
        tail = 0.5 - 0.5 * erf(t / Math.SQRT2);
      return square * (0.5 - tail - t * density) + 2 * delta * (rho * density - (delta / 2) * tail);
    },
  },
  fourth: { of: (e) => e ** 4, mean: (square) => 3 * square * square },
};

/** E ℓ of the step η. */
export function meanLoss(nodes, name, eta, given) {
  const { mean } = LOSSES[name];
  let sum = 0;
  for (let i = 0; i < nodes.length; i += 4)
    sum += nodes[i] * mean(nodes[i + 1] + eta * (eta * nodes[i + 3] - 2 * nodes[i + 2]), given);
  return sum;
}
