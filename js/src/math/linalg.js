// Small dense linear algebra in float64; a matrix is the rows of a Float64Array, one after the other.

export function identity(d) {
  const I = new Float64Array(d * d);
  for (let i = 0; i < d; i++) I[i * d + i] = 1;
  return I;
}

export function diagonal(values) {
  const d = values.length,
    D = new Float64Array(d * d);
  for (let i = 0; i < d; i++) D[i * d + i] = values[i];
  return D;
}

export function dot(u, v) {
  let sum = 0;
  for (let i = 0; i < u.length; i++) sum += u[i] * v[i];
  return sum;
}

/** A (p, q) times B (q, r); `ta`, `tb`: the transpose of what is stored. */
export function product(A, B, p, q, r, ta = false, tb = false, out = new Float64Array(p * r)) {
  for (let i = 0; i < p; i++)
    for (let j = 0; j < r; j++) {
      let sum = 0;
      for (let k = 0; k < q; k++)
        sum += (ta ? A[k * p + i] : A[i * q + k]) * (tb ? B[j * q + k] : B[k * r + j]);
      out[i * r + j] = sum;
    }
  return out;
}

/** Eigenvalues and eigenvectors (columns) of a symmetric matrix (d, d), by Jacobi's rotations. */
export function eigh(matrix, d) {
  const A = Float64Array.from(matrix),
    V = identity(d);
  for (let sweep = 0; sweep < 60; sweep++) {
    let off = 0,
      on = 0;
    for (let i = 0; i < d; i++)
      for (let j = 0; j < d; j++) {
        if (i === j) on += A[i * d + j] ** 2;
        else off += A[i * d + j] ** 2;
      }
    if (off <= 1e-36 * on) break;
    for (let p = 0; p < d; p++)
      for (let r = p + 1; r < d; r++) {
        const apr = A[p * d + r];
        if (apr === 0) continue;
        const theta = (A[r * d + r] - A[p * d + p]) / (2 * apr);
        const t = Math.sign(theta || 1) / (Math.abs(theta) + Math.hypot(theta, 1)),
          c = 1 / Math.hypot(t, 1),
          s = t * c;
        for (let k = 0; k < d; k++) {
          const x = A[k * d + p],
            y = A[k * d + r];
          A[k * d + p] = c * x - s * y;
          A[k * d + r] = s * x + c * y;
        }
        for (let k = 0; k < d; k++) {
          const x = A[p * d + k],
            y = A[r * d + k],
            v = V[k * d + p],
            w = V[k * d + r];
          A[p * d + k] = c * x - s * y;
          A[r * d + k] = s * x + c * y;
          V[k * d + p] = c * v - s * w;
          V[k * d + r] = s * v + c * w;
        }
      }
  }
  return { values: Float64Array.from({ length: d }, (_, i) => A[i * d + i]), vectors: V };
}

/** f of a symmetric matrix, by its eigenvalues: matrixFunction(A, d, Math.sqrt) is its root. */
export function matrixFunction(matrix, d, f) {
  const { values, vectors } = eigh(matrix, d);
  return product(
    product(vectors, diagonal(values.map((x) => f(Math.max(x, 0)))), d, d, d),
    vectors,
    d,
    d,
    d,
    false,
    true,
  );
}

/**
 * X with A X = B, A (d, d) and B (d, k), by elimination with pivots; null if A is singular to working
 * precision.
 */
export function solve(A, B, d, k) {
  const L = Float64Array.from(A),
    X = Float64Array.from(B),
    size = L.reduce((most, x) => Math.max(most, Math.abs(x)), 0);
  for (let c = 0; c < d; c++) {
    let best = c;
    for (let r = c + 1; r < d; r++) if (Math.abs(L[r * d + c]) > Math.abs(L[best * d + c])) best = r;
    if (!(Math.abs(L[best * d + c]) > 1e-9 * size)) return null;
    for (let j = 0; j < d; j++) [L[c * d + j], L[best * d + j]] = [L[best * d + j], L[c * d + j]];
    for (let j = 0; j < k; j++) [X[c * k + j], X[best * k + j]] = [X[best * k + j], X[c * k + j]];
    for (let r = 0; r < d; r++)
      if (r !== c) {
        const f = L[r * d + c] / L[c * d + c];
        for (let j = c; j < d; j++) L[r * d + j] -= f * L[c * d + j];
        for (let j = 0; j < k; j++) X[r * k + j] -= f * X[c * k + j];
      }
  }
  for (let c = 0; c < d; c++) for (let j = 0; j < k; j++) X[c * k + j] /= L[c * d + c];
  return X;
}

/** Uniform numbers in [0, 1) from a seed (mulberry32). */
export function uniforms(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

/** Normal numbers from a seed (Box and Muller). */
export function normals(seed) {
  const uniform = uniforms(seed);
  let spare = null;
  return () => {
    if (spare !== null) {
      const x = spare;
      spare = null;
      return x;
    }
    const r = Math.sqrt(-2 * Math.log(1 - uniform())),
      phase = 2 * Math.PI * uniform();
    spare = r * Math.sin(phase);
    return r * Math.cos(phase);
  };
}
