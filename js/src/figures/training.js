import { button, slider } from "../kit/controls.js";
import { short } from "../kit/dom.js";
import { by, Figure } from "../kit/figure.js";
import { cells, dots, handle, line, rule, text } from "../kit/marks.js";
import { predict } from "../math/loss.js";
import { trainingPython } from "../math/python.js";
import { clamp } from "../math/scalar.js";
import { samplePrompts } from "../math/task.js";
import { pace, STEPS, trainingRun } from "../math/training.js";

// One layer trains on the exact loss; the whole run is kept, to be walked through. First the reader guesses
// where it will end: the weights' figure follows the diagonal of M, that of predictions the loss.

const PROMPTS = 80,
  HEIGHTS = [0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20]; // of the axis

const FIRST = 0.7; // where step 0 is drawn on an axis that gives most room to the first steps

const number = (x) =>
  Math.abs(x) < 5e-4
    ? "0"
    : x
        .toFixed(3)
        .replace("-", "−")
        .replace(/^(−?)0\./, "$1.");

/** @param {import("../kit/figure.js").Given} given */
export function render(given) {
  const fig = new Figure(given, {
    show: "weights",
    d: 5,
    n: 10,
    noise_variance: 0.25,
    seed: 1,
    step: 0,
    seen: 0, // how much of the run has been shown
    guess: 0.65, // of the axis
  });
  fig.linked({ guess: [0, 1], seed: [0, 1e9] });
  fig.python = trainingPython;
  const weights = fig.state.show === "weights";
  let key = null,
    run,
    prompts;
  const prepare = (s) => {
    const now = [s.d, s.n, s.noise_variance, s.seed].join();
    if (now === key) return;
    key = now;
    run = trainingRun(s);
    prompts = samplePrompts(run.task, PROMPTS, 7);
  };
  fig.settle = (s) => {
    s.seen = Math.max(s.seen, s.step);
  };
  let at = 0; // between two steps
  const play = fig.player({
    words: ["▶ Train", "❚❚ Pause"],
    step: () => {
      at = Math.min(STEPS, at + pace(at));
      fig.state.step = Math.floor(at);
      return at < STEPS;
    },
    rewind: () => {
      if (fig.state.step === STEPS) fig.state.step = 0;
      at = fig.state.step;
    },
  });
  fig.bar(
    play,
    button(
      "new start",
      () => {
        fig.stop();
        fig.set({ seed: fig.state.seed + 1, step: 0, seen: 0 });
        fig.start();
      },
      { title: "Draw other weights, and train from there" },
    ),
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
    title: weights ? "The diagonal of M" : "The loss L",
    note: weights ? "M_{11}, M_{22}, …, by step; ○ your guess" : "by step; ○ your guess",
    x: [FIRST, 1.1 * STEPS],
    xLog: true,
    xTicks: [1, 3, 10, 30, 100, STEPS],
    aspect: 0.8,
    legend: false,
  });
  fig.say("");
  fig.line.classList.add("roomy");
  fig.controls([
    slider("step", { label: "training step", min: 0, max: STEPS, whole: true, actor: "layer" }),
    slider("d", { label: "dimension d", min: 2, max: 7, whole: true }),
    slider("n", { label: "examples n", min: 1, max: 100, log: true, whole: true }),
    slider("noise_variance", { label: "noise σ²", min: 0, max: 3, step: 0.05 }),
  ]);

  /** a and M at the scale |a| = 1, a reading labels with a positive sign. */
  const scaled = (w, d) => {
    const { objective } = run;
    objective.effective(w);
    const { a, M } = objective,
      sign = Math.hypot(...a) * (a[d] < 0 ? -1 : 1) || 1;
    return { a: Array.from(a, (x) => x / sign), M: Array.from(M, (x) => x * sign) };
  };
  const diagonal = (w, d) => {
    const { M } = scaled(w, d);
    return Array.from({ length: d }, (_, j) => M[j * d + j]);
  };
  const showWeights = ({ d, step: k }, w) => {
    const { a, M } = scaled(w, d),
      rows = Array.from({ length: d + 1 }, (_, i) => i),
      numbers = d < 7 && number;
    left.show({
      x: [-0.6, d + 1.5],
      y: [-d - 1, 0.8],
      marks: [
        cells(
          rows.map((i) => [a[i]]),
          { limit: 1, numbers },
        ),
        cells(
          rows.map((i) => M.slice(i * d, i * d + d)),
          { at: [1.5, 0], limit: 1.6 * run.task.step[0], numbers },
        ),
        text([0.5, 0.4], "a", { anchor: "middle", strong: true }),
        text([1.5 + d / 2, 0.4], "M", { anchor: "middle", strong: true }),
        ...rows.map((i) =>
          text([0, -i - 0.5], i < d ? `x_${i + 1}` : "y", { anchor: "end", shift: [-6, 0] }),
        ),
      ],
      alt: `The weights a and M after ${k} steps; M_11 is ${number(M[0])}.`,
    });
  };
  const showPredictions = ({ step: k }, w) => {
    const most = 1.15 * Math.max(...prompts.map(({ gd }) => Math.abs(gd)));
    run.objective.effective(w);
    left.show({
      x: [-most, most],
      y: [-most, most],
      marks: [
        line(
          [-most, most].map((x) => [x, x]),
          { actor: "gd" },
        ),
        dots(
          prompts.map((each) => [each.gd, clamp(predict(run.objective, w, each), -most, most)]),
          { actor: "layer", size: 4, opacity: 0.7 },
        ),
      ],
      alt: `Predictions of the layer after ${k} steps against those of one gradient step.`,
    });
  };

  return fig.begin((s) => {
    prepare(s);
    const { seen } = s,
      { task, steps } = run,
      { w, loss, excess } = steps[s.step],
      goal = weights ? task.step[0] : task.best,
      values = (each) => (weights ? diagonal(each.w, s.d) : [each.loss]),
      now = values(steps[s.step]),
      done = seen === STEPS,
      high = weights ? HEIGHTS.find((each) => each > 2 * goal) : 1.15 * task.q,
      guess = s.guess * high;
    if (weights) showWeights(s, w);
    else showPredictions(s, w);
    const courses = now.map((_, j) =>
      steps.slice(0, seen + 1).map((each, k) => [Math.max(k, FIRST), values(each)[j]]),
    );
    curve.show({
      y: weights ? [-0.12 * high, high] : [0, high],
      marks: [
        ...(done
          ? [
              rule({ y: goal }, { actor: weights ? "gd" : "theory" }),
              text([STEPS, goal], weights ? "η*" : "L*", {
                actor: weights ? "gd" : "theory",
                strong: true,
                anchor: "end",
                shift: [-14, guess > goal ? 12 : -12],
              }),
            ]
          : []),
        ...courses.map((points) => line(points, { actor: "muted", dash: "", width: 1 })),
        ...courses.map((points) =>
          line(points.slice(0, s.step + 1), { actor: "layer", width: weights ? 1.5 : 2.5 }),
        ),
        rule({ x: Math.max(s.step, FIRST) }),
        dots(
          now.map((y) => [Math.max(s.step, FIRST), y]),
          { actor: "layer", size: weights ? 3.5 : 5, opacity: 1 },
        ),
        text([STEPS, guess], "your guess", { actor: "accent", strong: true, anchor: "end", shift: [-14, 0] }),
        handle("your guess", [STEPS, guess], {
          actor: "accent",
          along: "y",
          bounds: [
            [0, STEPS],
            [0, high],
          ],
          says: short(guess),
          move: ([, y]) => fig.set({ guess: y / high }),
        }),
      ],
      alt:
        `${weights ? "The diagonal of M" : "The loss"} up to step ${seen}; ` +
        `your guess is that it ends at ${short(guess)}.`,
    });
    const goalText = weights ? by("gd", `η* = ${goal.toFixed(4)}`) : by("theory", `L* = ${goal.toFixed(4)}`);
    if (seen === 0) {
      const what = weights ? "will the diagonal of M end" : "will the loss end";
      fig.say(`Where ${what}? Drag your guess, ${short(guess, 2)} now, then press ▶.`);
    } else {
      const ratio = guess / (weights ? diagonal(steps[STEPS].w, s.d)[0] : steps[STEPS].loss),
        verdict =
          Math.abs(ratio - 1) < 0.1
            ? `Your guess, ${short(guess, 2)}, was close. `
            : `Your guess was ${short(guess, 2)}, ${ratio > 1 ? "too high" : "too low"}. `;
      const found = weights
        ? [
            by("layer", `M_{11} = ${now[0].toFixed(4)}`),
            excess < 1e-9 ? "; L is L*, to nine digits. " : `; L is ${short(100 * excess, 2)} % above L*. `,
          ]
        : [by("layer", `L = ${loss.toFixed(4)}`), ". "];
      const ends = {
        optimum: "It ends at ",
        trap: "This start ends in a trap, above ",
        "": `${STEPS} steps are not enough to reach `,
      };
      fig.say(`Step ${s.step}: `, ...found, ...(done ? [ends[run.end], goalText, ". ", verdict] : []));
    }
    fig.numbers({ loss, best: task.best, excess, goal, diagonal: diagonal(w, s.d) });
  });
}
