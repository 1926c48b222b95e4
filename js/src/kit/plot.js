import { clamp } from "../math/scalar.js";
import { power, rich, short, spoken, svg } from "./dom.js";
import { minus } from "./marks.js";
import { decades, scale, spread, textWidth, ticks } from "./scales.js";
import { DASHES } from "./style.js";

// A frame with axes that draws marks (marks.js) and lets handles be dragged. Everything is in pixels of the
// place it has, so that letters keep their size on a phone; it is drawn anew when that place changes.

let count = 0;

const REACH = 22; // pixels from a handle's middle within which it is taken hold of: a finger's width

/**
 * @typedef {"aspect" | "tallest" | "x" | "y" | "xLog" | "yLog" | "equal" | "axes" | "legend"} Frame
 * @typedef {"xLabel" | "yLabel" | "xTicks" | "yTicks" | "xText" | "yText" | "tap"} Texts
 * @typedef {Partial<Pick<Plot, Frame | Texts>> & { title?: string, note?: string }} PlotOptions
 * @typedef {{ kind?: string, layer?: string, name?: string, at?: number[], size?: number, colour?: string,
 *   negative?: boolean, says?: string, actor?: string, label?: string,
 *   dash?: string, ends?: (plot: Plot) => number, draw?: (plot: Plot) => any, whole?: boolean,
 *   taken?: (plot: Plot) => number[][], along?: "x" | "y", bounds?: number[][], remove?: () => void,
 *   move?: (to: number[]) => void }} Mark
 */
export class Plot {
  aspect = 0.62; // height over width
  tallest = 400; // pixels
  x = [0, 1]; // limits
  y = [0, 1];
  xLog = false;
  yLog = false;
  equal = false; // the same length for a unit of x and of y
  axes = true;
  legend = true; // names of lines beside their ends, on a phone above
  /** @type {string | undefined} */ xLabel;
  /** @type {string | undefined} */ yLabel;
  /** @type {number | number[] | undefined} */ xTicks; // about how many, or where
  /** @type {number | number[] | undefined} */ yTicks;
  /** @type {((value: number) => string) | undefined} */ xText;
  /** @type {((value: number) => string) | undefined} */ yText;
  /** @type {((at: number[]) => void) | undefined} */ tap; // the place in the frame that was clicked
  width = 0;
  rows = 0; // of the legend above
  /** @type {number | undefined} */ shape; // of equal axes: height over width as they were first drawn

  /**
   * @param {HTMLElement} place
   * @param {PlotOptions} options
   * @param {() => void} redraw called when the place changes its width
   */
  constructor(place, options, redraw) {
    Object.assign(this, options);
    this.given = { x: this.x, y: this.y };
    this.id = `clip-${++count}`;
    this.clip = svg("rect");
    this.back = svg("g", { "aria-hidden": "true" });
    this.front = svg("g", { "aria-hidden": "true" });
    this.over = svg("g", { "aria-hidden": "true" });
    this.knobs = svg("g");
    this.words = svg("g", { class: "words", "aria-hidden": "true" }); // over all: no mark or ring cuts them
    this.node = svg(
      "svg",
      { role: "img" },
      svg("defs", {}, svg("clipPath", { id: this.id }, this.clip)),
      this.back,
      this.front,
      this.over,
      this.knobs,
      this.words,
    );
    this.handles = new Map();
    this.listen();
    place.append(this.node);
    this.watch = new ResizeObserver(([{ contentRect }]) => {
      if (Math.abs(contentRect.width - this.width) < 0.5) return;
      this.width = contentRect.width;
      this.rows = 0;
      redraw();
    });
    this.watch.observe(place);
    if (this.tap)
      this.node.addEventListener("click", (event) => {
        const at = this.at(event);
        if (event.target.closest(".handle") || !this.inside(at)) return;
        this.tap(at);
      });
  }

  /** The data under a pointer. */
  at({ clientX, clientY }) {
    const box = this.node.getBoundingClientRect();
    return [this.X.invert(clientX - box.left), this.Y.invert(clientY - box.top)];
  }

  /** Whether a place in pixels is in the frame. */
  holds(/** @type {number[]} */ [x, y]) {
    const { left, right, top, bottom } = this.box;
    return x > left - 1 && x < right + 1 && y > top - 1 && y < bottom + 1;
  }

