import { normals, uniforms } from "./linalg.js";

// Laws of nonlinear targets for x ~ N(0, I), the same as those of lsa/ridge_functions.py and lsa/targets.py:
// moments(d) has c = E|m_f|², s = E f²|x|², power = E f², fourth = E f⁴ and square = E_f (E_x f²)²;
// draw(d, seed) is one function x -> f(x).

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

/** E h(angle) for the angle between two random directions in R^d. */
export function overAngle(d, h) {
  if (d === 1) return (h(0) + h(Math.PI)) / 2;
  let sum = 0,
    total = 0;
  for (const [x, weight] of gaussLegendre(64)) {
    const angle = (Math.PI / 2) * (1 + x),
      w = weight * Math.sin(angle) ** (d - 2);
    sum += w * h(angle);
    total += w;
  }
  return sum / total;
}

const direction = (d, normal, radius) => {
  const b = Array.from({ length: d }, normal),
    length = radius === undefined ? 1 : Math.hypot(...b) / radius;
  return b.map((x) => x / length);
};
const along = (b, x) => b.reduce((sum, bi, i) => sum + bi * x[i], 0);

/** g(b·x), |b| = 1, from E u g, E g², E u² g² and E g⁴, u ~ N(0, 1). */
const single = (g, first, power, second, fourth) => ({
  moments: (d) => ({ c: first ** 2, s: (d - 1) * power + second, power, fourth, square: power ** 2 }),
  draw: (d, seed) => {
    const b = direction(d, normals(seed), 1);
    return (x) => g(along(b, x));
  },
});

const WIDTH = 3;
const relu = {
  moments: (d) => {
    const m = WIDTH,
      power = d / 2,
      lengths = d * (d + 2);
    const K = (t) => (Math.cos(t) + (2 / Math.PI) * (Math.sin(t) + (Math.PI / 2 - t) * Math.cos(t))) / 4;
    const same = lengths / 4,
      different = d * d * overAngle(d, (t) => K(t) ** 2);
    return {
      c: d / 4,
      s: ((d - 1) * d) / 2 + (3 * d) / 2,
      power,
      fourth: (3 * ((m * 3 * lengths) / 2 + m * (m - 1) * same)) / m ** 2,
      square: (3 * m * same + m * (m - 1) * (power ** 2 + 2 * different)) / m ** 2,
    };
  },
  draw: (d, seed) => {
    const normal = normals(seed),
      units = Array.from({ length: WIDTH }, () => [normal() / Math.sqrt(WIDTH), direction(d, normal)]);
    return (x) => units.reduce((sum, [a, b]) => sum + a * Math.max(along(b, x), 0), 0);
  },
};

const cosine = {
  moments: (d) => ({
    c: (d / 2) * 3 ** (-d / 2 - 1),
    s: d / 2,
    power: 1 / 2,
    fourth: 3 / 8,
    square: 1 / 4 + 9 ** (-d / 2) / 8,
  }),
  draw: (d, seed) => {
    const b = direction(d, normals(seed)),
      phase = 2 * Math.PI * uniforms(seed + 1)();
    return (x) => Math.cos(along(b, x) + phase);
  },
};

export const FAMILIES = {
  relu,
  cosine,
  sign: single(Math.sign, Math.sqrt(2 / Math.PI), 1, 1, 1),
  cubic: single((u) => u ** 3, 3, 15, 105, 10395),
  hermite3: single((u) => u ** 3 - 3 * u, 0, 6, 42, 3348),
  absolute: single(Math.abs, 0, 1, 3, 3),
};
