import { button, choice, slider } from "../kit/controls.js";
import { short } from "../kit/dom.js";
import { by, Figure } from "../kit/figure.js";
import { area, arrow, contours, dots, ellipsePoints, handle, line, text } from "../kit/marks.js";
import { normals, product } from "../math/linalg.js";
import { clamp } from "../math/scalar.js";
import { covariance, makeTask } from "../math/task.js";

// Data and preconditioner as ellipses, and what they do to a step: w is dragged, the bottom of a valley; the
// arrows are the mean steps of all prompts with this w, the dots those of single prompts.

const PROMPTS = 60,
  square = (A) => [
    [A[0], A[1]],
    [A[2], A[3]],
  ],
  act = (A, /** @type {number[]} */ [x, y]) => [A[0] * x + A[1] * y, A[2] * x + A[3] * y];
const times = (A, k) => A.map((x) => x * k),
  mul = (A, B) => product(A, B, 2, 2, 2),
  trace = (A) => A[0] + A[3];
const angle = (u, v) =>
  (Math.acos(clamp((u[0] * v[0] + u[1] * v[1]) / (Math.hypot(...u) * Math.hypot(...v)), -1, 1)) * 180) /
  Math.PI;

/** @param {import("../kit/figure.js").Given} given */
export function render(given) {
  const fig = new Figure(given, {
    condition: 8,
    degrees: 30,
    n: 10,
    noise_variance: 0.25,
    prior: "matched",
    w: [1.5, 1.6],
  });
  fig.linked({ w: [-2.8, 2.8] });
  const normal = normals(3),
    cloud = Array.from({ length: 90 }, () => [normal(), normal()]);
  let seed = 11;
  fig.row("17rem");
  const left = fig.plot({
    title: "Data and preconditioner",
    note: "inputs x; the layer's P*, drawn to the area of Σ⁻¹",
    equal: true,
    x: [-3.3, 3.3],
    y: [-3.3, 3.3],
    xTicks: 5,
  });
  const right = fig.plot({
    title: "One step, in the plane of w",
    note: "drag the true w; dots: single prompts",
    equal: true,
    x: [-3.3, 3.3],
    y: [-3.3, 3.3],
    xTicks: 5,
  });
  fig.controls([
    slider("condition", { label: "condition of Σ", min: 1, max: 100, log: true }),
    slider("degrees", { label: "angle", min: 0, max: 180, whole: true, unit: "°" }),
    slider("n", { label: "examples n", min: 1, max: 300, log: true, whole: true }),
    slider("noise_variance", { label: "noise σ²", min: 0, max: 3, step: 0.05 }),
  ]);
  fig.bar(
    choice("prior", {
      label: "prior of w",
      options: [
        ["matched", "w ~ N(0, Σ⁻¹)"],
        ["identity", "w ~ N(0, I)"],
      ],
    }),
    button("other prompts", () => {
      seed += 1000;
      fig.set({});
    }),
  );

  return fig.begin(({ condition, degrees, n, noise_variance: noise, prior, w }) => {
    const { sigma, inverse } = covariance(2, condition, degrees),
      task = makeTask({ d: 2, n, noise, sigma, prior: prior === "matched" ? inverse : undefined });
    const { P, half, q } = task,
      C = mul(mul(sigma, task.prior), sigma),
      B = C.map((x, i) => (n + 1) * x + q * sigma[i]); // E Xᵀy yᵀX / n
    const eta = trace(C) / trace(mul(sigma, B)),
      same = times(P, 1 / Math.sqrt(P[0] * P[3] - P[1] * P[2])); // the best plain step
    left.show({
      marks: [
        dots(
          cloud.map((z) => act(half, z)),
          { size: 2.5, opacity: 0.3 },
        ),
        line(ellipsePoints(square(sigma)), { width: 1.5, label: "data: Σ" }),
        area(ellipsePoints(square(same)), { actor: "layer", opacity: 0.1 }),
        line(ellipsePoints(square(same)), { actor: "layer", width: 4, label: "layer: P*" }),
        line(ellipsePoints(square(inverse)), { actor: "theory", width: 1.5, label: "Σ⁻¹" }),
      ],
      alt:
        `Inputs with condition number ${short(condition)}, turned by ${degrees} degrees, ` +
        `and the ellipse of the layer's preconditioner.`,
    });
    const toward = act(sigma, w),
      plain = times(toward, n * eta),
      learned = times(act(P, toward), n),
      steps = { gd: [], layer: [] };
    for (let k = 0; k < PROMPTS; k++) {
      // Xᵀy of single prompts with this w
      const draw = normals(seed + 7919 * k),
        sum = [0, 0];
      for (let i = 0; i < n; i++) {
        const x = act(half, [draw(), draw()]),
          y = x[0] * w[0] + x[1] * w[1] + Math.sqrt(noise) * draw();
        sum[0] += x[0] * y;
        sum[1] += x[1] * y;
      }
      steps.gd.push(times(sum, eta));
      steps.layer.push(act(P, sum));
    }
    const depth = (x, y) => {
      const v = [x - w[0], y - w[1]],
        s = act(sigma, v);
      return v[0] * s[0] + v[1] * s[1];
    };
    right.show({
      marks: [
        contours(depth, [0.05, 0.3, 1, 2.4, 4.6, 8], { opacity: 0.45 }),
        dots(steps.gd, { actor: "gd", size: 2, opacity: 0.45 }),
        dots(steps.layer, { actor: "layer", size: 2, opacity: 0.45 }),
        line([[0, 0]], { actor: "gd", label: "plain step" }),
        line([[0, 0]], { actor: "layer", label: "layer's step" }), // their names
        arrow([0, 0], plain, { actor: "gd", width: 3, head: 13 }),
        arrow([0, 0], learned, { actor: "layer", width: 4, head: 14 }),
        dots([[0, 0]], { size: 4, opacity: 1 }),
        text(w, "w", { strong: true, shift: [12, -10] }),
        handle("true w", w, {
          move: (to) => fig.set({ w: to }),
          bounds: [
            [-2.8, 2.8],
            [-2.8, 2.8],
          ],
        }),
      ],
      alt: "A valley around the true w, a plain step that points across it, and the layer's step.",
    });
    const reach = Math.hypot(...learned) / Math.hypot(...w),
      off = [angle(plain, w), angle(learned, w)],
      ratio = Math.max(...eigenvalues(P)) / Math.min(...eigenvalues(P));
    fig.say(
      "On average the ",
      by("gd", `plain step misses the direction of w by ${off[0].toFixed(1)}°`),
      ", ",
      by("layer", `the layer's by ${off[1].toFixed(1)}°`),
      ". ",
      prior === "matched"
        ? `Its preconditioner is η* Σ⁻¹: long where the data is short. ` +
            `It goes ${Math.round(100 * reach)} % of the way to w, ` +
            "on purpose: the dots are single prompts, and a longer step would scatter them more."
        : `Its preconditioner has condition number ${short(ratio)}, on the way from the prior's 1 ` +
            `to that of Σ⁻¹, ${short(condition)}${n < 100 ? ": more examples take it there" : ""}.`,
    );
    fig.numbers({ plain: eta, best: task.best, P: [...P], off });
  });
}

const eigenvalues = (/** @type {Float64Array} */ [a, b, , c]) => {
  const mean = (a + c) / 2,
    half = Math.hypot((a - c) / 2, b);
  return [mean - half, mean + half];
};
