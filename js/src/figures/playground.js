import { button, menu, slider, toggle } from "../kit/controls.js";
import { make, power, short } from "../kit/dom.js";
import { by, Figure } from "../kit/figure.js";
import { dots, line } from "../kit/marks.js";
import { predict } from "../math/loss.js";
import { DEFAULTS, PRESETS, presetState, python, says } from "../math/presets.js";
import { clamp } from "../math/scalar.js";
import { samplePrompts } from "../math/task.js";
import { Trainer } from "../math/trainer.js";
import { TRIANGLE, triangleMarks } from "../views/triangle.js";
import { weightGrids } from "../views/weights.js";

// The layer trains in the page, on the exact loss.

const PROMPTS = 160,
  RATES = { adam: 0.01, gd: 0.003, lbfgs: 1 };
const FAMILY = {
  linear: "linear, w·x",
  relu: "ReLU network, 3 units",
  sign: "sign(b·x)",
  cubic: "(b·x)³",
  cosine: "cos(b·x + φ)",
  hermite3: "(b·x)³ − 3 b·x",
  absolute: "|b·x|",
};
const AGAIN = ["d", "heads", "scale", "seed"],
  STILL = ["rate", "speed", "preset"];
const same = (wanted, state) =>
  Object.entries(wanted).every(([name, value]) => name === "speed" || state[name] === value);
const linear = (s) => s.family === "linear";

