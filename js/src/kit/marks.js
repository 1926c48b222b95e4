import palette from "../../../lsa/show/palette.json" with { type: "json" };
import { clamp } from "../math/scalar.js";
import { rich, svg } from "./dom.js";
import { textWidth } from "./scales.js";
import { DASHES } from "./style.js";

/**
 * @typedef {import("./plot.js").Plot} Plot
 * @typedef {import("./plot.js").Mark} Mark
 * @typedef {{ actor?: string, label?: string, width?: number, dash?: string, opacity?: number }} Look
 */

// What a plot can draw, in the units of its axes. Each mark may have an `actor`: "layer", "gd", "bayes",
// "theory", or "ink", "muted", "accent". A line with a `label` is named at its right end.

const path = (plot, points, closed = false) => {
  let d = "",
    pen = "M";
  for (const [x, y] of points) {
    const px = plot.X(x),
      py = plot.Y(y);
    if (!Number.isFinite(px) || !Number.isFinite(py)) {
      pen = "M";
      continue;
    }
    d += `${pen}${px.toFixed(2)},${clamp(py, -1e4, 1e4).toFixed(2)}`;
    pen = "L";
  }
  return closed && d ? `${d}Z` : d;
};

/** Spots [x, y, radius] on a curve, a few pixels apart: letters keep off them. */
function along(/** @type {Plot} */ plot, /** @type {number[][]} */ points) {
  /** @type {number[][]} */
  const spots = [];
  let last = [NaN, NaN];
  for (const [x, y] of points) {
    const at = [plot.X(x), plot.Y(y)],
      far = Math.hypot(at[0] - last[0], at[1] - last[1]),
      parts = far < 1000 ? Math.ceil(far / 6) : 1;
    if (far < 3) continue;
    for (let k = 1; k <= parts; k++)
      spots.push([...[0, 1].map((i) => (parts > 1 ? last[i] + ((at[i] - last[i]) * k) / parts : at[i])), 2]);
    last = at;
  }
  return spots.filter((spot) => spot.every(Number.isFinite));
}

/**
 * A curve through points [[x, y], …]; a gap where one is not finite.
 * @param {number[][]} points
 * @param {Look} look
 * @returns {Mark}
 */
export const line = (points, { actor = "ink", label, width = 2.5, dash = DASHES[actor], opacity } = {}) => ({
  actor,
  label,
  dash,
  taken: (plot) => (width < 2 ? [] : along(plot, points)),
  ends: (plot) =>
    plot.Y((points.findLast(([x, y]) => Number.isFinite(y) && x <= plot.x[1]) ?? points.at(-1))[1]),
  draw: (plot) =>
    svg("path", {
      class: `line ${actor}`,
      d: path(plot, points),
      "stroke-width": width,
      "stroke-dasharray": dash,
      opacity,
    }),
});

/**
 * The graph of f over the frame.
 * @param {(x: number) => number} f
 * @param {Look & { from?: number, to?: number, samples?: number }} look
 * @returns {Mark}
 */
export const graph = (f, { from = -Infinity, to = Infinity, samples = 240, ...look } = {}) => {
  const points = (/** @type {Plot} */ { x: [low, high], xLog }) => {
    const [a, b] = [Math.max(low, from), Math.min(high, to)];
    return Array.from({ length: samples + 1 }, (_, i) => {
      const x = xLog ? a * (b / a) ** (i / samples) : a + ((b - a) * i) / samples;
      return [x, f(x)];
    });
  };
  const { actor = "ink", label, dash = DASHES[look.actor] } = look;
  return {
    actor,
    label,
    dash,
    taken: (plot) => line(points(plot), look).taken(plot),
    ends: (plot) => line(points(plot), look).ends(plot),
    draw: (plot) => line(points(plot), look).draw(plot),
  };
};

/**
 * A region inside points [[x, y], …].
 * @param {number[][]} points
 * @param {Look} look
 * @returns {Mark}
 */
export const area = (points, { actor = "ink", opacity = 0.12 } = {}) => ({
  draw: (plot) => svg("path", { class: `fill ${actor}`, d: path(plot, points, true), opacity }),
});

/**
 * Dots of a radius; one on the frame is drawn whole, one beyond it not at all.
 * @param {number[][]} points
 * @param {Look & { size?: number }} look
 * @returns {Mark}
 */
export const dots = (points, { actor = "ink", size = 4, opacity = 0.75 } = {}) => {
  const seen = (/** @type {Plot} */ plot) =>
    points.map(([x, y]) => [plot.X(x), plot.Y(y)]).filter((at) => plot.holds(at));
  return {
    whole: true,
    taken: (plot) => (size < 4 ? [] : seen(plot).map((at) => [...at, size])),
    draw: (plot) =>
      svg(
        "g",
        { class: `fill ${actor}`, opacity },
        ...seen(plot).map(([cx, cy]) => svg("circle", { cx, cy, r: size })),
      ),
  };
};

