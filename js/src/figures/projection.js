import { button, slider } from "../kit/controls.js";
import { short } from "../kit/dom.js";
import { by, Figure } from "../kit/figure.js";
import { area, dots, handle, line, text } from "../kit/marks.js";
import { identity } from "../math/linalg.js";
import { Objective } from "../math/loss.js";
import { clamp } from "../math/scalar.js";
import { makeTask } from "../math/task.js";

// Why one step is optimal, in one picture. Predictors are points, their distance is √E(difference)². What the
// layer can say contains a plane: g Xᵀy·x_q + e (XᵀX u)·x_q, the layers with a = (e u, g), M = [I; 0], |u| =
// 1. The truth stands above it; its foot is one step.

const DEPTH = [0.4, 0.42]; // how the direction into the page is drawn
const project = (/** @type {number[]} */ [x, y, z]) => [x + DEPTH[0] * y, z + DEPTH[1] * y];
// of a point on the plane
const lift = (/** @type {number[]} */ [u, v]) => [u - (DEPTH[0] / DEPTH[1]) * v, v / DEPTH[1]];

/** @param {import("../kit/figure.js").Given} given */
export function render(given) {
  const fig = new Figure(given, { d: 5, n: 10, noise_variance: 0.25, across: 1.1, into: -1.2 }),
    { state } = fig;
  fig.linked({ across: [-4, 2.3], into: [-1.7, 1.8] });
  fig.row("20rem");
  const space = fig.plot({ axes: false, equal: true, tallest: 330, legend: false });
  fig.row();
  const bars = fig.plot({ aspect: 0.11, tallest: 76, axes: false, legend: false });
  fig.bar(
    button("to the foot", () => fig.set({ across: 0, into: 0 })),
    button("answer 0", () => fig.set({ across: -silent, into: 0 })),
  );
  fig.controls([
    slider("n", { label: "examples n", min: 1, max: 60, whole: true, log: true }),
    slider("d", { label: "dimension d", min: 1, max: 10, whole: true }),
    slider("noise_variance", { label: "noise σ²", min: 0, max: 3, step: 0.05 }),
  ]);
  fig.changed = (changes) => {
    // the same layer on another task: at the same place as seen from the foot, if it is there
    if ("n" in changes || "d" in changes || "noise_variance" in changes) retask();
  };
  let task, objective, silent;
  const retask = () => {
    task = makeTask({ d: state.d, n: state.n, noise: state.noise_variance });
    objective = new Objective(task);
    silent = Math.sqrt(state.d * state.n * task.step[0]); // the distance of the answer 0 from the foot
  };
  retask();

  return fig.begin(({ d, n, across, into }) => {
    const eta = task.step[0],
      stepUnit = Math.sqrt((d * n) / eta),
      evenUnit = Math.sqrt(n * (n + d + 1)); // √E|Xᵀy|², √E|XᵀXu|²
    const g = eta + across / stepUnit,
      e = into / evenUnit,
      a = new Float64Array(d + 1),
      M = new Float64Array((d + 1) * d);
    a[0] = e;
    a[d] = g;
    M.set(identity(d));
    const w = objective.weightsOf(a, M),
      loss = objective.loss(w),
      distance = objective.distance(w),
      best = task.best; // each by itself
    const high = Math.sqrt(best),
      foot = [0, 0, 0],
      truth = [0, 0, high],
      layer = [across, into, 0],
      zero = [-silent, 0, 0];
    const reach = [-Math.max(2.1, silent + 0.4), 2.3],
      deep = [-1.7, 1.8],
      at = (...points) => points.map(project),
      grid = [];
    for (let x = Math.ceil(reach[0]); x <= reach[1]; x++)
      grid.push(
        line(at([x, deep[0], 0], [x, deep[1], 0]), { actor: "muted", width: 1, dash: "", opacity: 0.28 }),
      );
    for (let y = Math.ceil(deep[0]); y <= deep[1]; y++)
      grid.push(
        line(at([reach[0], y, 0], [reach[1], y, 0]), { actor: "muted", width: 1, dash: "", opacity: 0.28 }),
      );
    const far = Math.hypot(across, into),
      away = far > 0.25,
      unit = away ? [across / far, into / far] : [1, 0],
      m = 0.17;
    const top = Math.max(high, DEPTH[1] * deep[1] + 0.2) + 0.3;
    space.show({
      x: [reach[0] + DEPTH[0] * deep[0] - 0.1, reach[1] + DEPTH[0] * deep[1] + 0.1],
      y: [DEPTH[1] * deep[0] - 0.1, top],
      marks: [
        area(
          at([reach[0], deep[0], 0], [reach[1], deep[0], 0], [reach[1], deep[1], 0], [reach[0], deep[1], 0]),
          { actor: "layer", opacity: 0.09 },
        ),
        ...grid,
        line(at([reach[0], 0, 0], [reach[1], 0, 0]), { actor: "gd", width: 1.5, dash: "", opacity: 0.7 }),
        line(at(foot, layer), { width: 2.5, dash: "" }),
        line(at(foot, truth), { actor: "gd", width: 3 }),
        line(at(layer, truth), { actor: "layer", width: 3 }),
        ...(away
          ? [line(at([m * unit[0], m * unit[1], 0], [m * unit[0], m * unit[1], m], [0, 0, m]), { width: 1 })]
          : []),
        dots(at(foot), { actor: "gd", size: 6, opacity: 1 }),
        dots(at(truth), { size: 6, opacity: 1 }),
        dots(at(zero), { actor: "muted", size: 4, opacity: 1 }),
        text(project(truth), "the truth y_q", { shift: [12, -2], strong: true }),
        text(project(foot), "one step", { actor: "gd", strong: true, shift: [-10, 16], anchor: "end" }),
        text(project(zero), "answer 0", { actor: "muted", shift: [0, -15], anchor: "middle" }),
        text(project([0, 0, high / 2]), "√L*", { actor: "gd", anchor: "end", shift: [-8, 0] }),
        text(project([across / 2, into / 2, high / 2]), "√L", {
          actor: "layer",
          shift: [across < 0 ? -12 : 10, -6],
          anchor: across < 0 ? "end" : "start",
        }),
        text(project([reach[1], 0, 0]), "other steps η", { actor: "gd", shift: [-8, -11], anchor: "end" }),
        text(project([reach[0], deep[0], 0]), "what the layer can say", { actor: "layer", shift: [26, -11] }),
        handle("layer", project(layer), {
          label: "the layer",
          actor: "layer",
          size: 9,
          says: `step ${short(g)}, even part ${short(e)}`,
          move: (to) => {
            const [x, y] = lift(to);
            fig.set({
              across: clamp(x, ...reach),
              into: clamp(y, ...deep),
            });
          },
        }),
      ],
      alt:
        `A plane of predictors, the truth above it, its foot, one step, ` +
        `and a layer at distance ${short(Math.sqrt(distance))} from the foot.`,
    });
    const most = Math.max(loss, 1.5 * best, 1),
      bar = (from, to, y, actor, opacity) =>
        area(
          [
            [from, y],
            [to, y],
            [to, y - 0.8],
            [from, y - 0.8],
          ],
          { actor, opacity },
        );
    bars.show({
      x: [0, most],
      y: [0, 2],
      marks: [
        bar(0, loss, 1.9, "layer", 0.75),
        bar(0, best, 0.9, "gd", 0.75),
        bar(best, best + distance, 0.9, "ink", 0.6),
        text([0, 1.5], `L = ${loss.toFixed(4)}`, { shift: [6, 0], strong: true }),
        text([0, 0.5], `L* = ${best.toFixed(4)}`, { shift: [6, 0], strong: true }),
        text([best, 0.5], `distance² = ${distance.toFixed(4)}`, { shift: [6, 0], strong: true }),
      ],
      alt: `L = ${short(loss)} is as long as L* = ${short(best)} and the squared distance ${short(distance)} together.`,
    });
    fig.say(
      by("layer", `L − L* = ${(loss - best).toFixed(6)}`),
      ` and distance² = ${distance.toFixed(6)}: the same, wherever you drag the layer. `,
      "Nothing is nearer to the truth than the foot of the perpendicular, and that is ",
      by("gd", `one step with η* = ${short(eta)}`),
      ".",
    );
    fig.numbers({ loss, best, distance, g, e });
  });
}
