import { gram, layerWeights, ridgeWeights, stepWeights, trainedLayer } from "./context.js";
import { dot, normals } from "./linalg.js";
import { clamp } from "./scalar.js";

// A prompt that is moved by hand, and a frozen layer that looks at it: trained for `trained_n` examples
// with the noise `trained_noise`, whatever the prompt holds by now.

export const MOST = 20; // examples that are kept ready; the first n of them are shown

/** The prompts to begin with, in one dimension and in two. */
export const START = {
  1: {
    first: [-1.8, -1.1, -0.6, -0.2, 0.4, 0.9, 1.3, 1.7].map((x) => [x]),
    errors: [0.1, -1.2, 1.4, -0.7, 1.2, -1, 1.4, -0.4],
    truth: [0.9],
    query: [2.3],
  },
  2: {
    first: [
      [1.6, 0.5],
      [0.4, 1.5],
      [-1.3, 0.8],
      [-0.9, -1.2],
      [0.8, -1.5],
      [2.0, -0.6],
      [-0.3, 0.9],
      [-1.7, -0.4],
    ],
    errors: [0.5, -1, 0.3, 0.9, -0.4, -0.7, 0.8, -0.2],
    truth: [1.1, 0.7],
    query: [1.0, 1.2],
  },
};

const draw = (normal, d) => Array.from({ length: d }, () => clamp(normal(), -2.6, 2.6));

/** As many examples as can be shown, their label errors in units of σ, the true w. */
export function drawPrompt(d, seed) {
  const normal = normals(seed);
  return {
    truth: draw(normal, d).map((w) => clamp(w, -1.6, 1.6)),
    places: Array.from({ length: MOST }, () => draw(normal, d)),
    errors: Array.from({ length: MOST }, () => draw(normal, 1)[0]),
  };
}

/** The first n examples: inputs and labels. */
export function examples({ n, noise_variance: noise, places, errors, truth }) {
  const xs = places.slice(0, n);
  return { xs, ys: xs.map((x, k) => dot(x, truth) + Math.sqrt(noise) * (errors[k] ?? 0)) };
}

/** η* of a layer trained for n examples. */
export const stepFor = (d, n, noise) => trainedLayer(d, n, noise).step;

/**
 * The weights that layer, step and ridge make of the examples; the layer's own step; and how many times too
 * large its answers are for prompts such as this one.
 */
export function answers(state) {
  const { d, n, noise_variance: noise, eta, trained_n, trained_noise } = state,
    { xs, ys } = examples(state),
    { a, M, step } = trainedLayer(d, trained_n, trained_noise);
  return {
    xs,
    ys,
    step,
    factor: step / stepFor(d, n, noise),
    layer: layerWeights(gram(xs, ys), a, M),
    gd: stepWeights(xs, ys, eta),
    bayes: ridgeWeights(xs, ys, noise),
  };
}
