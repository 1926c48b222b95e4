import { button, slider } from "../kit/controls.js";
import { count, short } from "../kit/dom.js";
import { by, Figure } from "../kit/figure.js";
import { dots, graph, handle, rule, text } from "../kit/marks.js";
import { dot } from "../math/linalg.js";
import { answers, drawPrompt, MOST, START, stepFor } from "../math/prompt.js";
import { exampleMarks, weightMarks } from "../views/arrows.js";

// The claim in one picture: a frozen layer answers as one step of gradient descent, on whatever prompt. It was
// trained for so many examples and so much noise; with others it is still one step, but no longer the best.
// d = 1: points and lines. d = 2: examples in the plane, and the weights that are made of them, as arrows.

const SEED = 48; // examples that are typical, so that the layer retrained for 20 of them fits them well

/** @param {import("../kit/figure.js").Given} given */
export function render(given) {
  const d = given.model.get("d") ?? 1,
    { first, errors, truth, query } = START[d],
    more = drawPrompt(d, SEED),
    n = first.length;
  const fig = new Figure(given, {
    d,
    n,
    noise_variance: 0.1,
    eta: 0.04,
    trained_n: n,
    trained_noise: given.model.get("noise_variance") ?? 0.1,
    places: [...first, ...more.places.slice(n)],
    errors: [...errors, ...more.errors.slice(n)],
    truth,
    query,
  });
  fig.linked({ places: [-3, 3], errors: [-9, 9], truth: [-3, 3], query: [-3, 3] });
  fig.linked({ trained_n: [1, MOST], trained_noise: [0.01, 2] });
  const { trained_noise: noise0 } = fig.state,
    star = (s) => stepFor(d, s.trained_n, s.trained_noise),
    suits = (s) => s.n === s.trained_n && s.noise_variance === s.trained_noise;
  let seed = SEED;
  const put = (name, k, value) =>
    fig.set({ [name]: fig.state[name].map((old, i) => (i === k ? value : old)) });
  /** An example moved to x, and, on a line, to the label y. */
  const move = (k, x, y) => {
    const { truth: w, noise_variance: noise } = fig.state;
    put("places", k, x);
    if (y !== undefined) put("errors", k, (y - dot(x, w)) / Math.sqrt(noise));
  };
  const remove = (k) => {
    const last = (list) => [...list.filter((_, i) => i !== k), list[k]];
    if (fig.state.n > 1)
      fig.set({ n: fig.state.n - 1, places: last(fig.state.places), errors: last(fig.state.errors) });
  };
  const add = ([x, y]) => {
    if (fig.state.n === MOST) return;
    fig.set({ n: fig.state.n + 1 });
    move(fig.state.n - 1, [x], y);
  };

  fig.row("20rem");
  const flat =
    d === 1 && fig.plot({ x: [-3, 3], y: [-4, 4], xLabel: "x", yLabel: "y", aspect: 0.58, tap: add });
  const around = { equal: true, legend: false },
    plane =
      d === 2 &&
      fig.plot({
        title: "The examples",
        note: "drag them; violet: y > 0; grey, with a minus: y < 0",
        x: [-3, 3],
        y: [-2.6, 2.6],
        ...around,
      }),
    weights =
      d === 2 &&
      fig.plot({
        title: "The weights made of them",
        note: "one step: arrows η y_i x_i, head to tail",
        x: [-1.8, 1.8],
        y: [-1.56, 1.56],
        ...around,
      });
  fig.say("");
  fig.line.classList.add("roomy");
  fig.controls([
    slider("eta", {
      label: "step η",
      min: 0,
      max: 0.3,
      step: 0.001,
      actor: "gd",
      mark: (s) => [star(s), "η*"],
    }),
    slider("n", {
      label: "examples n",
      min: 1,
      max: MOST,
      whole: true,
      mark: (s) => [s.trained_n, "trained"],
    }),
    slider("noise_variance", {
      label: "noise σ²",
      min: 0.01,
      max: 2,
      log: true,
      mark: (s) => [s.trained_noise, "trained"],
    }),
  ]);
  fig.bar(
    button(
      "retrain the layer",
      () => fig.set({ trained_n: fig.state.n, trained_noise: fig.state.noise_variance }),
      {
        main: true,
        disabled: suits,
        title: "Train it for as many examples and as much noise as the prompt has now",
      },
    ),
    button("new prompt", () => fig.set(drawPrompt(d, ++seed)), { title: "Other examples, another true w" }),
  );

  const lines = (s, { xs, ys, layer, gd, bayes }) => {
    const at = (u) => [s.query[0], u[0] * s.query[0]],
      right = s.query[0] > 1.7;
    return [
      rule({ x: s.query[0] }),
      graph((x) => bayes[0] * x, { actor: "bayes", label: "ridge", samples: 1 }),
      graph((x) => layer[0] * x, { actor: "layer", label: "trained layer", width: 5, samples: 1 }),
      graph((x) => gd[0] * x, { actor: "gd", label: "one step", samples: 1 }),
      dots([at(bayes)], { actor: "bayes", size: 5, opacity: 1 }),
      dots([at(layer)], { actor: "layer", size: 7, opacity: 1 }),
      dots([at(gd)], { actor: "gd", size: 4, opacity: 1 }),
      ...xs.map(([x], k) =>
        handle(`example ${k + 1}`, [x, ys[k]], {
          says: `x = ${short(x)}, y = ${short(ys[k])}`,
          move: ([toX, toY]) => move(k, [toX], toY),
          remove: () => remove(k),
        }),
      ),
      text([s.query[0], -4], "query x_q", {
        shift: [right ? -14 : 14, -12],
        actor: "accent",
        strong: true,
        anchor: right ? "end" : "start",
      }),
      handle("query", [s.query[0], -4], {
        actor: "accent",
        along: "x",
        says: `x = ${short(s.query[0])}`,
        move: ([x]) => fig.set({ query: [x] }),
      }),
    ];
  };
  const two = d === 1 ? "lines" : "arrows";

  /** What just happened, or what there is to do. */
  const news = (s, { step, factor }) => {
    const met = Math.abs(s.eta - step) < 1e-12,
      { trained_n: most, trained_noise: noise } = s,
      seen = count(s.n, "example");
    const then = met ? `At η = η* the two ${two} are one` : `Move η to its mark η* = ${short(step)}`;
    if (suits(s) && (most !== n || noise !== noise0))
      return `Retrained for ${seen} with noise ${short(noise)}. ${then}. `;
    if (suits(s))
      return met
        ? `${then}: the layer takes this step. Drag what you like, they stay one. `
        : `${then}: the step falls on the layer. `;
    const times =
        factor > 1
          ? `${short(factor, 2)} times too large`
          : `too small, ${short(factor, 2)} of what they should be`,
      off =
        s.n === most
          ? `noise ${short(noise)}, with noise ${short(s.noise_variance)}`
          : `${count(most, "example")}, with ${seen}`;
    const rest = met
      ? "It is still one step, but the wrong one: retrain it. "
      : `Still one step: ${then[0].toLowerCase()}${then.slice(1)}. `;
    return `Trained for ${off} its answers are ${times}. ${rest}`;
  };
  return fig.begin((s) => {
    const now = answers(s),
      { step, factor } = now,
      [layer, gd, bayes] = ["layer", "gd", "bayes"].map((who) => dot(now[who], s.query));
    if (flat)
      flat.show({
        marks: lines(s, now),
        alt:
          `${count(s.n, "example")}, a query at x = ${short(s.query[0])}, ` +
          "and the lines of the layer, of one step and of ridge.",
      });
    else {
      plane.show({
        marks: exampleMarks(s, now, { move, remove, ask: (to) => fig.set({ query: to }) }),
        alt: `${count(s.n, "example")} and a query in the plane.`,
      });
      weights.show({
        marks: weightMarks(s, now, (to) => fig.set({ truth: to })),
        alt: "The weights of the layer, of one step and of ridge, as arrows.",
      });
    }
    fig.say(
      news(s, now),
      "At the query the ",
      by("layer", `trained layer says ${short(layer)}`),
      ", ",
      by("gd", `one step ${short(gd)}`),
      ", ",
      by("bayes", `ridge ${short(bayes)}`),
      ".",
    );
    fig.numbers({ layer, gd, bayes, step, factor });
  });
}
