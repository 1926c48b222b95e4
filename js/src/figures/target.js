import { button, menu, slider, toggle } from "../kit/controls.js";
import { short, svg } from "../kit/dom.js";
import { by, Figure } from "../kit/figure.js";
import { arrow, dots, graph, handle, legend, minus, text, tint } from "../kit/marks.js";
import { stepWeights } from "../math/context.js";
import { dot, normals } from "../math/linalg.js";
import { planar, planarMoments, stepLoss } from "../math/planar.js";

// A nonlinear target in the plane, to be turned: the layer's answer is a line, and it is one step of gradient
// descent.

const NAMES = {
  relu: "ReLU network",
  sign: "sign(b·x)",
  cubic: "cubic (b·x)³",
  cosine: "cosine cos(b·x + φ)",
  linear: "linear w·x",
  hermite3: "Hermite cubic (b·x)³ − 3 b·x",
  absolute: "absolute value |b·x|",
};
const HEIGHT = { relu: 3.2, sign: 2.6, cubic: 12, cosine: 2.2, linear: 4.5, hermite3: 8, absolute: 3.6 },
  REACH = 2.8,
  RIM = 2.2,
  GRID = 36;

/** f as a field of colour, and the examples on it, filled by their labels. */
const field = (f, limit) => ({
  draw: (plot) => {
    const { left, right, top, bottom } = plot.box,
      rows = Math.round((GRID * (bottom - top)) / (right - left)),
      parts = [];
    const px = (i) => Math.round(left + ((right - left) * i) / GRID),
      py = (j) => Math.round(top + ((bottom - top) * j) / rows); // whole pixels: no seams
    for (let j = 0; j < rows; j++)
      for (let i = 0; i < GRID; i++) {
        const value = f([plot.X.invert((px(i) + px(i + 1)) / 2), plot.Y.invert((py(j) + py(j + 1)) / 2)]);
        parts.push(
          svg("rect", {
            x: px(i),
            y: py(j),
            width: px(i + 1) - px(i),
            height: py(j + 1) - py(j),
            fill: tint((0.75 * value) / limit),
          }),
        );
      }
    return svg("g", { "shape-rendering": "crispEdges" }, ...parts);
  },
});
const labelled = (xs, ys, limit) => ({
  draw: (plot) =>
    xs.flatMap((x, k) => [
      svg("circle", {
        cx: plot.X(x[0]),
        cy: plot.Y(x[1]),
        r: 6,
        class: "cell",
        fill: tint((Math.sign(ys[k]) * 0.25 + ys[k]) / limit),
      }),
      svg("circle", { cx: plot.X(x[0]), cy: plot.Y(x[1]), r: 6, class: "line ink", "stroke-width": 1.3 }),
      ...(ys[k] < 0 ? [minus(plot.X(x[0]), plot.Y(x[1]), 3)] : []),
    ]),
});

