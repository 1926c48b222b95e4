import { line, text } from "../kit/marks.js";

// Pythagoras: a triangle of three sides that were computed one by one; the angle is right because they say so.

/** The limits of its plot; the longer of the two sides at the right angle has length 1. */
export const TRIANGLE = { x: [-0.25, 1.35], y: [-0.15, 1.08] };

/** Sides √L* and the distance, across from each other √L; the angle by the law of cosines. */
export function triangleMarks(best, distance, loss) {
  const [p, q, r] = [best, distance, loss].map((x) => Math.sqrt(Math.max(x, 0))),
    cos = p * q > 0 ? (p * p + q * q - r * r) / (2 * p * q) : 0,
    sin = Math.sqrt(Math.max(0, 1 - cos * cos)),
    long = Math.max(p, q, 1e-9),
    top = [0, p / long],
    far = [(q / long) * sin, (q / long) * cos],
    m = 0.06;
  const corner = [
    [m, 0],
    [m, m],
    [0, m],
  ];
  return [
    line([[0, 0], top], { actor: "gd", width: 3 }),
    line([[0, 0], far], { width: 3 }),
    line([top, far], { actor: "layer", width: 3 }),
    ...(Math.min(p, q) / long > 0.12 ? [line(corner, { width: 1 })] : []),
    text([0, top[1] / 2], "√L*", { anchor: "end", shift: [-8, 0], actor: "gd" }),
    text([far[0] / 2, far[1] / 2], "distance", { anchor: "middle", shift: [0, 16] }),
    text([far[0] / 2, (top[1] + far[1]) / 2], "√L", { shift: [8, -8], actor: "layer" }),
  ];
}
