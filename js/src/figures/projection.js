import { button, slider } from "../kit/controls.js";
import { short } from "../kit/dom.js";
import { by, Figure } from "../kit/figure.js";
import { dots, graph, line, rule, text } from "../kit/marks.js";
import { atAngle, trapAngles } from "../math/landscape.js";
import { identity } from "../math/linalg.js";
import { pace, placeOf, STEPS, trainingRun } from "../math/training.js";
import { barMarks, DEEP, FRAME, planeMarks, REACH } from "../views/plane.js";

// Why one step is optimal, and why training may miss it. Predictors are points, their distance is
// √E(difference)². Every layer has its place on a half plane: across, the step that is hidden in it; into the
// page, all else that it says. The truth stands above the plane, one step is its foot. A dragged layer is
// g Xᵀy·x_q + e (XᵀX u)·x_q, a = (e u, g), M = [I; 0], |u| = 1; a trained one walks to where it belongs.

const DEGREES = 180 / Math.PI;
const TRAP = { d: 3, n: 40, noise_variance: 0.25, seed: 3 },
  NONE = { d: 5, n: 10, noise_variance: 0.25, seed: 1 };
const same = (task, s) => Object.keys(task).every((name) => name === "seed" || s[name] === task[name]);

/** @param {import("../kit/figure.js").Given} given */
export function render(given) {
  const fig = new Figure(given, { ...NONE, across: 0.9, into: -1.1, step: 0, dragged: true });
  fig.linked({ across: REACH, into: DEEP, seed: [0, 1e9] });
  let run, path, silent;
  const retask = () => {
    run = trainingRun(fig.state);
    path = run.steps.map(({ w }) => placeOf(run.objective, w));
    silent = Math.sqrt(fig.state.d * fig.state.n * run.task.step[0]); // from the foot to the answer 0
  };
  fig.changed = (changes) => {
    if (["d", "n", "noise_variance", "seed"].some((name) => name in changes)) {
      fig.stop();
      retask();
      Object.assign(fig.state, {
        step: 0,
        dragged: "dragged" in changes ? changes.dragged : fig.state.dragged,
      });
    }
  };
  let at = 0;
  fig.bar(
    fig.player({
      words: ["▶ Train a layer", "❚❚ Pause"],
      step: () => {
        at = Math.min(STEPS, at + pace(at));
        fig.state.step = Math.floor(at);
        return at < STEPS;
      },
      rewind: () => {
        if (fig.state.dragged || fig.state.step === STEPS) fig.state.step = 0;
        fig.state.dragged = false;
        at = fig.state.step;
      },
    }),
    button("another start", () => {
      fig.set({ seed: fig.state.seed + 1, dragged: false });
      fig.start();
    }),
    button(
      (s) => (same(TRAP, s) ? "a task without a trap" : "a task with a trap"),
      () => fig.set({ ...(same(TRAP, fig.state) ? NONE : TRAP), dragged: false }),
    ),
  );
  fig.row("17rem");
  const space = fig.plot({
    title: "What the layer can say",
    note: "drag the layer; distance: √E(difference)²",
    axes: false,
    equal: true,
    tallest: 330,
    legend: false,
  });
  const hill = fig.plot({
    title: "The best loss at every angle of a",
    note: "0° reads labels, as one step does",
    x: [-4, 90],
    xTicks: [0, 30, 60, 90],
    xText: (x) => `${x}°`,
    yLabel: "loss L",
    xLabel: "angle of a to the label",
    aspect: 0.55,
    tallest: 300,
    legend: false,
  });
  fig.row();
  const bars = fig.plot({ aspect: 0.11, tallest: 76, axes: false, legend: false });
  fig.say("");
  fig.line.classList.add("roomy");
  fig.controls([
    slider("n", { label: "examples n", min: 4, max: 60, whole: true, log: true }),
    slider("d", { label: "dimension d", min: 1, max: 5, whole: true }),
    slider("noise_variance", { label: "noise σ²", min: 0, max: 1, step: 0.05 }),
  ]);
  retask();

  /** The layer that is shown: its weights, and where it stands. */
  const layerOf = ({ d, n, across, into, dragged, step }) => {
    const { objective, task, steps } = run,
      eta = task.step[0];
    if (!dragged) return { w: steps[step].w, ...path[step], into: -path[step].rest };
    const a = new Float64Array(d + 1),
      M = new Float64Array((d + 1) * d);
    a[0] = into / Math.sqrt(n * (n + d + 1)); // by √E|XᵀX u|²
    a[d] = eta + across / Math.sqrt((d * n) / eta); // by √E|Xᵀy|²
    M.set(identity(d));
    const w = objective.weightsOf(a, M);
    return { w, ...placeOf(objective, w), into, e: a[0], g: a[d] };
  };
  return fig.begin((s) => {
    const { task, objective } = run,
      { best, q } = task,
      layer = layerOf(s),
      loss = objective.loss(layer.w), // by itself, as the distance is
      { distance } = layer,
      angle = layer.angle * DEGREES,
      one = { d: s.d, n: s.n, noise: s.noise_variance, heads: 1 },
      V = (degrees) => atAngle(degrees / DEGREES, one),
      traps = trapAngles(one).map((each) => [each * DEGREES, V(each * DEGREES)]);
    space.show({
      ...FRAME,
      marks: planeMarks({
        high: Math.sqrt(best),
        silent,
        walked: s.dragged ? [] : path.slice(0, s.step + 1).map(({ across, rest }) => [across, -rest]),
        ...layer,
        move: ([across, into]) => {
          fig.stop();
          fig.set({ across, into, dragged: true });
        },
      }),
      alt:
        `A plane of predictors, the truth above it, its foot, one step, ` +
        `and a layer at distance ${short(Math.sqrt(distance))} from the foot.`,
    });
    const most = best + REACH[0] ** 2 + DEEP[0] ** 2, // where the hand can take it
      top = q + 0.35 * (q - best);
    hill.show({
      y: [best - 0.12 * (q - best), top],
      marks: [
        rule({ y: best }),
        text([90, best], "one step, L*", { actor: "gd", anchor: "end", shift: [-4, 11], strong: true }),
        graph(V, { actor: "theory", from: 0, width: 2.5, dash: "" }),
        ...traps.map((place) => text(place, "trap", { anchor: "middle", shift: [0, 18], strong: true })),
        line(
          [
            [angle, best],
            [angle, Math.min(loss, top)],
          ],
          { width: 2.5 },
        ),
        dots([[angle, Math.min(loss, top)]], { actor: "layer", size: 8, opacity: 1 }),
      ],
      alt:
        `The least loss against the angle, with ${traps.length ? "a trap" : "no trap"}; ` +
        `the layer is at ${short(angle)} degrees and loses ${short(loss)}.`,
    });
    bars.show({
      x: [0, most],
      y: [0, 2],
      marks: barMarks(loss, best, distance),
      alt: `L = ${short(loss)} is as long as L* = ${short(best)} and the squared distance ${short(distance)} together.`,
    });
    const caught = traps.some(([, height]) => Math.abs(loss / height - 1) < 1e-3),
      state = s.dragged
        ? "Nothing is nearer to the truth than the foot, one step. "
        : caught
          ? `Step ${s.step}: caught in the trap. One step is better, but the way there leads over the hill. `
          : distance < 1e-3 * best
            ? `Step ${s.step}: the layer has come to the foot. It is one step. `
            : `Step ${s.step} of training. `;
    fig.say(
      state,
      by("layer", `L − L* = ${(loss - best).toFixed(6)}`),
      ` and distance² = ${distance.toFixed(6)}: the same, wherever the layer is.`,
    );
    fig.numbers({
      e: layer.e ?? NaN,
      g: layer.g ?? NaN,
      loss,
      best,
      distance,
      across: layer.across,
      rest: layer.rest,
      angle,
      traps: traps.map(([, height]) => height),
    });
  });
}