/** @param {import("../kit/figure.js").Given} given */
export function render(given) {
  const fig = new Figure(given, {
    family: "relu",
    degrees: 35,
    n: 12,
    noise_variance: 0.25,
    eta: 0.05,
    hold: true,
    seed: 8,
    prompt: 7,
  });
  fig.linked({ degrees: [-360, 360], seed: [0, 1e9], prompt: [0, 1e9] });
  const rule = ({ family, n, noise_variance }) => stepLoss(planarMoments(family), 2, n, noise_variance);
  fig.changed = (changes) => {
    if (fig.state.hold && "eta" in changes && Math.abs(changes.eta - rule(fig.state).best) > 1e-9)
      fig.state.hold = false;
  };
  fig.settle = (s) => {
    if (s.hold) s.eta = rule(s).best;
  };
  fig.controls([menu("family", { label: "labels come from a", options: NAMES })]);
  fig.row("17rem");
  const plane = fig.plot({
    title: "The plane, from above",
    note: "violet: f > 0; grey, with a minus: f < 0",
    equal: true,
    x: [-REACH, REACH],
    y: [-REACH, REACH],
    legend: false,
    xTicks: 5,
    tallest: 330,
  });
  const slice = fig.plot({
    title: "Along the arrow",
    note: "f and its examples from the side",
    x: [-REACH, REACH],
    y: [-3, 3],
    xLabel: "position along the arrow",
    aspect: 0.74,
    tallest: 330,
    legend: false,
  });
  fig.controls([
    slider("n", { label: "examples n", min: 1, max: 200, log: true, whole: true }),
    slider("noise_variance", { label: "noise σ²", min: 0, max: 3, step: 0.05 }),
    slider("eta", {
      label: "step η",
      min: -0.1,
      max: 0.3,
      step: 0.001,
      actor: "gd",
      mark: (s) => [rule(s).best, "η*"],
    }),
    toggle("hold", { label: "keep η at η*", actor: "gd" }),
  ]);
  fig.bar(
    button("other examples", () => fig.set({ prompt: fig.state.prompt + 1 })),
    button("other function", () =>
      fig.set({ seed: fig.state.seed + 1, degrees: (fig.state.degrees + 73) % 360 }),
    ),
  );

  return fig.begin((state) => {
    const { family, degrees, n, noise_variance: noise, seed } = state,
      { c, power } = planarMoments(family),
      { s, best, loss } = rule(state);
    const { f, m, b } = planar(family, (degrees * Math.PI) / 180, seed),
      high = HEIGHT[family],
      normal = normals(100 + state.prompt),
      { eta } = state;
    const drawn = Array.from({ length: n }, () => [normal(), normal(), normal()]),
      xs = drawn.map(([x, y]) => [x, y]),
      ys = drawn.map(([x, y, z]) => f([x, y]) + Math.sqrt(noise) * z);
    const step = stepWeights(xs, ys, eta),
      layer = stepWeights(xs, ys, best);
    plane.show({
      marks: [
        field(f, high),
        labelled(xs, ys, high),
        arrow([0, 0], [RIM * b[0], RIM * b[1]], { width: 1.5, dash: "" }),
        text([RIM * b[0], RIM * b[1]], "turn me", {
          strong: true,
          shift: [b[0] > 0.4 ? -14 : 14, -12],
          anchor: b[0] > 0.4 ? "end" : "start",
        }),
        handle("direction of f", [RIM * b[0], RIM * b[1]], {
          says: `${Math.round(degrees)} degrees`,
          move: ([x, y]) => fig.set({ degrees: (Math.atan2(y, x) * 180) / Math.PI }),
        }),
      ],
      alt: `${n} labelled examples on a ${NAMES[family]} that points to ${Math.round(degrees)} degrees.`,
    });
    slice.show({
      y: [-high, high],
      marks: [
        dots(
          xs.map((x, k) => [dot(b, x), ys[k]]),
          { size: 4, opacity: 0.4 },
        ),
        graph((t) => f([t * b[0], t * b[1]]), {}),
        graph((t) => dot(layer, b) * t, { actor: "layer", width: 5, samples: 1 }),
        graph((t) => dot(m, b) * t, { actor: "theory", width: 2, samples: 1 }),
        graph((t) => dot(step, b) * t, { actor: "gd", samples: 1 }),
        legend([
          ["ink", "f"],
          ["layer", "trained layer", 5],
          ["gd", "one step"],
          ["theory", "linear part", 2],
        ]),
      ],
      alt: "f along the arrow, a curve; its linear part, the trained layer's answer and one step, three lines.",
    });
    const gain = (power + noise - loss(eta)) / power,
      share = (x) => `${Math.round(100 * x)} %`;
    fig.say(
      `c = ${short(c)}, s = ${short(s)}: `,
      by("theory", `η* = c/(s + (n − 1)c) = ${short(best)}`),
      c === 0 ? ". There is no linear part, and the best step is no step. " : ", at every angle. ",
      by(
        "gd",
        gain >= 0 || state.hold
          ? `One step explains ${share(gain)} of E f^2`
          : `This step is worse than none: it adds ${share(-gain)} of E f^2`,
      ),
      ` on average over prompts; a line can explain ${share(c / power)}.`,
    );
    fig.numbers({ c, s, step: best, eta, loss: loss(eta), best: loss(best), m, weights: step });
  });
}
