import { normals, uniforms } from "./linalg.js";
import { gaussLegendre } from "./quadrature.js";
import { clamp } from "./scalar.js";

// Averages over symmetry groups. A model predicts ⟨T, Φ⟩, Φ = (features of the prompt) ⊗ (features of the
// query); an element (g, s) of a group sends x to g x and y to s y. T becomes χ R(g)ᵀ T, and the average over
// the group is what symmetry leaves.

/** Monomials of degree k in `size` letters, as sorted lists of letters: [[0, 0], [0, 1], …]. */
export function monomials(size, k) {
  if (k === 0) return [[]];
  return monomials(size, k - 1).flatMap((head) =>
    Array.from({ length: size - (head.at(-1) ?? 0) }, (_, i) => [...head, (head.at(-1) ?? 0) + i]),
  );
}

/** In how many orders can the letters of a monomial be written? */
const orders = (letters) => {
  let count = 1;
  const seen = {};
  letters.forEach((letter, i) => {
    seen[letter] = (seen[letter] ?? 0) + 1;
    count *= (i + 1) / seen[letter];
  });
  return Math.round(count);
};

/**
 * The matrix of g on monomials φ of degree k, each times √orders, so that it is orthogonal with g: φ(gx) =
 * ρ(g) φ(x).
 */
export function power(g, k) {
  const size = g.length,
    list = monomials(size, k),
    place = Object.fromEntries(list.map((letters, i) => [letters.join(), i]));
  const tuples = Array.from({ length: size ** k }, (_, t) =>
    Array.from({ length: k }, (__, i) => Math.floor(t / size ** i) % size),
  );
  const at = tuples.map((tuple) => place[[...tuple].sort((a, b) => a - b).join()]);
  return list.map((letters) => {
    const row = new Array(list.length).fill(0);
    tuples.forEach((tuple, t) => {
      row[at[t]] += tuple.reduce((product, j, i) => product * g[letters[i]][j], 1);
    });
    return row.map((value, j) => value * Math.sqrt(orders(letters) / orders(list[j])));
  });
}

/**
 * linear: all of a ⊗ M, on pairs of (x, y) and x_q. quadratic, cubic: Σ y_i T[x_i^k, x_q^k]; there y → −y
 * changes nothing.
 */
export const MODELS = {
  linear: {
    rows: (d) => monomials(d + 1, 2),
    columns: (d) => monomials(d, 1),
    act: ({ g, s }) => [power([...g.map((row) => [...row, 0]), [...g.map(() => 0), s]], 2), g, s],
  },
  quadratic: {
    rows: (d) => monomials(d, 2),
    columns: (d) => monomials(d, 2),
    act: ({ g }) => {
      const R = power(g, 2);
      return [R, R, 1];
    },
  },
  cubic: {
    rows: (d) => monomials(d, 3),
    columns: (d) => monomials(d, 3),
    act: ({ g }) => {
      const R = power(g, 3);
      return [R, R, 1];
    },
  },
};

const eye = (d) => Array.from({ length: d }, (_, i) => Array.from({ length: d }, (__, j) => +(i === j)));
const times = (A, B) => A.map((row) => B[0].map((_, j) => row.reduce((sum, x, k) => sum + x * B[k][j], 0)));
const turn = (d, i, j, angle) => {
  const g = eye(d);
  g[i][i] = g[j][j] = Math.cos(angle);
  g[i][j] = -Math.sin(angle);
  g[j][i] = Math.sin(angle);
  return g;
};
const mirrored = (g) => g.map((row, i) => (i ? row : row.map((x) => -x)));

function permutations(d) {
  if (d === 0) return [[]];
  return permutations(d - 1).flatMap((rest) =>
    Array.from({ length: d }, (_, i) => [...rest.slice(0, i), d - 1, ...rest.slice(i)]),
  );
}

/**
 * The elements { g, s, w } of a group, w their weights; O(d) by a rule that is exact up to degree 7 in the
 * entries of g.
 */
export function elements(group, d) {
  if (group === "none") return [{ g: eye(d), s: 1, w: 1 }];
  if (group === "flip") return [1, -1].map((s) => ({ g: eye(d), s, w: 1 }));
  if (group === "signed")
    return permutations(d).flatMap((p) =>
      Array.from({ length: 2 ** d }, (_, signs) => ({
        g: p.map((to, i) => p.map((__, j) => (j === to ? 1 - 2 * ((signs >> i) & 1) : 0))),
        s: 1,
        w: 1,
      })),
    );
  const circle = Array.from({ length: 8 }, (_, i) => (Math.PI * i) / 4);
  const rotations =
    d === 2
      ? circle.map((angle) => ({ g: turn(2, 0, 1, angle), w: 1 }))
      : circle.flatMap((a) =>
          gaussLegendre(4).flatMap(([z, w]) =>
            circle.map((c) => ({
              g: times(times(turn(3, 0, 1, a), turn(3, 0, 2, Math.acos(z))), turn(3, 0, 1, c)),
              w,
            })),
          ),
        );
  return rotations.flatMap(({ g, w }) => [
    { g, s: 1, w },
    { g: mirrored(g), s: 1, w },
  ]);
}

/** For every element χ, its two matrices and its weight, in an order that looks random. */
export function action(model, group, d) {
  const uniform = uniforms(5);
  return elements(group, d)
    .map((element) => ({ element, at: uniform() }))
    .sort((a, b) => a.at - b.at)
    .map(({ element }) => {
      const [R, Q, chi] = MODELS[model].act(element);
      return { R, Q, chi, w: element.w };
    });
}

/** The mean of χ Rᵀ T Q over the first `count` elements. */
export function average(T, acting, count = acting.length) {
  const total = T.map((row) => row.map(() => 0));
  let weight = 0;
  for (const { R, Q, chi, w } of acting.slice(0, count)) {
    const TQ = times(T, Q);
    weight += w;
    for (let i = 0; i < R.length; i++)
      for (let k = 0; k < R.length; k++)
        if (R[k][i]) for (let j = 0; j < Q.length; j++) total[i][j] += w * chi * R[k][i] * TQ[k][j];
  }
  return total.map((row) => row.map((x) => x / weight));
}

/** How many numbers are left: the mean of χ tr R tr Q. */
export function dimension(acting) {
  const trace = (A) => A.reduce((sum, row, i) => sum + row[i], 0);
  let sum = 0,
    weight = 0;
  for (const { R, Q, chi, w } of acting) {
    sum += w * chi * trace(R) * trace(Q);
    weight += w;
  }
  return sum / weight;
}

export function randomTensor(model, d, seed) {
  const normal = normals(seed),
    { rows, columns } = MODELS[model];
  return rows(d).map(() => columns(d).map(() => clamp(normal(), -2, 2)));
}