  /** Of several places for letters the first that covers least of what is drawn. */
  freest(/** @type {any[]} */ tries) {
    const cost = (/** @type {{ box: number[] }} */ { box: [left, top, right, bottom] }) =>
      this.taken.filter(([x, y, r]) => x > left - r && x < right + r && y > top - r && y < bottom + r).length;
    const costs = tries.map(cost);
    return tries[costs.indexOf(Math.min(...costs))];
  }

  /** Letters stand here: others keep off. */
  take(/** @type {number[]} */ [left, top, right, bottom]) {
    for (let x = left; x <= right; x += 6) for (let y = top; y <= bottom; y += 6) this.taken.push([x, y, 1]);
  }

  inside(/** @type {number[]} */ [x, y]) {
    const between = (/** @type {number} */ value, /** @type {number[]} */ [low, high]) =>
      value >= low && value <= high;
    return between(x, this.x) && between(y, this.y);
  }

  /**
   * Draw `marks` in a frame from x[0] to x[1] and y[0] to y[1]; `alt` says what is seen to those who do not see it.
   * @param {{ x?: number[], y?: number[], marks: Mark[], alt: string }} picture
   */
  show({ x = this.given.x, y = this.given.y, marks, alt }) {
    this.width ||= this.node.parentElement.getBoundingClientRect().width; // newly shown
    if (this.width < 100) return; // not laid out yet: no room for axes
    Object.assign(this, { x, y });
    const named = marks.filter(({ label, ends }) => label && ends),
      narrow = this.width < 480;
    const beside =
      named.length && this.legend && !narrow
        ? Math.max(...named.map(({ label }) => textWidth(label))) + 12
        : 0;
    const above = this.legendAbove(narrow && this.legend ? named : []);
    const yTicks = this.axes ? this.ticksOf(y, this.yLog, this.yTicks ?? 5) : [];
    const yText = this.yText ?? (this.yLog ? this.decade : short);
    const left = this.axes
      ? Math.max(...yTicks.map((value) => textWidth(yText(value), "12px system-ui")), 8) + 12
      : 2;
    const head = above.height + (this.yLabel ? 22 : 8),
      foot = this.axes ? (this.xLabel ? 40 : 24) : 2;
    const right = Math.max(beside, this.axes ? 10 : 2);
    // by the width alone: what is dragged does not change the height under the hand
    this.shape ??= (y[1] - y[0]) / (x[1] - x[0]);
    const inner = this.width - left - right,
      usual = this.width - (this.axes ? 50 : 4) - (beside ? 80 : 0),
      height = Math.min((this.equal ? this.shape : this.aspect * (narrow ? 1.35 : 1)) * usual, this.tallest);
    if (this.equal) {
      // the same length for a unit of x and of y
      const unit = Math.min(inner / (x[1] - x[0]), height / (y[1] - y[0])),
        widen = (/** @type {number[]} */ [low, high], /** @type {number} */ pixels) => {
          const spare = (pixels / unit - (high - low)) / 2;
          return [low - spare, high + spare];
        };
      [this.x, this.y] = [x, y] = [widen(x, inner), widen(y, height)];
    }
    this.height = head + height + foot;
    this.box = { left, top: head, right: left + inner, bottom: head + height };
    this.X = scale(x, [left, left + inner], this.xLog);
    this.Y = scale(y, [head + height, head], this.yLog);
    this.node.setAttribute("height", this.height);
    this.node.setAttribute("role", marks.some(({ kind }) => kind === "handle") ? "group" : "img");
    this.node.setAttribute("aria-label", spoken(alt));
    for (const [name, value] of Object.entries({
      x: left,
      y: head - 3,
      width: Math.max(inner, 0),
      height: height + 6,
    }))
      this.clip.setAttribute(name, value);
    this.back.replaceChildren(...this.frame(yTicks, yText));
    const handles = marks.filter(({ kind }) => kind === "handle");
    /** @type {number[][]} */
    this.taken = [
      ...marks.flatMap(({ taken }) => taken?.(this) ?? []),
      ...handles.map(({ at: [x, y], size = 8 }) => [this.X(x), this.Y(y), size + 4]),
    ];
    const drawn = { front: [], over: [], words: [] };
    for (const { draw, layer = "front", whole } of marks) {
      const parts = draw ? [draw(this)].flat() : [];
      if (layer === "front" && !whole)
        for (const part of parts) part.setAttribute("clip-path", `url(#${this.id})`);
      drawn[layer].push(...parts);
    }
    if (beside) drawn.words.push(...this.labels(named));
    drawn.words.push(...above.parts);
    for (const layer of ["front", "over", "words"]) this[layer].replaceChildren(...drawn[layer]);
    this.grip(handles);
  }

