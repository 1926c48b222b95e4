// Other people's set-ups: x = τ z with independent coordinates of variance one and fourth moment `fourth`, or
// on a sphere.

export const LAWS = {
  gaussian: { label: "normal, standard deviation b", variance: (size) => size ** 2, extra: () => 1 },
  uniform: { label: "uniform on (−b, b)", variance: (size) => size ** 2 / 3, extra: () => 9 / 5 - 2 },
  signs: { label: "±b, a coin for each", variance: (size) => size ** 2, extra: () => -1 },
  sphere: { label: "on a sphere, standard deviation b", variance: (size) => size ** 2, extra: () => -1 },
};

export const OUTPUTS = {
  loss: { mse: { label: "E(ŷ − y)²", factor: 1 }, half: { label: "½ E(ŷ − y)²", factor: 1 / 2 } },
  step: {
    sum: { label: "½ Σ (w·x − y)²", factor: () => 1 },
    mean: { label: "(1/2n) Σ (w·x − y)²", factor: (n) => n },
    full: { label: "Σ (w·x − y)²", factor: () => 1 / 2 },
    fullmean: { label: "(1/n) Σ (w·x − y)²", factor: (n) => n / 2 },
  },
};

/**
 * η* and L* of one plain step, w ~ N(0, ω I): 1/η* = τ² (n + d − 2 + E z⁴) + σ²/ω, L* = ω τ² d (1 − n τ² η*)
 * + σ².
 */
export function bestOf({ law, size, d, n, prior_variance: omega, noise_variance: noise }) {
  const tau = LAWS[law].variance(size),
    eta = 1 / (tau * (n + d + LAWS[law].extra()) + noise / omega);
  return { eta, loss: omega * tau * d * (1 - n * tau * eta) + noise };
}

const plain = { prior_variance: 1, noise_variance: 0, loss: "mse", step: "sum" };
export const PRESETS = {
  "von Oswald et al., code": {
    ...plain,
    law: "uniform",
    size: 0.5,
    d: 10,
    n: 10,
    loss: "half",
    step: "mean",
  },
  "von Oswald et al., text": { ...plain, law: "uniform", size: 1, d: 10, n: 10, step: "mean" },
  "Ahn et al.": { ...plain, law: "gaussian", size: 1, d: 5, n: 20, step: "mean" },
  "this book": { ...plain, law: "gaussian", size: 1, d: 5, n: 10, noise_variance: 0.25 },
};
