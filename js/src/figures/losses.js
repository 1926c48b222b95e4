import { menu, slider } from "../kit/controls.js";
import { short } from "../kit/dom.js";
import { by, Figure } from "../kit/figure.js";
import { dots, graph, line, rule, text } from "../kit/marks.js";
import { LOSSES, meanLoss, radius } from "../math/quadrature.js";
import { lowest } from "../math/scalar.js";
import { stepLoss } from "../math/steps.js";

// Any convex loss: it chooses the step, and nothing else. The pinball's level moves nothing at all.

/** @param {import("../kit/figure.js").Given} given */
export function render(given) {
  const fig = new Figure(given, { loss: "pinball", level: 0.8, delta: 1, d: 5, n: 10, noise_variance: 0.25 });
  fig.controls([
    menu("loss", {
      label: "train on the",
      options: {
        squared: "squared error",
        absolute: "absolute error",
        pinball: "pinball loss",
        Huber: "Huber loss",
        fourth: "fourth power",
      },
    }),
    slider("level", {
      label: "level β of the pinball",
      min: 0.02,
      max: 0.98,
      step: 0.02,
      when: (s) => s.loss === "pinball",
    }),
    slider("delta", { label: "δ of Huber", min: 0.1, max: 6, log: true, when: (s) => s.loss === "Huber" }),
  ]);
  fig.row("16rem");
  const shape = fig.plot({
    title: "The loss of an error",
    x: [-3, 3],
    xLabel: "error e",
    yLabel: "ℓ(e)",
    aspect: 0.72,
    tallest: 260,
    legend: false,
  });
  const curve = fig.plot({
    title: "The loss of a step",
    note: "relative to its value at η = 0",
    xLabel: "step η",
    yLabel: "E ℓ",
    aspect: 0.72,
    tallest: 260,
  });
  fig.controls([
    slider("d", { label: "dimension d", min: 1, max: 12, whole: true }),
    slider("n", { label: "examples n", min: 1, max: 40, whole: true }),
    slider("noise_variance", { label: "noise σ²", min: 0.05, max: 10, log: true }),
  ]);
  let kept = "",
    nodes = new Float64Array();
  return fig.begin((s) => {
    const { loss, d, n, noise_variance: noise } = s,
      key = [d, n, noise].join();
    if (key !== kept) [kept, nodes] = [key, radius(d, n, noise)];
    const star = 1 / (n + d + 1 + noise),
      most = 2.2 * star,
      zero = meanLoss(nodes, loss, 0, s),
      of = (eta) => meanLoss(nodes, loss, eta, s) / zero;
    const points = Array.from({ length: 37 }, (_, i) => [(most * i) / 36, of((most * i) / 36)]),
      near = points.reduce((least, point) => (point[1] < least[1] ? point : least))[0];
    const best = lowest(of, near - most / 36, near + most / 36, 22),
      square = (eta) => stepLoss(eta, n, d, noise) / (d + noise);
    const ell = (e) => LOSSES[loss].of(e, s),
      even = (e) => (ell(e) + ell(-e)) / 2,
      tall = Math.max(ell(-2.2), ell(2.2));
    const side = s.level < 0.5 ? 1 : -1,
      name = text([1.9 * side, even(1.9)], "even part", {
        shift: [-10 * side, 0],
        anchor: side < 0 ? "start" : "end",
      }); // where the even part is above
    const parts = [
      graph(ell, { actor: "layer" }),
      ...(loss === "pinball" ? [graph(even, { actor: "theory", width: 1.5 }), name] : []),
    ];
    shape.show({ y: [-0.04 * tall, tall], marks: parts, alt: `The ${loss} loss against the error.` });
    curve.show({
      x: [0, most],
      y: [Math.max(0, Math.min(of(best), square(star)) - 0.08), 1.25],
      marks: [
        rule({ x: star }),
        text([star, 1.25], "η*", { shift: [5, 14], actor: "gd", strong: true }),
        ...(loss === "squared" ? [] : [graph(square, { actor: "gd", label: "squared", width: 1.5 })]),
        line(points, { actor: "layer", label: loss === "fourth" ? "fourth power" : loss }),
        dots([[best, of(best)]], { actor: "layer", size: 6, opacity: 1 }),
      ],
      alt: `The mean ${loss} loss of one step against the step; lowest at ${short(best, 3)}.`,
    });
    fig.say(
      "The best layer is one step, with ",
      by("layer", `η = ${short(best, 3)}`),
      ...(Math.abs(best / star - 1) < 1e-4
        ? [": the ", by("gd", "η*"), loss === "squared" ? ". " : " of the squared error. "]
        : [
            `, ${short(best / star, 4)} times the `,
            by("gd", `η* = ${short(star, 3)}`),
            " of the squared error. ",
          ]),
      loss === "pinball" ? "Move the level: the loss bends, the step stays." : "",
    );
    fig.numbers({ step: best, star, least: of(best) * zero });
  });
}
