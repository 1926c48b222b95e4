import { button, slider } from "../kit/controls.js";
import { power, short } from "../kit/dom.js";
import { by, Figure } from "../kit/figure.js";
import { cells, dots, line, rule, text } from "../kit/marks.js";
import { Adam, randomWeights } from "../math/descend.js";
import { atAngle, trapAngles } from "../math/landscape.js";
import { Objective, predict } from "../math/loss.js";
import { trainingPython } from "../math/python.js";
import { clamp } from "../math/scalar.js";
import { makeTask, samplePrompts } from "../math/task.js";

// One layer trains on the exact loss, by the steps of lsa.fit with Adam; the whole run is kept, to be walked
// through.

const STEPS = 400,
  RATE = 0.02,
  SCALE = 0.1,
  PROMPTS = 80;

/** @param {import("../kit/figure.js").Given} given */
export function render(given) {
  const fig = new Figure(given, { show: "weights", d: 5, n: 10, noise_variance: 0.25, seed: 1, step: 15 });
  fig.linked({ seed: [0, 1e9] });
  fig.python = trainingPython;
  const weights = fig.state.show === "weights";
  let key = null,
    task,
    objective,
    run,
    ends,
    prompts,
    fresh = true;
  const prepare = ({ d, n, noise_variance: noise, seed }) => {
    const now = [d, n, noise, seed].join();
    if (now === key) return;
    key = now;
    task = makeTask({ d, n, noise });
    objective = new Objective(task, 1);
    prompts = samplePrompts(task, PROMPTS, 7);
    const w = randomWeights(d, 1, SCALE, seed),
      adam = new Adam(objective);
    run = [{ w: w.slice() }];
    for (let k = 0; k < STEPS; k++) {
      const loss = adam.step(w, (RATE * (1 + Math.cos((Math.PI * k) / STEPS))) / 2); // the loss before the step
      run[k].loss = loss;
      run.push({ w: w.slice() });
    }
    run[STEPS].loss = objective.loss(w);
    for (const each of run) each.excess = each.loss / task.best - 1;
    const one = { d, n, noise, heads: 1 },
      caught = trapAngles(one).some((angle) => Math.abs(run[STEPS].loss / atAngle(angle, one) - 1) < 1e-3);
    ends =
      run[STEPS].excess < 1e-3
        ? ""
        : caught
          ? "This start ends in a trap."
          : `${STEPS} steps are not enough for it.`;
  };
  const { step, rewind } = fig.walk("step", 1, STEPS);
  const rewound = () => {
    if (fresh) fig.state.step = 0;
    fresh = false;
    rewind();
  };
  fig.bar(
    fig.player({ words: ["▶ Train", "❚❚ Pause"], step, rewind: rewound }),
    button("new start", () => fig.set({ seed: fig.state.seed + 1 }), {
      title: "Draw other weights to start from",
    }),
  );
  fig.row("17rem");
  const left = weights
    ? fig.plot({
        title: "The weights",
        note: "a: what is read; M: how it is compared; |a| = 1",
        axes: false,
        equal: true,
        tallest: 330,
        legend: false,
      })
    : fig.plot({
        title: "Predictions",
        note: "a dot is a prompt; up: the layer, across: one gradient step",
        aspect: 0.8,
        legend: false,
      });
  const curve = fig.plot({
    title: "Loss above the best",
    note: "(L − L*)/L*, by step",
    x: [0, 1.03 * STEPS],
    yLog: true,
    xTicks: 4,
    aspect: 0.8,
    legend: false,
  });
  fig.controls([
    slider("step", { label: "training step", min: 0, max: STEPS, whole: true, actor: "layer" }),
    slider("d", { label: "dimension d", min: 2, max: 7, whole: true }),
    slider("n", { label: "examples n", min: 1, max: 100, log: true, whole: true }),
    slider("noise_variance", { label: "noise σ²", min: 0, max: 3, step: 0.05 }),
  ]);

  const showWeights = ({ d, step: at }) => {
    const { a, M } = objective,
      sign = Math.hypot(...a) * (a[d] < 0 ? -1 : 1) || 1,
      rows = Array.from({ length: d + 1 }, (_, i) => i);
    const roomy = d < 7,
      names = rows.map((i) => (i < d ? `x_${i + 1}` : "y")),
      number = (x) => (Math.abs(x) < 5e-4 ? "0" : x.toFixed(3).replace("-", "−").replace("0.", "."));
    left.show({
      x: [-0.6, d + 1.5],
      y: [-d - 1, 0.8],
      marks: [
        cells(
          rows.map((i) => [a[i] / sign]),
          { limit: 1, numbers: roomy && number },
        ),
        cells(
          rows.map((i) => Array.from({ length: d }, (_, j) => M[i * d + j] * sign)),
          { at: [1.5, 0], limit: 1.6 * task.step[0], numbers: roomy && number },
        ),
        text([0.5, 0.4], "a", { anchor: "middle", strong: true }),
        text([1.5 + d / 2, 0.4], "M", { anchor: "middle", strong: true }),
        ...rows.map((i) => text([0, -i - 0.5], names[i], { anchor: "end", shift: [-6, 0] })),
      ],
      alt: `The weights a and M after ${at} steps; the diagonal of M begins with ${number(M[0] * sign)}.`,
    });
    return M[0] * sign;
  };
  const showPredictions = ({ step: at }, w) => {
    const most = 1.15 * Math.max(...prompts.map(({ gd }) => Math.abs(gd)));
    left.show({
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
          prompts.map((each) => [each.gd, clamp(predict(objective, w, each), -most, most)]),
          { actor: "layer", size: 4, opacity: 0.7 },
        ),
      ],
      alt: `Predictions of the layer after ${at} steps against those of one gradient step.`,
    });
  };

  return fig.begin((s) => {
    prepare(s);
    const { w, loss, excess } = run[s.step],
      heights = run.map((each, k) => [k, Math.max(each.excess, 1e-15)]),
      top = Math.max(...heights.map(([, y]) => y)),
      low = Math.min(...heights.map(([, y]) => y));
    objective.effective(w);
    const corner = weights ? showWeights(s) : NaN;
    if (!weights) showPredictions(s, w);
    curve.yText = (y) => power(Math.round(Math.log10(y)));
    curve.show({
      y: [10 ** Math.floor(Math.log10(low)), 10 ** Math.ceil(Math.log10(top))],
      marks: [
        line(heights, { actor: "muted", dash: "", width: 1 }),
        line(heights.slice(0, s.step + 1), { actor: "layer" }),
        rule({ x: s.step }),
        dots([heights[s.step]], { actor: "layer", size: 5, opacity: 1 }),
      ],
      alt:
        `The relative excess falls from ${short(top)} to ${short(low)}; ` +
        `at step ${s.step} it is ${short(Math.max(excess, 0))}.`,
    });
    fig.say(
      `Step ${s.step}: `,
      by("layer", `L = ${loss.toFixed(4)}`),
      ", ",
      by("theory", `L* = ${task.best.toFixed(4)}`),
      `, ${excess < 1e-12 ? "no difference left" : `${short(100 * excess)} % above`}. `,
      ...(weights
        ? [
            by("layer", `M begins with ${corner.toFixed(4)}`),
            ", ",
            by("gd", `η* = ${task.step[0].toFixed(4)}`),
            ". ",
          ]
        : []),
      ends,
    );
    fig.numbers({ loss, best: task.best, excess });
  });
}