/** @param {import("../kit/figure.js").Given} given */
export function render(given) {
  const fig = new Figure(given, { ...DEFAULTS, preset: "" }),
    { state } = fig;
  fig.linked({ seed: [0, 1e9] });
  state.preset = Object.keys(PRESETS).find((name) => same(presetState(name), state)) ?? "";
  const trainer = new Trainer(state);
  let prompts = [];
  const sample = () => {
    prompts = samplePrompts(trainer.task, PROMPTS, 7);
  };

  // ---- what is trained ----
  fig.changed = (changes) => {
    const names = Object.keys(changes),
      named = PRESETS[changes.preset];
    if (named) Object.assign(state, presetState(changes.preset));
    else if (!("preset" in changes)) state.preset = "";
    if ("optimizer" in changes) state.rate = RATES[state.optimizer];
    if ("rate" in changes && trainer.step) trainer.moved = true;
    if (!named && names.every((name) => STILL.includes(name))) return;
    const { d, heads } = trainer.objective;
    trainer.retask(state);
    sample();
    if (d !== state.d || heads !== state.heads) grids.rebuild(state);
    if (named || names.some((name) => AGAIN.includes(name))) trainer.restart(state);
    else trainer.renew(state);
  };
  const run = fig.player({
    words: ["▶ Train", "❚❚ Pause"],
    patience: 20_000,
    step: () => {
      let more = true;
      for (let k = 0; more && k < (fig.reducedMotion.matches ? 20 : state.speed); k++)
        more = trainer.advance(state);
      return more;
    },
  });
  const hand = (weights) => {
    trainer.move(weights, state);
    fig.set({});
  };

  // ---- what is seen ----
  fig
    .controls([
      menu("preset", {
        label: "Show me",
        options: {
          "": "(your own)",
          ...Object.fromEntries(Object.entries(PRESETS).map(([name, [title]]) => [name, title])),
        },
      }),
    ])
    .classList.add("wide");
  fig.bar(
    run,
    button(
      "One step",
      () => {
        trainer.advance(state);
        fig.set({});
      },
      { title: "Take one step of the optimizer" },
    ),
    button("New start", () => fig.set({ seed: state.seed + 1, preset: state.preset }), {
      title: "Draw other weights to start from",
    }),
    button("Be one GD step", () => hand(trainer.objective.optimalWeights()), {
      title: "Set the weights to those of one step of gradient descent",
    }),
  );
  fig.say("");
  fig.row("19rem");
  const curve = fig.plot({
    title: "Loss above the best",
    note: "(L − L*)/L*, by step",
    yLog: true,
    aspect: 0.62,
    legend: false,
  });
  const scatter = fig.plot({
    title: "Predictions",
    note: `across: one GD step, ŷ_{GD}; up: the layer, ŷ; ${PROMPTS} prompts`,
    aspect: 0.62,
    legend: false,
  });
  const place = fig.panel({
    title: "Weights, at the scale |a| = 1",
    note: "drag a cell up or down, or focus it and press + or −",
  });
  const grids = weightGrids(place, trainer, { hand, done: () => fig.publish() });
  const triangle = fig.plot({
    title: "Pythagoras",
    note: "three sides, each computed by itself",
    axes: false,
    equal: true,
    tallest: 190,
    legend: false,
  });
  const theorem = make("p", { className: "note" });
  fig.root.append(theorem);
  const group = (title, specs) => {
    fig.root.append(make("p", { className: "group", textContent: title }));
    fig.controls(specs);
  };
  group("Task", [
    slider("d", { label: "dimension d", min: 1, max: 8, whole: true }),
    slider("n", { label: "examples n", min: 1, max: 60, whole: true }),
    slider("noise_variance", { label: "noise σ²", min: 0, max: 3, step: 0.05 }),
    menu("family", { label: "target f", options: FAMILY }),
    slider("condition", { label: "condition of Σ", min: 1, max: 100, log: true, when: linear }),
    slider("rotation", { label: "rotation of Σ", min: 0, max: 90, whole: true, unit: "°", when: linear }),
    menu("prior", {
      label: "prior of w",
      options: { matched: "Λ = Σ⁻¹", identity: "Λ = I", custom: "Λ diagonal" },
      when: linear,
    }),
    slider("prior_condition", {
      label: "condition of Λ",
      min: 1,
      max: 100,
      log: true,
      when: (s) => linear(s) && s.prior === "custom",
    }),
    slider("mean", { label: "prior mean |μ|", min: 0, max: 2, step: 0.05, when: linear }),
  ]);
  group("Layer", [
    slider("heads", { label: "heads", min: 1, max: 3, whole: true, actor: "layer" }),
    slider("scale", { label: "initial scale", min: 0.01, max: 2, log: true, actor: "layer" }),
    toggle("residual", { label: "residual stream" }),
  ]);
  group("Training", [
    menu("optimizer", {
      label: "optimizer",
      options: { adam: "Adam", gd: "gradient descent", lbfgs: "L-BFGS" },
    }),
    slider("rate", {
      label: "learning rate",
      min: 1e-4,
      max: 1,
      log: true,
      when: (s) => s.optimizer !== "lbfgs",
    }),
    slider("speed", {
      label: "steps per frame",
      min: 1,
      max: 100,
      log: true,
      whole: true,
      when: () => !fig.reducedMotion.matches,
    }),
  ]);
  fig.python = () => python(state, trainer.step, trainer.moved ? trainer.weights : null);

  function draw() {
    const { task, objective, weights, step, history, moved, ends } = trainer,
      loss = objective.loss(weights),
      rel = trainer.excess(loss),
      distance = objective.distance(weights),
      gap = Math.abs(loss - task.best - distance);
    const points = [...history, [step, rel]].map(([at, x]) => [at, Math.max(x, 1e-16)]),
      heights = points.map(([, y]) => Math.log10(y));
    const low = Math.floor(Math.min(-1, ...heights)),
      high = Math.max(Math.ceil(Math.max(...heights)), low + 1, 0);
    curve.yText = (y) => power(Math.round(Math.log10(y)));
    curve.show({
      x: [0, Math.max(10, step)],
      y: [10 ** low, 10 ** high],
      marks: [
        line(points, { actor: "layer" }),
        dots([points.at(-1)], { actor: "layer", size: 5, opacity: 1 }),
      ],
      alt: `The relative excess after ${step} steps is ${short(rel)}.`,
    });
    const most = 1.15 * Math.max(0.1, ...prompts.map(({ gd }) => Math.abs(gd)));
    scatter.show({
      x: [-most, most],
      y: [-most, most],
      marks: [
        line(
          [-most, most].map((x) => [x, x]),
          { actor: "gd" },
        ),
        dots(
          prompts.map((prompt) => [prompt.gd, clamp(predict(objective, weights, prompt), -most, most)]),
          { actor: "layer", size: 3, opacity: 0.65 },
        ),
      ],
      alt:
        `Predictions of the layer against those of one GD step; ` +
        `their mean squared difference is ${short(distance)}.`,
    });
    grids.paint();
    triangle.show({
      ...TRIANGLE,
      marks: triangleMarks(task.best, distance, loss),
      alt:
        `A right triangle: L = ${short(loss)} is L* = ${short(task.best)} ` +
        `plus the squared distance ${short(distance)}.`,
    });
    theorem.textContent = says(state);
    const hint = PRESETS[state.preset]?.[2];
    fig.say(
      `Step ${step}: `,
      by("layer", `L = ${loss.toFixed(6)}`),
      ", ",
      by("gd", `L* = ${task.best.toFixed(6)}`),
      `, distance² ${short(distance)}. `,
      ends || (step === 0 && !moved && hint) || `Excess ${short(Math.max(rel, 0))}.`,
    );
    fig.numbers({ excess: rel, step, pythagoras: gap / loss, loss, best: task.best });
  }

  fig.extra = () => ({ weights: Array.from(trainer.weights), step: trainer.step });
  sample();
  grids.rebuild(state);
  const stored = given.model.get("weights");
  if (stored?.length === trainer.weights.length) trainer.move(Float64Array.from(stored), state);
  return fig.begin(draw);
}
