import { button, choice, slider, toggle } from "../kit/controls.js";
import { short } from "../kit/dom.js";
import { by, Figure } from "../kit/figure.js";
import { arrow, dots, graph, handle, legend, line, rule, text, tint } from "../kit/marks.js";
import { gram, layerWeights, ridgeWeights, stepWeights, trainedLayer } from "../math/context.js";
import { dot, normals } from "../math/linalg.js";
import { clamp } from "../math/scalar.js";

// The claim in one picture: drag a prompt, and the trained layer answers as one step of gradient descent.
// d = 1: points and lines. d = 2: examples in the plane, and the weights that are made of them, as arrows.

const MOST = 14,
  REACH = 3,
  TALL = 4;

const within = (x, most) => clamp(x, -most, most);

/** @param {import("../kit/figure.js").Given} given */
export function render(given) {
  const fig = new Figure(given, {
    d: 1,
    noise_variance: 0.1,
    eta: 0.04,
    hold: false,
    points: [
      [-1.8, -1.6],
      [-1.1, -1.5],
      [-0.6, 0.1],
      [-0.2, -0.4],
      [0.4, 0.9],
      [0.9, 0.4],
      [1.3, 1.8],
      [1.7, 1.4],
    ],
    query: 2.3,
    places: [
      [1.6, 0.5],
      [0.4, 1.5],
      [-1.3, 0.8],
      [-0.9, -1.2],
      [0.8, -1.5],
      [2.0, -0.6],
    ],
    errors: [0.5, -1, 0.3, 0.9, -0.4, -0.7],
    truth: [1.1, 0.7],
    query_2: [1.0, 1.2],
  });
  fig.linked({ points: [-TALL, TALL], query: [-REACH, REACH], query_2: [-REACH, REACH] });
  fig.linked({ places: [-REACH, REACH], errors: [-5, 5], truth: [-3, 3] });
  const examples = ({ d, points, places, errors, truth, noise_variance }) =>
    d === 1
      ? { xs: points.map(([x]) => [x]), ys: points.map(([, y]) => y) }
      : {
          xs: places,
          ys: places.map((x, k) => dot(x, truth) + Math.sqrt(noise_variance) * (errors[k] ?? 0)),
        };
  const best = ({ d, points, places, noise_variance }) =>
    1 / ((d === 1 ? points : places).length + d + 1 + noise_variance);
  const answers = (s) => {
    const { xs, ys } = examples(s),
      { a, M, step } = trainedLayer(s.d, xs.length, s.noise_variance);
    return {
      xs,
      ys,
      step,
      layer: layerWeights(gram(xs, ys), a, M),
      gd: stepWeights(xs, ys, s.eta),
      bayes: ridgeWeights(xs, ys, s.noise_variance),
    };
  };

  fig.changed = (changes) => {
    if (fig.state.hold && "eta" in changes && Math.abs(changes.eta - best(fig.state)) > 1e-9)
      fig.state.hold = false;
  };
  fig.settle = (s) => {
    if (s.hold) s.eta = best(s);
  };
  fig.bar(
    choice("d", {
      label: "dimension",
      options: [
        [1, "d = 1: lines"],
        [2, "d = 2: arrows"],
      ],
    }),
  );
  fig.row("20rem");
  let seed = 1;
  const add = ([x, y]) =>
    fig.state.points.length < MOST && fig.set({ points: [...fig.state.points, [x, y]] });
  const flat = fig.plot({
    x: [-REACH, REACH],
    y: [-TALL, TALL],
    xLabel: "x",
    yLabel: "y",
    aspect: 0.58,
    tap: add,
  });
  const plane = fig.plot({
    title: "The examples",
    note: "drag them; violet: y > 0; grey, with a minus: y < 0",
    equal: true,
    x: [-REACH, REACH],
    y: [-2.6, 2.6],
    legend: false,
  });
  const weights = fig.plot({
    title: "The weights made of them",
    note: "one step: arrows η y_i x_i, head to tail",
    equal: true,
    x: [-1.8, 1.8],
    y: [-1.56, 1.56],
    legend: false,
  });

  const more = () => {
    const { d, places, errors } = fig.state,
      normal = normals(1000 + 17 * seed++);
    if (d === 1) {
      const x = within(1.3 * normal(), 2.6);
      add([x, within(0.9 * x + 0.5 * normal(), 2.6)]);
    } else if (places.length < MOST)
      fig.set({
        places: [...places, [within(normal(), 2.6), within(normal(), 2.6)]],
        errors: [...errors, normal()],
      });
  };
  const fewer = (k = -1) => {
    const { d, points, places, errors } = fig.state,
      cut = (list) => list.filter((_, i) => i !== (k < 0 ? list.length - 1 : k));
    if ((d === 1 ? points : places).length > 1)
      fig.set(d === 1 ? { points: cut(points) } : { places: cut(places), errors: cut(errors) });
  };
  const fresh = () => {
    const normal = normals(Math.floor(1e9 * Math.random())),
      n = (fig.state.d === 1 ? fig.state.points : fig.state.places).length;
    if (fig.state.d === 1) {
      const w = normal();
      fig.set({
        points: Array.from({ length: n }, () => {
          const x = within(normal(), 2.8);
          return [x, within(w * x + Math.sqrt(fig.state.noise_variance) * normal(), 3.8)];
        }),
      });
    } else
      fig.set({
        places: Array.from({ length: n }, () => [within(normal(), 2.8), within(normal(), 2.4)]),
        errors: Array.from({ length: n }, normal),
        truth: [within(normal(), 1.6), within(normal(), 1.6)],
      });
  };
  fig.controls([
    slider("eta", {
      label: "step η",
      min: 0,
      max: 0.3,
      step: 0.001,
      actor: "gd",
      mark: (s) => [best(s), "η*"],
    }),
    slider("noise_variance", { label: "noise σ²", min: 0.01, max: 2, log: true }),
    toggle("hold", { label: "keep η at η*", actor: "gd" }),
  ]);
  fig.bar(
    button("+ example", more),
    button("− example", () => fewer()),
    button("new prompt", fresh),
  );

  const lines = (s, { layer, gd, bayes }) => {
    const at = (u) => [s.query, u[0] * s.query];
    return [
      rule({ x: s.query }),
      graph((x) => bayes[0] * x, { actor: "bayes", label: "ridge", samples: 1 }),
      graph((x) => layer[0] * x, { actor: "layer", label: "trained layer", width: 5, samples: 1 }),
      graph((x) => gd[0] * x, { actor: "gd", label: "one step", samples: 1 }),
      dots([at(bayes)], { actor: "bayes", size: 5, opacity: 1 }),
      dots([at(layer)], { actor: "layer", size: 7, opacity: 1 }),
      dots([at(gd)], { actor: "gd", size: 4, opacity: 1 }),
      ...s.points.map((point, k) =>
        handle(`example ${k + 1}`, point, {
          label: `example ${k + 1}`,
          says: `x = ${short(point[0])}, y = ${short(point[1])}`,
          move: (to) => fig.set({ points: s.points.map((old, i) => (i === k ? to : old)) }),
          remove: () => fewer(k),
        }),
      ),
      text([s.query, -TALL], "query x_q", {
        shift: [s.query > 1.7 ? -14 : 14, -12],
        actor: "accent",
        strong: true,
        anchor: s.query > 1.7 ? "end" : "start",
      }),
      handle("query", [s.query, -TALL], {
        label: "query",
        actor: "accent",
        along: "x",
        says: `x = ${short(s.query)}`,
        move: ([x]) => fig.set({ query: x }),
      }),
    ];
  };
  const scatter = (s, { ys }) => [
    line(
      [
        [-9, 0],
        [9, 0],
      ],
      { actor: "muted", width: 1 },
    ),
    line(
      [
        [0, -9],
        [0, 9],
      ],
      { actor: "muted", width: 1 },
    ),
    ...s.places.map((place, k) =>
      handle(`example ${k + 1}`, place, {
        says: `x = (${short(place[0])}, ${short(place[1])}), y = ${short(ys[k])}`,
        size: 5 + 3 * Math.min(Math.abs(ys[k]), 3),
        colour: tint(Math.sign(ys[k]) * (0.45 + 0.3 * Math.abs(ys[k]))),
        negative: ys[k] < 0,
        move: (to) => fig.set({ places: s.places.map((old, i) => (i === k ? to : old)) }),
        remove: () => fewer(k),
      }),
    ),
    text(s.query_2, "x_q", { actor: "accent", strong: true, shift: [13, -10] }),
    handle("query", s.query_2, { actor: "accent", move: (to) => fig.set({ query_2: to }) }),
  ];
  const sum = (s, { xs, ys, layer, gd, bayes }) => {
    const { eta } = s,
      chain = [];
    let at = [0, 0];
    xs.forEach((x, k) => {
      const to = [at[0] + eta * ys[k] * x[0], at[1] + eta * ys[k] * x[1]];
      chain.push(arrow(at, to, { actor: "gd", width: 1.5, dash: "", head: 6, opacity: 0.55 }));
      at = to;
    });
    return [
      line(
        [
          [-9, 0],
          [9, 0],
        ],
        { actor: "muted", width: 1 },
      ),
      line(
        [
          [0, -9],
          [0, 9],
        ],
        { actor: "muted", width: 1 },
      ),
      ...chain,
      arrow([0, 0], bayes, { actor: "bayes" }),
      arrow([0, 0], layer, { actor: "layer", width: 5, head: 15 }),
      arrow([0, 0], gd, { actor: "gd" }),
      legend([
        ["layer", "trained layer", 5],
        ["gd", "one step"],
        ["bayes", "ridge"],
      ]),
      arrow([0, 0], s.truth, { width: 1.2, dash: "" }),
      text(s.truth, "true w", { shift: [12, -12], strong: true }),
      handle("true w", s.truth, { size: 6, move: (to) => fig.set({ truth: to }) }),
    ];
  };

  return fig.begin((s) => {
    const now = answers(s),
      { d } = s,
      query = d === 1 ? [s.query] : s.query_2,
      predicted = ["layer", "gd", "bayes"].map((who) => dot(now[who], query));
    const [layer, gd, bayes] = predicted,
      n = now.xs.length,
      gap = Math.abs(layer - gd);
    for (const plot of [flat, plane, weights])
      plot.node.parentElement.parentElement.hidden = (plot === flat) !== (d === 1);
    if (d === 1)
      flat.show({
        marks: lines(s, now),
        alt: `${n} examples, a query at x = ${short(s.query)}, and the lines of the layer, of one step and of ridge.`,
      });
    else {
      plane.show({ marks: scatter(s, now), alt: `${n} examples and a query in the plane.` });
      weights.show({
        marks: sum(s, now),
        alt: "The weights of the layer, of one step and of ridge, as arrows.",
      });
    }
    fig.say(
      "At the query the ",
      by("layer", `trained layer says ${short(layer)}`),
      ", ",
      by("gd", `one step says ${short(gd)}`),
      " and ",
      by("bayes", `ridge says ${short(bayes)}`),
      ". ",
      gap < 1e-12
        ? "At η = η* = 1/(n + d + 1 + σ²) the step is the layer, whatever you drag."
        : `Move η to η* = ${short(now.step)}: the step falls on the layer.`,
    );
    fig.numbers({ layer, gd, bayes, step: now.step, eta: s.eta });
  });
}
