import { lowest } from "./scalar.js";

// The landscape of H heads on an isotropic task: the least loss at a given angle between the values and the
// label.

/** V(t), t = tan² of the angle; for H ≥ d + 1 heads every angle is as good as the best. */
export function leastLoss(t, { d, n, noise, heads = 1 }) {
  const H = heads,
    q = d + noise,
    D = n + d + 1 + noise,
    square = q * q + 2 * d,
    c = H - 1;
  if (H > d) return q - (n * d) / D;
  const cross = n * q + 2,
    A = (n + 2) * (n * c + 2) * square - c * cross ** 2,
    C = 2 * (n * H + 2),
    delta = 2 * ((n + 2) * (n * H + 2) * square - H * cross ** 2);
  if (t > 1e9) return q - (n * H) / D;
  const F = A - 4 * cross * t + C * t * t;
  return q - n * (c / D + (d - H) / (D + t) + F / (t * delta + D * F));
}

export const atAngle = (angle, task) => leastLoss(angle > 1.570796 ? Infinity : Math.tan(angle) ** 2, task);

/**
 * The angles at which the curve turns, from the label's axis on: top, trap, top, trap …; it starts at the
 * optimum.
 */
function turns(task, count = 4000) {
  const height = (angle) => atAngle(angle, task),
    at = (i) => (Math.PI / 2) * Math.sqrt(i / count), // finer where tan² is steep
    heights = Array.from({ length: count + 1 }, (_, i) => height(at(i))),
    found = [];
  for (let i = 1; i < count; i++) {
    const rise = heights[i] - heights[i - 1];
    if (rise * (heights[i + 1] - heights[i]) < 0)
      found.push(lowest((angle) => (rise > 0 ? -1 : 1) * height(angle), at(i - 1), at(i + 1)));
  }
  return found.length % 2 ? [...found, Math.PI / 2] : found;
}

/** The first barrier of the curve and the minimum behind it: { top, trap }, or null. */
export function barrier(task) {
  const [top, trap] = turns(task);
  return top === undefined ? null : { top, trap };
}

/** The angles in (0, π/2] at which the curve has a local minimum above the best loss. */
export function trapAngles(task) {
  const high = leastLoss(0, task) * (1 + 1e-9);
  return turns(task).filter((angle, k) => k % 2 === 1 && atAngle(angle, task) > high);
}

/** The angle between the span of `heads` rows a (d+1 numbers each) and the last axis. */
export function angleOf(a, heads, size) {
  const basis = [];
  let reach = 0;
  for (let h = 0; h < heads; h++) {
    const row = Float64Array.from(a.subarray(h * size, (h + 1) * size)),
      long = Math.hypot(...row);
    for (const unit of basis) {
      const along = row.reduce((sum, x, i) => sum + x * unit[i], 0);
      unit.forEach((x, i) => {
        row[i] -= along * x;
      });
    }
    const rest = Math.hypot(...row);
    if (rest < 1e-9 * long || rest === 0) continue;
    const unit = row.map((x) => x / rest);
    basis.push(unit);
    reach += unit[size - 1] ** 2;
  }
  return Math.acos(Math.sqrt(Math.min(reach, 1)));
}
