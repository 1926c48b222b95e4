import { clamp } from "../math/scalar.js";
// Arithmetic of axes: places of data in pixels, of ticks, and of labels that must not touch.

/**
 * @param {number} low
 * @param {number} high
 */
export function ticks(low, high, about = 5) {
  const raw = (high - low) / about || 1,
    unit = 10 ** Math.floor(Math.log10(raw));
  const by = [1, 2, 5, 10].find((k) => k * unit >= raw * 0.999) * unit,
    found = [];
  for (let x = Math.ceil(low / by - 1e-9) * by; x <= high + 1e-9 * by; x += by)
    found.push(+x.toPrecision(12));
  return found;
}

/**
 * From data to pixels and back; on a log axis, by decades.
 * @param {number[]} domain
 * @param {number[]} pixels
 */
export function scale([low, high], [from, to], log = false) {
  const f = log ? Math.log10 : (x) => x,
    a = f(low),
    span = f(high) - a || 1;
  const at = (x) => from + ((f(x) - a) / span) * (to - from);
  at.invert = (pixel) => {
    const t = a + ((pixel - from) / (to - from)) * span;
    return log ? 10 ** t : t;
  };
  return at;
}

export function decades(low, high, about) {
  const from = Math.ceil(Math.log10(low) - 1e-9),
    to = Math.floor(Math.log10(high) + 1e-9);
  const by = Math.max(1, Math.ceil((to - from) / about)),
    found = [];
  for (let k = to; k >= from; k -= by) found.push(10 ** k);
  return found.length > 1 ? found : ticks(low, high, about);
}

let pen = null;
export function textWidth(text, font = "600 13px system-ui") {
  pen ??= document.createElement("canvas").getContext("2d");
  pen.font = font;
  return pen.measureText(text.replace(/[_^{}]/g, "")).width;
}

/** The places nearest to those given, in the same order, at least `gap` apart and within [0, most]. */
export function spread(places, gap, most) {
  const order = places.map((_, i) => i).sort((i, j) => places[i] - places[j]),
    blocks = [];
  for (const i of order) {
    let block = { centre: places[i], size: 1 };
    for (;;) {
      const half = (gap * (block.size - 1)) / 2,
        last = blocks.at(-1);
      block.centre = clamp(block.centre, half, Math.max(most - half, half));
      if (!last || block.centre - last.centre >= (gap * (block.size + last.size)) / 2) break;
      blocks.pop();
      const size = block.size + last.size;
      block = { centre: (block.centre * block.size + last.centre * last.size) / size, size };
    }
    blocks.push(block);
  }
  const found = [],
    spots = blocks.flatMap(({ centre, size }) =>
      Array.from({ length: size }, (_, k) => centre + gap * (k - (size - 1) / 2)),
    );
  order.forEach((i, k) => {
    found[i] = spots[k];
  });
  return found;
}