  ticksOf(domain, log, about) {
    if (Array.isArray(about)) return about;
    const [low, high] = domain;
    return log ? decades(low, high, about) : ticks(low, high, about);
  }

  decade(value) {
    const k = Math.log10(value);
    return Math.abs(k - Math.round(k)) < 1e-9 && Math.abs(k) > 2.5 ? power(Math.round(k)) : short(value);
  }

  frame(yTicks, yText) {
    if (!this.axes) return [];
    const { left, right, top, bottom } = this.box,
      parts = [];
    const xText = this.xText ?? (this.xLog ? this.decade : short);
    for (const x of this.ticksOf(
      this.x,
      this.xLog,
      this.xTicks ?? clamp(Math.floor((right - left) / 70), 3, 7),
    ))
      parts.push(
        svg("path", { class: "grid", d: `M${this.X(x)},${top}V${bottom}` }),
        svg("text", { class: "tick", x: this.X(x), y: bottom + 16, "text-anchor": "middle" }, xText(x)),
      );
    for (const y of yTicks)
      parts.push(
        svg("path", { class: "grid", d: `M${left},${this.Y(y)}H${right}` }),
        svg("text", { class: "tick", x: left - 6, y: this.Y(y) + 4, "text-anchor": "end" }, yText(y)),
      );
    parts.push(svg("path", { class: "axis", d: `M${left},${top}V${bottom}H${right}` }));
    if (this.xLabel)
      parts.push(
        svg(
          "text",
          { class: "muted", x: right, y: bottom + 34, "text-anchor": "end" },
          ...rich(this.xLabel, true),
        ),
      );
    if (this.yLabel)
      parts.push(svg("text", { class: "muted", x: 0, y: top - 9 }, ...rich(this.yLabel, true)));
    return parts;
  }

  /** The names of lines beside their right ends. */
  labels(named) {
    const { right, top, bottom } = this.box;
    const wanted = named.map(({ ends }) => clamp(ends(this), top, bottom) - top),
      places = spread(wanted, 17, bottom - top);
    return named.map(({ label, actor }, i) =>
      svg("text", { class: `strong ${actor}`, x: right + 7, y: top + places[i] + 4 }, ...rich(label, true)),
    );
  }

  /** On a narrow screen: a legend above. */
  legendAbove(named) {
    const parts = [];
    let x = 0,
      row = 0;
    for (const { label, actor, dash } of named) {
      const wide = textWidth(label) + 40;
      if (x && x + wide > this.width) [x, row] = [0, row + 1];
      const y = 12 + row * 20;
      parts.push(
        svg(
          "g",
          {},
          svg("path", {
            class: `line ${actor}`,
            d: `M${x},${y - 4}h24`,
            "stroke-width": 2.5,
            "stroke-dasharray": dash ?? DASHES[actor] ?? "",
          }),
          svg("text", { class: `strong ${actor}`, x: x + 29, y }, ...rich(label, true)),
        ),
      );
      x += wide + 8;
    }
    this.rows = Math.max(this.rows, named.length ? row + 1 : 0); // as many as were ever needed
    return { parts, height: 20 * this.rows };
  }

  /** Handles stay the same elements from one drawing to the next: they keep the focus and the pointer. */
  grip(marks) {
    const wanted = new Set(marks.map(({ name }) => name));
    for (const [name, { node }] of this.handles)
      if (!wanted.has(name)) {
        node.remove();
        this.handles.delete(name);
      }
    for (const mark of marks) {
      const held = this.handles.get(mark.name) ?? this.handle(mark.name);
      held.mark = mark;
      const { node } = held,
        [x, y] = mark.at,
        size = mark.size ?? 8;
      node.setAttribute("class", `handle ${mark.actor ?? "ink"}${held.pointer === undefined ? "" : " held"}`);
      node.setAttribute("transform", `translate(${this.X(x)},${this.Y(y)})`);
      const knob = node.querySelector(".knob");
      knob.setAttribute("r", size);
      knob.style.fill = mark.colour ?? "";
      node.querySelector(".minus").setAttribute("visibility", mark.negative ? "visible" : "hidden");
      node.querySelector(".ring").setAttribute("r", size + 5);
      node.setAttribute("aria-label", spoken(mark.label ?? mark.name));
      node.setAttribute("aria-valuetext", mark.says ?? `${short(x)}, ${short(y)}`);
      node.setAttribute("aria-valuenow", mark.along === "x" ? x : y);
    }
  }

