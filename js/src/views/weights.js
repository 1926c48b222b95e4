import { make, short } from "../kit/dom.js";
import { Grid } from "../kit/grid.js";
import { clamp } from "../math/scalar.js";

// The playground's weights: a and M of every head as coloured cells, to be changed by hand, beside those of one
// step of gradient descent.

/**
 * { rebuild, paint } for the panel `place`; `hand(weights)` hears of what a hand has changed, `done()` when it
 * lets go.
 * @param {HTMLElement} place
 * @param {import("../math/trainer.js").Trainer} trainer
 * @param {{ hand: (weights: Float64Array) => void, done: () => void }} hear
 */
export function weightGrids(place, trainer, { hand, done }) {
  let grids = [];
  /**
   * |a| of a head with the sign of its last entry, and the largest entry of the step's M at the scale |a| = 1.
   */
  const scaleOf = (head) => {
    const { objective, task } = trainer,
      a = objective.a.subarray(head * objective.size, (head + 1) * objective.size);
    return {
      norm: (Math.hypot(...a) || 1) * (a[objective.d] < 0 ? -1 : 1),
      unit: Math.max(...task.P.map(Math.abs)) * Math.hypot(1, ...task.mean) || 0.1,
    };
  };
  const nudge = (head, row, column, by) => {
    const { objective, weights } = trainer,
      { norm, unit } = scaleOf(head);
    objective.nudge(weights, head, row, column, column < 0 ? by * norm : (by * unit) / norm);
    objective.effective(weights);
    hand(weights);
  };
  /** a or M of a head; `own`: of the layer, not of the step beside it. */
  const grid = (d, heads, head, M, own) => {
    const name = M ? "M" : "a",
      entry = (r, c) => {
        const { a, M: all } = trainer.objective;
        return M ? all[(head * (d + 1) + r) * d + c] : a[head * (d + 1) + r];
      };
    return new Grid({
      rows: d + 1,
      columns: M ? d : 1,
      title: own ? name + (heads > 1 && M ? `, head ${head + 1}` : "") : M ? "M of one GD step" : "a",
      name: own
        ? `${name} of head ${head + 1}: arrow keys walk, plus and minus change a weight`
        : `${name} of one GD step`,
      move: own && ((r, c, by) => nudge(head, r, M ? c : -1, by)),
      says: (r, c) => `${name}, row ${r + 1}${M ? `, column ${c + 1}` : ""} = ${short(entry(r, c))}`,
      done,
    });
  };
  return {
    rebuild({ d, heads }) {
      place.style.setProperty("--cell", `${clamp(Math.floor(125 / (d + 1)), 12, 28)}px`);
      const pair = (head, own) => ({
        a: grid(d, heads, head, false, own),
        M: grid(d, heads, head, true, own),
      });
      grids = [...Array.from({ length: heads }, (_, i) => pair(i, true)), pair(0, false)];
      place.querySelector(".grids")?.remove();
      const nodes = grids.map(({ a, M }) => make("div", { className: "pair" }, a.node, M.node));
      place.append(make("div", { className: "grids" }, ...nodes));
    },
    paint() {
      const {
          objective: { size, d, heads, a, M },
          task,
        } = trainer,
        { unit } = scaleOf(0),
        norm = Math.hypot(1, ...task.mean);
      for (let i = 0; i < heads; i++) {
        const { norm: own } = scaleOf(i);
        grids[i].a.paint(Array.from(a.subarray(i * size, (i + 1) * size), (x) => x / own));
        grids[i].M.paint(Array.from(M.subarray(i * size * d, (i + 1) * size * d), (x) => (x * own) / unit));
      }
      grids[heads].a.paint([...task.mean.map((x) => -x / norm), 1 / norm]);
      grids[heads].M.paint(
        Array.from({ length: size * d }, (_, k) =>
          k < d * d ? (task.P[(k % d) * d + Math.floor(k / d)] * norm) / unit : 0,
        ),
      );
    },
  };
}
