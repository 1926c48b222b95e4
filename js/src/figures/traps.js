import { button, slider } from "../kit/controls.js";
import { count, short } from "../kit/dom.js";
import { by, Figure } from "../kit/figure.js";
import { dots, handle, line, rule, text } from "../kit/marks.js";
import { Adam, randomWeights } from "../math/descend.js";
import { angleOf, atAngle, leastLoss, trapAngles } from "../math/landscape.js";
import { normals } from "../math/linalg.js";
import { Objective } from "../math/loss.js";
import { trapsPython } from "../math/python.js";
import { clamp } from "../math/scalar.js";
import { makeTask } from "../math/task.js";

// The landscape of H heads as a curve: a ball that rolls down it, and real layers that are trained beside it.

const RUNS = 12,
  BALL = 9,
  STEPS = 900,
  RIGHT = Math.PI / 2,
  DEGREE = 180 / Math.PI;

/** @param {import("../kit/figure.js").Given} given */
export function render(given) {
  const fig = new Figure(given, { d: 2, n: 6, noise_variance: 0.3, heads: 1, angle: 74, seed: 1 });
  fig.linked({ angle: [0, 90], seed: [0, 1e9] });
  fig.python = trapsPython;
  let runs = [],
    done = 0;
  const taskOf = ({ d, n, noise_variance: noise, heads }) => ({ d, n, noise, heads });
  const start = () => {
    const task = taskOf(fig.state),
      exact = makeTask({ ...task }),
      size = task.d + 1;
    runs = Array.from({ length: RUNS }, (_, k) => {
      const objective = new Objective(exact, task.heads),
        w = randomWeights(task.d, task.heads, 0.1, 977 * fig.state.seed + k);
      return {
        objective,
        w,
        adam: new Adam(objective),
        at: () => {
          const loss = objective.loss(w);
          return [angleOf(objective.a, task.heads, size) * DEGREE, loss];
        },
      };
    });
    done = 0;
  };
  fig.changed = (changes) => {
    if (["d", "n", "noise_variance", "heads", "seed"].some((name) => name in changes)) {
      fig.stop?.();
      start();
    }
  };
  const roll = () => {
    const task = taskOf(fig.state),
      h = 1e-4,
      slope = (x) => (atAngle(Math.min(x + h, RIGHT), task) - atAngle(Math.max(x - h, 0), task)) / (2 * h);
    let x = fig.state.angle / DEGREE;
    for (let k = 0; k < 6; k++) x = clamp(x - (0.02 * slope(x)) / task.d, 0, RIGHT);
    const rolled = Math.abs(x * DEGREE - fig.state.angle);
    fig.state.angle = x * DEGREE;
    return rolled > 1e-3;
  };
  const step = () => {
    const rolls = roll();
    if (done < STEPS) {
      for (const { w, adam } of runs)
        for (let k = 0; k < 4; k++) adam.step(w, 0.02 * (1 - (done + k) / (STEPS + 1)));
      done += 4;
    }
    return rolls || done < STEPS;
  };
  const again = () => {
    const { seed, d, heads } = fig.state,
      normal = normals(31 * seed + 5),
      size = d + 1;
    const rows = Float64Array.from({ length: heads * size }, normal);
    fig.set({ seed: seed + 1, angle: angleOf(rows, heads, size) * DEGREE });
  };
  const run = fig.player({ words: ["▶ Roll and train", "❚❚ Pause"], step });
  fig.bar(run, button("another start", again));
  const plot = fig.plot({
    x: [-3, 93],
    xLabel: "angle of the values to the label, in degrees",
    yLabel: "loss",
    aspect: 0.55,
    legend: false,
    xTicks: [0, 15, 30, 45, 60, 75, 90],
  });
  fig.controls([
    slider("heads", { label: "heads H", min: 1, max: 4, whole: true, actor: "layer" }),
    slider("d", { label: "dimension d", min: 2, max: 6, whole: true }),
    slider("n", { label: "examples n", min: 1, max: 200, log: true, whole: true }),
    slider("noise_variance", { label: "noise σ²", min: 0, max: 10, step: 0.1 }),
  ]);
  start();
  return fig.begin((s) => {
    const task = taskOf(s),
      best = leastLoss(0, task),
      silent = s.d + s.noise_variance,
      V = (degrees) => atAngle(degrees / DEGREE, task);
    const traps = trapAngles(task).map((angle) => [angle * DEGREE, atAngle(angle, task)]),
      places = runs.map(({ at }) => at());
    const points = Array.from({ length: 301 }, (_, i) => [0.3 * i, V(0.3 * i)]),
      span = silent - best;
    const caught = places.filter(([, loss]) =>
        traps.some(([, height]) => Math.abs(loss / height - 1) < 1e-3),
      ).length,
      home = places.filter(([, loss]) => loss < best * 1.001).length;
    plot.show({
      y: [best - 0.12 * span, silent + 0.12 * span],
      marks: [
        rule({ y: best }),
        text([90, best], "best loss L*", { anchor: "end", shift: [-4, -9], actor: "muted" }),
        rule({ y: silent }),
        text([0, silent], "answers 0", { shift: [6, 12], actor: "muted" }),
        line(points, { actor: "theory", dash: "" }),
        ...traps.map((at) =>
          text(at, `trap: ${caught} of ${RUNS}`, { anchor: "middle", shift: [0, 20], strong: true }),
        ),
        text([0, best], `${home} of ${RUNS}`, { actor: "layer", shift: [8, 13], strong: true }),
        dots(places, { actor: "layer", size: 5, opacity: 0.8 }),
        handle("ball", [s.angle, V(s.angle) + 0.05 * span], {
          label: "ball on the curve",
          actor: "accent",
          size: BALL,
          along: "x",
          says: `${short(s.angle)} degrees`,
          move: ([x]) => fig.set({ angle: x }),
        }),
      ],
      alt:
        `The loss against the angle for ${count(s.heads, "head")}, ` +
        `with ${traps.length ? "a trap" : "no trap"}; a ball at ${short(s.angle)} degrees, ${RUNS} layers in training.`,
    });
    const ball = traps.some(([x]) => Math.abs(x - s.angle) < 2)
      ? "in the trap"
      : s.angle < 2
        ? "at the optimum"
        : `at ${short(s.angle)}°`;
    fig.say(
      traps.length
        ? `There is a trap at ${short(traps[0][0])}°, ${short(100 * (traps[0][1] / best - 1))} % above the best loss. `
        : s.heads > s.d
          ? `With more heads than inputs every angle is as good as the best. `
          : `No trap for ${count(s.heads, "head")} here. `,
      "The ",
      by("accent", `ball is ${ball}`),
      `. After ${done} steps `,
      by("layer", `${home} of ${RUNS} layers are at the optimum`),
      `, ${caught} in the trap.`,
    );
    fig.numbers({
      best,
      traps: traps.map(([, height]) => height),
      angle: s.angle,
      ball: V(s.angle),
      home,
      caught,
      done,
    });
  });
}