  handle(name) {
    const node = svg(
      "g",
      { class: "handle", tabindex: 0, role: "slider", "aria-roledescription": "point to drag" },
      svg("circle", { class: "reach", r: REACH }),
      svg("circle", { class: "ring" }),
      svg("circle", { class: "knob" }),
      minus(0, 0, 4),
    );
    const held = { node };
    this.knobs.append(node);
    this.handles.set(name, held);
    return held;
  }

  /** The handle that an event is meant for: under a pointer the nearest, though another's reach be above it. */
  meant(event) {
    const all = [...this.handles.values()];
    if (event.clientX === undefined) return all.find(({ node }) => node === event.target);
    const box = this.node.getBoundingClientRect(),
      far = ({ mark: { at } }) =>
        Math.hypot(this.X(at[0]) - event.clientX + box.left, this.Y(at[1]) - event.clientY + box.top);
    return all.reduce((near, each) => (far(each) < far(near) ? each : near));
  }

  /** What pointers and keys do with handles. */
  listen() {
    let held = null;
    const move = ({ along, at, bounds = [this.x, this.y], move: tell }, [x, y]) =>
      tell([along === "y" ? at[0] : clamp(x, ...bounds[0]), along === "x" ? at[1] : clamp(y, ...bounds[1])]);
    const hear = {
      pointerdown: (event) => {
        event.preventDefault();
        held = this.meant(event);
        held.node.focus({ preventScroll: true });
        held.node.setPointerCapture(event.pointerId);
        const [x, y] = this.at(event); // what was taken hold of beside its middle does not jump
        Object.assign(held, { pointer: event.pointerId, off: [held.mark.at[0] - x, held.mark.at[1] - y] });
        held.node.classList.add("held");
      },
      pointermove: (event) => {
        if (held?.pointer !== event.pointerId) return;
        const [x, y] = this.at(event);
        move(held.mark, this.xLog || this.yLog ? [x, y] : [x + held.off[0], y + held.off[1]]);
      },
      dblclick: (event) => this.meant(event).mark.remove?.(),
      keydown: (event) => {
        const { mark } = this.meant(event),
          by = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key],
          end = { Home: 0, End: 1 }[event.key],
          { at, along, remove, bounds = [this.x, this.y] } = mark;
        if (remove && (event.key === "Delete" || event.key === "Backspace")) {
          event.preventDefault();
          remove();
          return;
        }
        if (!by && end === undefined) return;
        event.preventDefault();
        event.stopPropagation();
        if (!by) {
          move(mark, [bounds[0][end], along === "y" ? bounds[1][end] : at[1]]);
          return;
        }
        const pace = event.shiftKey ? 40 : 8; // pixels
        if (along === "x" && by[1]) [by[0], by[1]] = [by[1], 0]; // a slider: up is right
        if (along === "y" && by[0]) [by[0], by[1]] = [0, by[0]];
        const across = this.X.invert(this.X(at[0]) + pace * by[0]);
        move(mark, [
          mark.whole && Math.abs(across - at[0]) < 1 ? at[0] + by[0] : across,
          this.Y.invert(this.Y(at[1]) - pace * by[1]),
        ]);
      },
    };
    for (const kind of ["pointerup", "pointercancel", "lostpointercapture"])
      hear[kind] = () => {
        if (held) held.pointer = undefined;
        held?.node.classList.remove("held");
        held = null;
      };
    for (const [kind, call] of Object.entries(hear)) this.knobs.addEventListener(kind, call);
    // A finger on a handle moves it, one beside it the page. Chromium ignores touch-action within a drawing.
    this.knobs.addEventListener("touchmove", (event) => event.preventDefault(), { passive: false });
  }
}
