import { clamp } from "../math/scalar.js";
import { power, rich, short, spoken, svg } from "./dom.js";
import { decades, scale, spread, textWidth, ticks } from "./scales.js";
import { DASHES } from "./style.js";

// A frame with axes that draws marks (marks.js) and lets handles be dragged. Everything is in pixels of the
// place it has, so that letters keep their size on a phone; it is drawn anew when that place changes.

let count = 0;

/**
 * @typedef {"aspect" | "tallest" | "x" | "y" | "xLog" | "yLog" | "equal" | "axes" | "legend"} Frame
 * @typedef {"xLabel" | "yLabel" | "xTicks" | "yTicks" | "xText" | "yText" | "tap"} Texts
 * @typedef {Partial<Pick<Plot, Frame | Texts>> & { title?: string, note?: string }} PlotOptions
 * @typedef {{ kind?: string, layer?: string, name?: string, at?: number[], actor?: string, label?: string,
 *   dash?: string, ends?: (plot: Plot) => number, draw?: (plot: Plot) => any,
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

  /**
   * @param {HTMLElement} place
   * @param {PlotOptions} options
   * @param {() => void} redraw called when the place changes its width
   */
  constructor(place, options, redraw) {
    Object.assign(this, options);
    this.given = { x: this.x, y: this.y };
    const id = `clip-${++count}`;
    this.clip = svg("rect");
    this.back = svg("g", { "aria-hidden": "true" });
    this.front = svg("g", { "clip-path": `url(#${id})`, "aria-hidden": "true" });
    this.over = svg("g", { "aria-hidden": "true" });
    this.knobs = svg("g");
    this.node = svg(
      "svg",
      { role: "img" },
      svg("defs", {}, svg("clipPath", { id }, this.clip)),
      this.back,
      this.front,
      this.over,
      this.knobs,
    );
    this.handles = new Map();
    place.append(this.node);
    this.watch = new ResizeObserver(([{ contentRect }]) => {
      if (Math.abs(contentRect.width - this.width) < 0.5) return;
      this.width = contentRect.width;
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
    if (!this.width) return;
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
    let inner = this.width - left - right,
      height = Math.min(this.aspect * (narrow ? 1.35 : 1) * inner, this.tallest);
    if (this.equal) {
      // the same length for a unit of x and of y
      const unit = Math.min(inner / (x[1] - x[0]), this.tallest / (y[1] - y[0])),
        spare = (inner / unit - (x[1] - x[0])) / 2;
      height = unit * (y[1] - y[0]);
      this.x = x = [x[0] - spare, x[1] + spare];
    }
    this.box = { left, top: head, right: left + inner, bottom: head + height };
    this.X = scale(x, [left, left + inner], this.xLog);
    this.Y = scale(y, [head + height, head], this.yLog);
    this.node.setAttribute("height", head + height + foot);
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
    const drawn = { front: [], over: [] };
    for (const mark of marks) if (mark.draw) drawn[mark.layer ?? "front"].push(...[mark.draw(this)].flat());
    if (beside) drawn.over.push(...this.labels(named));
    drawn.over.push(...above.parts);
    this.front.replaceChildren(...drawn.front);
    this.over.replaceChildren(...drawn.over);
    this.grip(marks.filter(({ kind }) => kind === "handle"));
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
    return { parts, height: named.length ? 20 * (row + 1) : 0 };
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
      svg("circle", { class: "reach", r: 20 }),
      svg("circle", { class: "ring" }),
      svg("circle", { class: "knob" }),
    );
    const held = { node };
    const move = ([x, y]) => {
      const { along, at, bounds = [this.x, this.y] } = held.mark;
      held.mark.move([
        along === "y" ? at[0] : clamp(x, ...bounds[0]),
        along === "x" ? at[1] : clamp(y, ...bounds[1]),
      ]);
    };
    node.addEventListener("pointerdown", (event) => {
      event.preventDefault();
      node.focus({ preventScroll: true });
      node.setPointerCapture(event.pointerId);
      const [x, y] = this.at(event); // what was taken hold of beside its middle does not jump
      Object.assign(held, { pointer: event.pointerId, off: [held.mark.at[0] - x, held.mark.at[1] - y] });
      node.classList.add("held");
    });
    node.addEventListener("pointermove", (event) => {
      if (held.pointer !== event.pointerId) return;
      const [x, y] = this.at(event);
      move(this.xLog || this.yLog ? [x, y] : [x + held.off[0], y + held.off[1]]);
    });
    for (const kind of ["pointerup", "pointercancel", "lostpointercapture"])
      node.addEventListener(kind, () => {
        held.pointer = undefined;
        node.classList.remove("held");
      });
    node.addEventListener("keydown", (event) => {
      const by = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key],
        { at, along, remove } = held.mark;
      if (remove && (event.key === "Delete" || event.key === "Backspace")) {
        event.preventDefault();
        remove();
        return;
      }
      if (!by) return;
      event.preventDefault();
      event.stopPropagation();
      const pace = event.shiftKey ? 40 : 8; // pixels
      if (along === "x" && by[1]) [by[0], by[1]] = [by[1], 0]; // a slider: up is right
      if (along === "y" && by[0]) [by[0], by[1]] = [0, by[0]];
      move([this.X.invert(this.X(at[0]) + pace * by[0]), this.Y.invert(this.Y(at[1]) - pace * by[1])]);
    });
    node.addEventListener("dblclick", () => held.mark.remove?.());
    this.knobs.append(node);
    this.handles.set(name, held);
    return held;
  }
}
