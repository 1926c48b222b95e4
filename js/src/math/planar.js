import { FAMILIES, RIDGES } from "./families.js";
import { dot, normals, uniforms } from "./linalg.js";

// Functions of the plane, x ~ N(0, I): one f of a family, turned to an angle, and its linear part m_f =
// E[f(x) x].

const times = (b, k) => [k * b[0], k * b[1]];
const LINEAR = { moments: (d) => ({ c: d, s: d * (d + 2), power: d }) };

/** c = E|m_f|², s = E f²|x|² and power = E f² of a family in the plane. */
export const planarMoments = (family) => (FAMILIES[family] ?? LINEAR).moments(2);

/** The function number `seed` of a family, its direction b at an angle (radians): { f, m, b }. */
export function planar(family, angle, seed) {
  const b = [Math.cos(angle), Math.sin(angle)],
    normal = normals(seed);
  if (RIDGES[family]) {
    const { g, slope } = RIDGES[family];
    return { b, f: (x) => g(dot(b, x)), m: times(b, slope) };
  }
  const length = Math.hypot(normal(), normal());
  if (family === "linear") return { b, f: (x) => length * dot(b, x), m: times(b, length) };
  if (family === "cosine") {
    const phase = 2 * Math.PI * uniforms(seed + 1)();
    return {
      b,
      f: (x) => Math.cos(length * dot(b, x) + phase),
      m: times(b, -length * Math.exp(-(length ** 2) / 2) * Math.sin(phase)),
    };
  }
  // three ReLUs, E[max(b·x, 0) x] = b/2; turned so that the sum of their parts lies along b
  const units = Array.from({ length: 3 }, () => ({ a: normal() / Math.sqrt(3), v: [normal(), normal()] }));
  const part = [0, 1].map((i) => units.reduce((sum, { a, v }) => sum + (a * v[i]) / 2, 0)),
    turn = angle - Math.atan2(part[1], part[0]);
  const [c, s] = [Math.cos(turn), Math.sin(turn)],
    turned = units.map(({ a, v: [x, y] }) => ({ a, v: [c * x - s * y, s * x + c * y] }));
  return {
    b,
    f: (x) => turned.reduce((sum, { a, v }) => sum + a * Math.max(dot(v, x), 0), 0),
    m: times(b, Math.hypot(...part)),
  };
}

/**
 * L(η) of one step on n examples, η* and L(η*), from the moments of a family with the label noise counted in.
 */
export function stepLoss({ c, s, power }, d, n, noise) {
  const whole = s + noise * d,
    bend = whole + (n - 1) * c,
    best = c / bend,
    loss = (eta) => power + noise - 2 * n * eta * c + n * eta ** 2 * bend;
  return { s: whole, best, loss };
}
