import { dot, normals, uniforms } from "./linalg.js";
import { gaussLegendre } from "./quadrature.js";

// Laws of nonlinear targets for x ~ N(0, I), the same as those of lsa/ridge_functions.py and lsa/targets.py:
// moments(d) has c = E|m_f|², s = E f²|x|², power = E f², fourth = E f⁴ and square = E_f (E_x f²)²;
// draw(d, seed) is one function x -> f(x).

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
/** g(b·x), |b| = 1: g, E u g, E g², E u² g² and E g⁴, u ~ N(0, 1). */
export const RIDGES = {
  sign: { g: Math.sign, slope: Math.sqrt(2 / Math.PI), power: 1, second: 1, fourth: 1 },
  cubic: { g: (u) => u ** 3, slope: 3, power: 15, second: 105, fourth: 10395 },
  hermite3: { g: (u) => u ** 3 - 3 * u, slope: 0, power: 6, second: 42, fourth: 3348 },
  absolute: { g: Math.abs, slope: 0, power: 1, second: 3, fourth: 3 },
};

const ridge = ({ g, slope, power, second, fourth }) => ({
  moments: (d) => ({ c: slope ** 2, s: (d - 1) * power + second, power, fourth, square: power ** 2 }),
  draw: (d, seed) => {
    const b = direction(d, normals(seed), 1);
    return (x) => g(dot(b, x));
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
      units = Array.from({ length: WIDTH }, () => ({
        a: normal() / Math.sqrt(WIDTH),
        b: direction(d, normal),
      }));
    return (x) => units.reduce((sum, { a, b }) => sum + a * Math.max(dot(b, x), 0), 0);
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
    return (x) => Math.cos(dot(b, x) + phase);
  },
};

export const FAMILIES = {
  relu,
  cosine,
  ...Object.fromEntries(Object.entries(RIDGES).map(([name, law]) => [name, ridge(law)])),
};
