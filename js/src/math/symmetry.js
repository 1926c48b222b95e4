import { normals } from "./linalg.js";

// Images of a prompt in the plane under turns, flips (every x to −x) and mirrors, and the means of r_l G_jk
// over them. A tensor is two rows (l), of the six entries x1x1, x1x2, x2x2, x1y, x2y, yy of G.

const NOISE = 0.1;

export const actOn = (degrees, /** @type {number[]} */ [x, y]) => {
  const t = (degrees * Math.PI) / 180,
    c = Math.cos(t),
    s = Math.sin(t);
  return [c * x - s * y, s * x + c * y];
};

/** Labels w·x, and r = w − η* Xᵀy with the step of Theorem 1. */
export function promptOf(points, w, noise = points.map(() => 0)) {
  const ys = points.map(([x, y], i) => w[0] * x + w[1] * y + noise[i]),
    eta = 1 / (points.length + 3 + NOISE);
  return { ys, eta, r: w.map((each, l) => each - eta * points.reduce((sum, x, i) => sum + x[l] * ys[i], 0)) };
}

function tensor(points, w, noise) {
  const { ys, r } = promptOf(points, w, noise),
    G = [0, 0, 0, 0, 0, 0];
  points.forEach(([a, b], i) => {
    [a * a, a * b, b * b, a * ys[i], b * ys[i], ys[i] ** 2].forEach((x, k) => {
      G[k] += x;
    });
  });
  return r.map((each) => G.map((x) => each * x));
}

/** sum += weight T */
function add(sum, T, weight) {
  for (let l = 0; l < 2; l++) for (let j = 0; j < 6; j++) sum[l][j] += weight * T[l][j];
}

/** The mean of r G over prompts: the given one, or as many random ones with as many examples. */
export function meanTensor(prompts, points, w) {
  if (prompts === 1) return tensor(points, w);
  const normal = normals(5),
    sum = [new Array(6).fill(0), new Array(6).fill(0)];
  for (let k = 0; k < prompts; k++) {
    const own = tensor(
      points.map(() => [normal(), normal()]),
      [normal(), normal()],
      points.map(() => Math.sqrt(NOISE) * normal()),
    );
    add(sum, own, 1 / prompts);
  }
  return sum;
}

/**
 * The tensor of the image of a prompt under the matrix Q: r → Q r, x → Q x, y as it is.
 * @param {number[][]} T
 * @param {number[][]} Q
 */
export function image(T, [[a, b], [c, d]]) {
  const G = ([p, q, s, u, v, e]) => [
    a * a * p + 2 * a * b * q + b * b * s,
    a * c * p + (a * d + b * c) * q + b * d * s,
    c * c * p + 2 * c * d * q + d * d * s,
    a * u + b * v,
    c * u + d * v,
    e,
  ];
  const [one, two] = T.map(G);
  return [one.map((x, j) => a * x + b * two[j]), one.map((x, j) => c * x + d * two[j])];
}

/** The mean over turns from 0 to `degrees`, with flips and mirrors if `images` says so. */
export function meanOverImages(T, degrees, images) {
  const steps = degrees === 0 ? 1 : 180,
    sum = [new Array(6).fill(0), new Array(6).fill(0)];
  for (let k = 0; k < steps; k++) {
    const t = ((degrees * Math.PI) / 180) * (steps === 1 ? 0 : (k + 0.5) / steps),
      [c, s] = [Math.cos(t), Math.sin(t)];
    const maps = [
      [
        [c, -s],
        [s, c],
      ],
    ];
    if (images === "mirror")
      maps.push([
        [c, s],
        [s, -c],
      ]);
    if (images !== "turn") maps.push(...maps.map((Q) => Q.map((row) => row.map((x) => -x))));
    for (const Q of maps) add(sum, image(T, Q), 1 / (steps * maps.length));
  }
  return sum;
}
