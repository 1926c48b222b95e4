import { slider } from "../kit/controls.js";
import { short } from "../kit/dom.js";
import { by, Figure } from "../kit/figure.js";
import { dots, line, rule } from "../kit/marks.js";
import { temperaturePython } from "../math/python.js";
import { scoreFloor, softmaxLosses } from "../math/scores.js";

// The exact loss of softmax attention against its inverse temperature β: one head, the ± pair, and linear
// attention.

const LOW = -30,
  HIGH = 12; // β = exp(k/10)
const level = (value, look) =>
  line(
    [
      [Math.exp(LOW / 10), value],
      [Math.exp(HIGH / 10), value],
    ],
    look,
  );

/** @param {import("../kit/figure.js").Given} given */
export function render(given) {
  const { lengths, from, rows } = given.model.get("table");
  const fig = new Figure(given, { length: lengths.indexOf(10), d: 2, noise_variance: 0.25, k: 0 });
  fig.python = (s) => temperaturePython({ ...s, n: lengths[s.length], beta: Math.exp(s.k / 10) });
  const plot = fig.plot({
    x: [Math.exp(LOW / 10), Math.exp(HIGH / 10)],
    xLog: true,
    xTicks: [0.05, 0.1, 0.2, 0.5, 1, 2],
    xLabel: "inverse temperature β",
    yLabel: "loss",
    tallest: 340,
  });
  fig.controls([
    slider("length", {
      label: "examples n",
      min: 0,
      max: lengths.length - 1,
      whole: true,
      format: (i) => String(lengths[i]),
    }),
    slider("k", {
      label: "inverse temperature β",
      min: LOW,
      max: HIGH,
      whole: true,
      actor: "layer",
      format: (k) => short(Math.exp(k / 10), 2),
    }),
    slider("d", { label: "dimension d", min: 1, max: 10, whole: true }),
    slider("noise_variance", { label: "noise σ²", min: 0, max: 2, step: 0.05 }),
  ]);

  return fig.begin((s) => {
    const n = lengths[s.length],
      { d, k, noise_variance: noise } = s,
      table = { from, rows: rows[s.length] };
    const curves = [[], []];
    for (let j = LOW; j <= HIGH; j++)
      for (const [i, { loss }] of softmaxLosses(table, d, n, noise, j).entries())
        curves[i].push([Math.exp(j / 10), loss]);
    const best = curves.map((curve) => curve.reduce((a, b) => (b[1] < a[1] ? b : a))),
      now = curves.map((curve) => curve[k - LOW]);
    const linear = d + noise - (n * d) / (n + d + 1 + noise),
      floor = scoreFloor(d, n, noise),
      limit = d + noise - ((n - 1) * d) / (n + d + noise);
    plot.show({
      y: [0, 1.04 * (d + noise)],
      marks: [
        rule({ x: Math.exp(k / 10) }),
        level(floor, { actor: "theory", label: "floor", width: 1.8 }),
        level(linear, { actor: "muted", label: "linear", dash: "1 3" }),
        line(curves[0], { actor: "accent", label: "one head" }),
        line(curves[1], { actor: "layer", label: "± pair" }),
        dots([best[0]], { actor: "accent", size: 6, opacity: 1 }),
        dots([best[1]], { actor: "layer", size: 6, opacity: 1 }),
        dots([now[0]], { actor: "accent", size: 4, opacity: 1 }),
        dots([now[1]], { actor: "layer", size: 4, opacity: 1 }),
      ],
      alt:
        `Loss against β for n = ${n}, d = ${d}: ` +
        `one head is best near β = ${short(best[0][0], 2)}, the pair near ${short(best[1][0], 2)}.`,
    });
    fig.say(
      `At β = ${short(Math.exp(k / 10), 2)}, with the best gain, `,
      by("accent", `one head loses ${short(now[0][1], 4)}`),
      " and ",
      by("layer", `the pair ${short(now[1][1], 4)}`),
      short(best[1][1], 4) === short(limit, 4)
        ? `. The pair is best for small β: ${short(limit, 4)} as β → 0. `
        : `. The pair is best near β = ${short(best[1][0], 2)} with ${short(best[1][1], 4)}, ` +
            `a little below its limit ${short(limit, 4)} as β → 0. `,
      by("muted", `Linear attention loses ${short(linear, 4)}`),
      `; nothing that sees scores alone loses less than ${short(floor, 4)}.`,
    );
    fig.numbers({ head: now[0][1], pair: now[1][1], linear, floor });
  });
}
