import { short } from "../kit/dom.js";
import { arrow, handle, legend, rule, text, tint } from "../kit/marks.js";

// A prompt in the plane, and the weights that layer, step and ridge make of it, as arrows: the marks of the
// figure `prompt` for d = 2.

const CROSS = ["x", "y"].map((axis) => rule({ [axis]: 0 }, { width: 1, dash: "" }));

/** The examples, in the colours of their labels, and the query. */
export const exampleMarks = ({ query }, { xs, ys }, { move, remove, ask }) => [
  ...CROSS,
  ...xs.map((place, k) =>
    handle(`example ${k + 1}`, place, {
      says: `x = (${short(place[0])}, ${short(place[1])}), y = ${short(ys[k])}`,
      size: 5 + 3 * Math.min(Math.abs(ys[k]), 3),
      colour: tint(Math.sign(ys[k]) * (0.45 + 0.3 * Math.abs(ys[k]))),
      negative: ys[k] < 0,
      move: (to) => move(k, to),
      remove: () => remove(k),
    }),
  ),
  text(query, "x_q", { actor: "accent", strong: true, shift: [13, -10] }),
  handle("query", query, { actor: "accent", move: ask }),
];

/** One step as a chain of η y_i x_i, and the three answers; `move` hears of the true w. */
export function weightMarks({ eta, truth }, { xs, ys, layer, gd, bayes }, move) {
  let at = [0, 0];
  const chain = xs.map((x, k) => {
    const from = at;
    at = at.map((each, i) => each + eta * ys[k] * x[i]);
    return arrow(from, at, { actor: "gd", width: 1.5, dash: "", head: 6, opacity: 0.55 });
  });
  return [
    ...CROSS,
    ...chain,
    arrow([0, 0], bayes, { actor: "bayes" }),
    arrow([0, 0], layer, { actor: "layer", width: 5, head: 15 }),
    arrow([0, 0], gd, { actor: "gd" }),
    legend([
      ["layer", "trained layer", 5],
      ["gd", "one step"],
      ["bayes", "ridge"],
    ]),
    arrow([0, 0], truth, { width: 1.2, dash: "" }),
    text(truth, "true w", { shift: [12, -12], strong: true }),
    handle("true w", truth, { size: 6, move }),
  ];
}
