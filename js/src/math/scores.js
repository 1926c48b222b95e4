// The exact loss of softmax heads whose scores are β x·x_q, from a table of moments of the scores
// (lsa.softmax.score_moments) at t = exp(k/10). What is left is an integral over r = |x_q|: in log r the sum
// over every other k is exact to ten digits.

/**
 * One row of the table at t = exp(k/10): three moments of one head and three of the pair. Beyond its ends:
 * their limits.
 */
function moments({ from, rows }, n, k) {
  const row = rows[Math.min(k - from, rows.length - 1)];
  if (k >= from) return row;
  const t = Math.exp(k / 10),
    left = 1 - 1 / n;
  return [t * left, 1 / n, 1 / n, 2 * t * left, 4 * t * t * left * (1 + 1 / n), (4 * t * t * left) / n];
}

/** Loss and best γ at β = exp(k/10): [one head, the pair], each { loss, gain }. */
export function softmaxLosses(table, d, n, noise, k) {
  const sums = [0, 0, 0, 0],
    weights = [];
  let mass = 0;
  for (let j = -340; j <= 10 * Math.log(Math.sqrt(d) + 9); j += 2) {
    const x = j / 10,
      weight = Math.exp(d * x - Math.exp(2 * x) / 2);
    if (weight > 1e-18) {
      weights.push([j, weight]);
      mass += weight;
    }
  }
  for (const [j, weight] of weights) {
    const r = Math.exp(j / 10),
      found = moments(table, n, k + j),
      w = weight / mass;
    for (const pair of [0, 1]) {
      sums[2 * pair] += w * r * found[3 * pair];
      sums[2 * pair + 1] += w * (found[3 * pair + 1] + (d - 1 + noise) * found[3 * pair + 2]);
    }
  }
  return [0, 2].map((i) => ({ loss: d + noise - sums[i] ** 2 / sums[i + 1], gain: sums[i] / sums[i + 1] }));
}

/** The least loss of all attention that sees scores alone: σ² + d E[b/(χ²_n + b)], b = d − 1 + σ². */
export function scoreFloor(d, n, noise) {
  const b = d - 1 + noise;
  if (b === 0) return 0;
  let mean = 0;
  for (let x = -4; x < 5; x += 0.05) {
    const t = Math.exp(x - Math.exp(-x));
    mean += 0.05 * Math.exp(-t) * (1 + (2 * t) / b) ** (-n / 2) * t * (1 + Math.exp(-x));
  }
  return noise + d * mean;
}
