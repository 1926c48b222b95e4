// The landscape of H heads on an isotropic task: the least loss at a given angle between the values and the label.

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

/** The angles in (0, π/2] at which the curve has a local minimum above the best loss. */
export function trapAngles(task, count = 2000) {
  const best = leastLoss(0, task),
    f = (x) => atAngle(x, task),
    h = Math.PI / 2 / count,
    found = [];
  for (let i = 1; i <= count; i++) {
    const x = i * h,
      here = f(x);
    if (!(here < f(x - h) && (i === count || here <= f(x + h))) || here < best * (1 + 1e-9)) continue;
    let low = x - h,
      high = Math.min(x + h, Math.PI / 2);
    for (let k = 0; k < 60; k++) {
      const a = low + (high - low) / 3,
        b = high - (high - low) / 3;
      if (f(a) < f(b)) high = b;
      else low = a;
    }
    found.push((low + high) / 2);
  }
  return found;
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