/**
 * A straight line across the frame: `rule({ x: 3 })` upright, `rule({ y: 0 })` level.
 * @param {{ x?: number, y?: number }} place
 * @param {Look} look
 * @returns {Mark}
 */
export const rule = ({ x, y }, { actor = "muted", width = 1.5, dash = "4 4" } = {}) => ({
  draw: (plot) => {
    const { left, right, top, bottom } = plot.box;
    const d = x === undefined ? `M${left},${plot.Y(y)}H${right}` : `M${plot.X(x)},${top}V${bottom}`;
    return svg("path", { class: `line ${actor}`, d, "stroke-width": width, "stroke-dasharray": dash });
  },
});

/**
 * @param {number[]} from
 * @param {number[]} to
 * @param {Look & { head?: number }} look
 * @returns {Mark}
 */
export const arrow = (
  from,
  to,
  { actor = "ink", width = 2.5, dash = DASHES[actor], head = 10, opacity } = {},
) => ({
  layer: "over",
  draw: (plot) => {
    const [x0, y0, x1, y1] = [plot.X(from[0]), plot.Y(from[1]), plot.X(to[0]), plot.Y(to[1])],
      long = Math.hypot(x1 - x0, y1 - y0);
    if (long < 1) return [];
    const tip = Math.min(head, long),
      [u, v] = [(x1 - x0) / long, (y1 - y0) / long],
      at = (back, side) => `${x1 - back * u - side * v},${y1 - back * v + side * u}`;
    return svg(
      "g",
      { opacity },
      svg("path", {
        class: `line ${actor}`,
        d: `M${x0},${y0}L${at(tip * 0.8, 0)}`,
        "stroke-width": width,
        "stroke-dasharray": dash,
      }),
      svg("path", {
        class: `fill ${actor}`,
        d: `M${x1},${y1}L${at(tip, tip * 0.42)}L${at(tip, -tip * 0.42)}Z`,
      }),
    );
  },
});

const LETTER = [13, 5]; // how far letters reach above and below their line

/**
 * Letters at a place, `shift` pixels away from it, or on another side if what is drawn leaves no room there;
 * they may hold an index: "y_q".
 * @param {number[]} place
 * @param {string} words
 * @param {{ actor?: string, anchor?: string, shift?: number[], strong?: boolean }} look
 * @returns {Mark}
 */
export const text = (
  [x, y],
  words,
  { actor = "ink", anchor = "start", shift = [0, 0], strong = false } = {},
) => ({
  layer: "words",
  draw: (plot) => {
    const wide = textWidth(words),
      [dx, dy] = shift,
      /** @type {[number, number, string][]} */
      sides = [[dx, dy, anchor]];
    if (dx || dy) {
      const other = { start: "end", end: "start", middle: "middle" }[anchor];
      sides.push([dx, -dy, anchor], [-dx, dy, other], [-dx, -dy, other]);
    }
    const tries = sides.map(([right, down, from]) => {
      const back = { start: 0, middle: wide / 2, end: wide }[from],
        left = clamp(plot.X(x) + right - back, 0, Math.max(plot.width - wide, 0)), // inside the drawing
        base = clamp(plot.Y(y) + down + 4, LETTER[0], plot.height - LETTER[1]);
      return {
        x: left + back,
        base,
        from,
        box: [left, base - LETTER[0] + 2, left + wide, base + LETTER[1] - 1],
      };
    });
    const { x: at, base, from, box } = plot.freest(tries);
    plot.take(box);
    return svg(
      "text",
      {
        class: `halo ${actor}${strong ? " strong" : ""}`,
        x: at,
        y: base,
        "text-anchor": from,
      },
      ...rich(words, true),
    );
  },
});

/**
 * The ellipse vᵀ A⁻¹ v = 1 of a symmetric A = [[a, b], [b, c]], as points.
 * @param {number[][]} A
 * @param {number[]} centre
 */
export function ellipsePoints([[a, b], [, c]], [x, y] = [0, 0], samples = 120) {
  const mean = (a + c) / 2,
    half = Math.hypot((a - c) / 2, b),
    angle = Math.atan2(2 * b, a - c) / 2;
  const [long, wide] = [Math.sqrt(mean + half), Math.sqrt(Math.max(mean - half, 0))],
    [cos, sin] = [Math.cos(angle), Math.sin(angle)];
  return Array.from({ length: samples + 1 }, (_, i) => {
    const t = (2 * Math.PI * i) / samples,
      u = long * Math.cos(t),
      v = wide * Math.sin(t);
    return [x + cos * u - sin * v, y + sin * u + cos * v];
  });
}

/**
 * Names of what has no end to be named at, in the upper left corner: [[actor, "name", width], …].
 * @param {[string, string, number?][]} entries
 * @returns {Mark}
 */
