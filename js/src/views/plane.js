import { short } from "../kit/dom.js";
import { area, dots, handle, line, text } from "../kit/marks.js";
import { clamp } from "../math/scalar.js";

// The plane of what a layer can say, seen from the side, and the truth above it: the marks of the figure
// `projection`. A place is (across, into), the height of the truth is √L*; all are distances √E(difference)².

const DEPTH = [0.4, 0.42]; // how the direction into the page is drawn
export const REACH = [-2.4, 1.5];
export const DEEP = [-1.6, 1];
const TALL = 2.1; // √L* of the task with the highest

const project = (/** @type {number[]} */ [x, y, z]) => [x + DEPTH[0] * y, z + DEPTH[1] * y];
const lift = (/** @type {number[]} */ [u, v]) => [u - (DEPTH[0] / DEPTH[1]) * v, v / DEPTH[1]]; // onto the plane
const onPlane = (...points) => points.map(project);

/** The limits of its plot, the same for every task. */
export const FRAME = {
  x: [REACH[0] + DEPTH[0] * DEEP[0] - 0.05, REACH[1] + DEPTH[0] * DEEP[1] + 0.05],
  y: [DEPTH[1] * DEEP[0] - 0.3, TALL + 0.1],
};

const CORNERS = [
  [REACH[0], DEEP[0], 0],
  [REACH[1], DEEP[0], 0],
  [REACH[1], DEEP[1], 0],
  [REACH[0], DEEP[1], 0],
];
const GRID = [
  ...[-2, -1, 0, 1].map((x) => [
    [x, DEEP[0], 0],
    [x, DEEP[1], 0],
  ]),
  ...[-1, 0, 1].map((y) => [
    [REACH[0], y, 0],
    [REACH[1], y, 0],
  ]),
];

/**
 * @param {{ high: number, silent: number, walked: number[][], across: number, into: number, distance: number,
 *   move: (to: number[]) => void }} seen `high`: √L*; `silent`: how far the answer 0 is from the foot
 */
export function planeMarks({ high, silent, walked, across, into, distance, move }) {
  const foot = [0, 0, 0],
    truth = [0, 0, high],
    layer = [across, into, 0],
    far = Math.hypot(across, into),
    m = 0.17,
    [u, v] = [(m * across) / far, (m * into) / far],
    left = across < 0 ? -1 : 1;
  return [
    area(onPlane(...CORNERS), { actor: "layer", opacity: 0.09 }),
    ...GRID.map((ends) => line(onPlane(...ends), { actor: "muted", width: 1, dash: "", opacity: 0.28 })),
    line(onPlane([REACH[0], 0, 0], [REACH[1], 0, 0]), { actor: "gd", width: 1.5, dash: "", opacity: 0.7 }),
    line(
      walked.map(([x, y]) => project([x, y, 0])),
      { actor: "layer", width: 1.5, dash: "" },
    ),
    line(onPlane(foot, layer), { width: 2.5, dash: "" }),
    line(onPlane(foot, truth), { actor: "gd", width: 3 }),
    line(onPlane(layer, truth), { actor: "layer", width: 3 }),
    ...(far > 0.25 ? [line(onPlane([u, v, 0], [u, v, m], [0, 0, m]), { width: 1 })] : []), // the right angle
    dots(onPlane(foot), { actor: "gd", size: 6, opacity: 1 }),
    dots(onPlane(truth), { size: 6, opacity: 1 }),
    dots(onPlane([-silent, 0, 0]), { actor: "muted", size: 4, opacity: 1 }),
    text(project(truth), "the truth y_q", { shift: [12, -2], strong: true }),
    text(project(foot), "one step", { actor: "gd", strong: true, shift: [12, 14] }),
    text(project([-silent, 0, 0]), "answer 0", { actor: "muted", shift: [0, -13], anchor: "middle" }),
    text(project([REACH[1], 0, 0]), "other steps η", { actor: "gd", shift: [0, -10], anchor: "end" }),
    text(project([REACH[0], DEEP[0], 0]), "↙ all else that it says", { actor: "layer", shift: [0, 14] }),
    ...(far > 0.35
      ? [
          text(project([across / 2, into / 2, 0]), short(Math.sqrt(distance), 2), {
            strong: true,
            shift: [-9 * left, left > 0 ? 9 : 15],
            anchor: left > 0 ? "end" : "start",
          }),
        ]
      : []),
    handle("layer", project(layer), {
      label: "the layer",
      actor: "layer",
      size: 9,
      says: `${short(Math.sqrt(distance))} from one step`,
      move: (to) => {
        const [x, y] = lift(to);
        move([clamp(x, ...REACH), clamp(y, ...DEEP)]);
      },
    }),
  ];
}

/** Two bars as long as each other: L, and L* with the squared distance behind it. */
export function barMarks(loss, best, distance) {
  const bar = (from, to, y, actor, opacity) => {
    const [low, high] = [y - 0.8, y];
    return area(
      [
        [from, high],
        [to, high],
        [to, low],
        [from, low],
      ],
      { actor, opacity },
    );
  };
  return [
    bar(0, loss, 1.9, "layer", 0.75),
    bar(0, best, 0.9, "gd", 0.75),
    bar(best, best + distance, 0.9, "ink", 0.6),
    text([loss, 1.5], `L = ${loss.toFixed(4)}`, { shift: [8, 0], strong: true }),
    text([loss, 0.5], `L* + distance² = ${best.toFixed(4)} + ${distance.toFixed(4)}`, {
      shift: [8, 0],
      strong: true,
    }),
  ];
}
