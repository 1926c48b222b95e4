// One step on isotropic prompts: what any step loses, at any length, and what layers that sum or average make
// of it.

/** E (η x_qᵀXᵀy − y_q)² with n examples, Σ = Λ = I. */
export const stepLoss = (eta, n, d, noise) =>
  d + noise - 2 * eta * n * d + eta * eta * n * d * (n + d + 1 + noise);

/**
 * Layers trained on n examples: the weight that each gives to X'y when it sees `seen` examples, `copies`
 * times each.
 */
export function weightsAt({ n, d, noise, copies = 1 }, seen) {
  const nulls = d + 1 + noise,
    tokens = copies * seen,
    trained = 1 / (n + nulls);
  return { sum: copies * trained, mean: (copies * n * trained) / tokens, nulls: copies / (tokens + nulls) };
}

/** Lengths at which the sum is best, and at which it is of no use again. */
export function landmarks({ n, d, noise, copies = 1 }) {
  const nulls = d + 1 + noise,
    useless = (2 * (n + nulls)) / copies - nulls;
  return { best: useless / 2, useless };
}