export const legend = (entries) => ({
  layer: "over",
  draw: ({ box: { left, top } }) =>
    entries.map(([actor, name, width = 2.5], k) =>
      svg(
        "g",
        {},
        svg("path", {
          class: `line ${actor}`,
          d: `M${left + 10},${top + 14 + 19 * k}h26`,
          "stroke-width": width,
          "stroke-dasharray": DASHES[actor],
        }),
        svg(
          "text",
          { class: `strong halo ${actor}`, x: left + 42, y: top + 18 + 19 * k },
          ...rich(name, true),
        ),
      ),
    ),
});

// Positive violet, negative grey, zero the page itself. Orange is gradient descent's.
const [negative, positive] = [palette.negative.figure, palette.positive.figure].map((colour) =>
  [1, 3, 5].map((i) => Number.parseInt(colour.slice(i, i + 2), 16)).join(","),
);
/** The sign of what is negative, for those who do not see the colour. */
export const minus = (/** @type {number} */ x, /** @type {number} */ y, /** @type {number} */ half) =>
  svg("path", { class: "minus", d: `M${x - half},${y}h${2 * half}` });

/** @param {number} x */
export const tint = (x) => `rgba(${x < 0 ? negative : positive},${Math.min(Math.abs(x), 1) * 0.85})`;

/**
 * A matrix [[…], …] as coloured cells, its top left corner at `at`, each cell a unit wide; `limit` has the
 * full colour.
 * @param {number[][]} matrix
 * @param {{ at?: number[], limit?: number, numbers?: false | ((value: number, i: number, j: number) => string) }} look
 * @returns {Mark}
 */
export const cells = (matrix, { at: [x0, y0] = [0, 0], limit = 1, numbers } = {}) => ({
  draw: (plot) =>
    matrix.flatMap((row, i) =>
      row.flatMap((value, j) => {
        const [left, right, top, bottom] = [
          plot.X(x0 + j),
          plot.X(x0 + j + 1),
          plot.Y(y0 - i),
          plot.Y(y0 - i - 1),
        ];
        const box = svg("rect", {
          x: left + 0.5,
          y: top + 0.5,
          width: right - left - 1,
          height: bottom - top - 1,
          rx: 2,
          fill: tint(value / limit),
          class: "cell",
        });
        if (!numbers)
          return value < -0.03 * limit
            ? [box, minus((left + right) / 2, (top + bottom) / 2, (right - left) / 5)]
            : [box];
        return [
          box,
          svg(
            "text",
            { x: (left + right) / 2, y: (top + bottom) / 2 + 4, "text-anchor": "middle" },
            numbers(value, i, j),
          ),
        ];
      }),
    ),
});

/**
 * Lines of equal height of f(x, y), by marching squares on a grid of the frame.
 * @param {(x: number, y: number) => number} f
 * @param {number[]} levels
 * @param {Look & { grid?: number }} look
 * @returns {Mark}
 */
export const contours = (f, levels, { actor = "muted", width = 1.2, grid = 48, opacity = 0.8 } = {}) => ({
  draw: (plot) => {
    const { left, right, top, bottom } = plot.box,
      rows = Math.max(8, Math.round((grid * (bottom - top)) / (right - left)));
    const px = (i) => left + ((right - left) * i) / grid,
      py = (j) => top + ((bottom - top) * j) / rows,
      height = [];
    for (let j = 0; j <= rows; j++)
      height.push(Array.from({ length: grid + 1 }, (_, i) => f(plot.X.invert(px(i)), plot.Y.invert(py(j)))));
    return levels.map((level) => {
      let d = "";
      for (let j = 0; j < rows; j++)
        for (let i = 0; i < grid; i++) {
          const corners = [
              [i, j],
              [i + 1, j],
              [i + 1, j + 1],
              [i, j + 1],
            ],
            cut = [];
          for (let k = 0; k < 4; k++) {
            const [p, q] = [corners[k], corners[(k + 1) % 4]],
              [a, b] = [height[p[1]][p[0]] - level, height[q[1]][q[0]] - level];
            if (a < 0 === b < 0) continue;
            const t = a / (a - b);
            cut.push(`${px(p[0] + t * (q[0] - p[0])).toFixed(1)},${py(p[1] + t * (q[1] - p[1])).toFixed(1)}`);
          }
          for (let k = 0; k + 1 < cut.length; k += 2) d += `M${cut[k]}L${cut[k + 1]}`;
        }
      return svg("path", { class: `line ${actor}`, d, "stroke-width": width, opacity });
    });
  },
});

/**
 * A point to drag, by pointer or arrow keys: `move([x, y])` hears of it; `along` "x" or "y" keeps it on a
 * line; a `negative` one has a minus on it, a `whole` one goes to the next whole number by an arrow key.
 * @param {string} name
 * @param {number[]} at
 * @param {{ move: (to: number[]) => void, label?: string, actor?: string, size?: number, colour?: string,
 *   says?: string, negative?: boolean, whole?: boolean, along?: "x" | "y", bounds?: number[][],
 *   remove?: () => void }} how
 * @returns {Mark}
 */
export const handle = (name, at, { move, label = name, actor = "ink", ...more }) => ({
  kind: "handle",
  name,
  at,
  move,
  label,
  actor,
  ...more,
});
