import { button, menu, slider, toggle } from "../kit/controls.js";
import { make, power, short } from "../kit/dom.js";
import { by, Figure } from "../kit/figure.js";
import { Grid } from "../kit/grid.js";
import { dots, line, text } from "../kit/marks.js";
import { METHODS, randomWeights } from "../math/descend.js";
import { Objective, predict } from "../math/loss.js";
import { DEFAULTS, PRESETS, presetState, python, says, taskOf } from "../math/presets.js";
import { clamp } from "../math/scalar.js";
import { samplePrompts } from "../math/task.js";

// The layer trains in the page, on the exact loss.

const PROMPTS = 160,
  END = 1e-10,
  PATIENCE = 500,
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
  let task,
    objective,
    method,
    weights,
    prompts,
    step,
    history,
    stride,
    ends,
    lowest,
    idle,
    moved = false;

  // ---- what is trained ----
  const excess = (loss = objective.loss(weights)) => (loss - task.best) / task.best;
  const record = (value) => {
    if (history.at(-1)?.[0] === step) history.pop();
    if (step % stride === 0) history.push([step, value]);
    if (history.length > 1000) {
      stride *= 2;
      history = history.filter(([at]) => at % stride === 0);
    } // its shape stays
  };
  const restart = () => {
    weights = randomWeights(state.d, state.heads, state.scale, state.seed);
    [step, history, stride, ends, moved] = [0, [], 1, "", false];
    renew();
    record(excess());
  };
  const renew = () => {
    method = new METHODS[state.optimizer](objective);
    [lowest, idle] = [Infinity, 0];
  };
  const retask = () => {
    task = taskOf(state);
    objective = new Objective(task, state.heads, state.residual);
    prompts = samplePrompts(task, PROMPTS, 7);
  };
  const advance = () => {
    const before = weights.slice(),
      loss = method.step(weights, state.rate),
      rel = excess(loss); // the loss before the step
    if (!(rel < 1e6)) {
      restart();
      ends = "It diverged: take a smaller learning rate.";
      return false;
    }
    record(rel);
    if (rel < END) {
      weights = before;
      ends = "Arrived: the layer is one step of gradient descent.";
      return false;
    }
    step++;
    if (loss < lowest * (1 - 1e-9)) [lowest, idle] = [loss, 0];
    else if (++idle > PATIENCE) {
      ends = "No way down from here: a local minimum, or all that this layer can do.";
      return false;
    }
    return true;
  };
  fig.changed = (changes) => {
    const names = Object.keys(changes);
    if ("preset" in changes && PRESETS[changes.preset]) {
      Object.assign(state, presetState(changes.preset));
      retask();
      rebuild();
      restart();
      return;
    }
    if (!names.includes("preset")) state.preset = "";
    if ("optimizer" in changes) state.rate = RATES[state.optimizer];
    if (names.every((name) => STILL.includes(name))) return;
    const { d, heads } = objective;
    retask();
    if (d !== state.d || heads !== state.heads) rebuild();
    if (names.some((name) => AGAIN.includes(name))) restart();
    else {
      renew();
      record(excess());
    }
    ends = "";
  };
  const run = fig.player({
    words: ["▶ Train", "❚❚ Pause"],
    patience: 20_000,
    step: () => {
      let more = true;
      for (let k = 0; more && k < (fig.reducedMotion.matches ? 20 : state.speed); k++) more = advance();
      return more;
    },
  });
  const hand = (change) => {
    change();
    renew();
    ends = "";
    record(excess());
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
        advance();
        fig.set({});
      },
      { title: "Take one step of the optimizer" },
    ),
    button("New start", () => fig.set({ seed: state.seed + 1, preset: state.preset }), {
      title: "Draw other weights to start from",
    }),
    button(
      "Be one GD step",
      () =>
        hand(() => {
          weights = objective.optimalWeights();
          moved = true;
        }),
      { title: "Set the weights to those of one step of gradient descent" },
    ),
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
  fig.python = () => python(state, step, moved ? weights : null);

  let grids = [];
  /**
   * |a| of a head with the sign of its last entry, and the largest entry of the GD step's M at the scale |a|
   * = 1.
   */
  const scaleOf = (head) => {
    const a = objective.a.subarray(head * objective.size, (head + 1) * objective.size);
    return {
      norm: (Math.hypot(...a) || 1) * (a[objective.d] < 0 ? -1 : 1),
      unit: Math.max(...task.P.map(Math.abs)) * Math.hypot(1, ...task.mean) || 0.1,
    };
  };
  function rebuild() {
    const { d, heads } = state,
      cell = clamp(Math.floor(125 / (d + 1)), 12, 28);
    place.style.setProperty("--cell", `${cell}px`);
    const pair = (head, own) => {
      const entry = (M, r, c) =>
        M ? objective.M[(head * (d + 1) + r) * d + c] : objective.a[head * (d + 1) + r];
      const one = (M) =>
        new Grid({
          rows: d + 1,
          columns: M ? d : 1,
          title: `${M ? "M" : "a"}${own ? (heads > 1 && M ? `, head ${head + 1}` : "") : M ? " of one GD step" : ""}`,
          name: own
            ? `${M ? "M" : "a"} of head ${head + 1}: arrow keys walk, plus and minus change a weight`
            : `${M ? "M" : "a"} of one GD step`,
          move:
            own &&
            ((r, c, change) =>
              hand(() => {
                const { norm, unit } = scaleOf(head);
                objective.nudge(weights, head, r, M ? c : -1, M ? (change * unit) / norm : change * norm);
                objective.effective(weights);
                moved = true;
              })),
          says: (r, c) =>
            `${M ? `M, row ${r + 1}, column ${c + 1}` : `a, row ${r + 1}`} = ${short(entry(M, r, c))}`,
          done: () => fig.publish(),
        });
      const made = { a: one(false), M: one(true) };
      return { ...made, node: make("div", { className: "pair" }, made.a.node, made.M.node) };
    };
    grids = [...Array.from({ length: heads }, (_, i) => pair(i, true)), pair(0, false)];
    place.querySelector(".grids")?.remove();
    place.append(make("div", { className: "grids" }, ...grids.map(({ node }) => node)));
  }
  function colour() {
    const { size, d, heads } = objective,
      { unit } = scaleOf(0),
      norm = Math.hypot(1, ...task.mean);
    for (let i = 0; i < heads; i++) {
      const { norm: own } = scaleOf(i);
      grids[i].a.paint(Array.from({ length: size }, (_, k) => objective.a[i * size + k] / own));
      grids[i].M.paint(
        Array.from({ length: size * d }, (_, k) => (objective.M[i * size * d + k] * own) / unit),
      );
    }
    grids[heads].a.paint([...task.mean.map((x) => -x / norm), 1 / norm]);
    grids[heads].M.paint(
      Array.from({ length: size * d }, (_, k) =>
        k < d * d ? (task.P[(k % d) * d + Math.floor(k / d)] * norm) / unit : 0,
      ),
    );
  }
  function draw() {
    const loss = objective.loss(weights),
      rel = excess(loss),
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
          [
            [-most, -most],
            [most, most],
          ],
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
    colour();
    const [p, q, r] = [task.best, distance, loss].map((x) => Math.sqrt(Math.max(x, 0)));
    const cos = p * q > 0 ? (p * p + q * q - r * r) / (2 * p * q) : 0,
      sin = Math.sqrt(Math.max(0, 1 - cos * cos)); // by the law of cosines
    const long = Math.max(p, q, 1e-9),
      top = [0, p / long],
      far = [(q / long) * sin, (q / long) * cos];
    triangle.show({
      x: [-0.25, 1.35],
      y: [-0.15, 1.08],
      marks: [
        line([[0, 0], top], { actor: "gd", width: 3 }),
        line([[0, 0], far], { width: 3 }),
        line([top, far], { actor: "layer", width: 3 }),
        ...(q / long > 0.12 && p / long > 0.12
          ? [
              line(
                [
                  [0.06, 0],
                  [0.06, 0.06],
                  [0, 0.06],
                ],
                { width: 1 },
              ),
            ]
          : []),
        text([0, top[1] / 2], "√L*", { anchor: "end", shift: [-8, 0], actor: "gd" }),
        text([far[0] / 2, far[1] / 2], "distance", { anchor: "middle", shift: [0, 16] }),
        text([far[0] / 2, (top[1] + far[1]) / 2], "√L", { shift: [8, -8], actor: "layer" }),
      ],
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

  fig.extra = () => ({ weights: Array.from(weights), step });
  retask();
  rebuild();
  restart();
  const stored = given.model.get("weights");
  if (stored?.length === weights.length) {
    weights = Float64Array.from(stored);
    history = [];
    record(excess());
    moved = true;
  }
  return fig.begin(draw);
}
