import { make, rich, spoken } from "./dom.js";
import { Plot } from "./plot.js";
import { adoptStyles } from "./style.js";

// A live figure: a state, controls and plots that follow it, a sentence that says what is seen. anywidget
// calls render({ model, el }) in JupyterLab, book/_static/live.js on the page; `model` holds what Python
// gave.

/** A part of a sentence in the colour of its actor. */
export const by = (actor, words) => ({ actor, words });

const same = (a, b) => a === b || JSON.stringify(a) === JSON.stringify(b);

/**
 * What Python gave, and how changes go to and fro: anywidget's model.
 * @typedef {{ get: (name: string) => any, set: (name: string, value: any) => void, save_changes: () => void,
 *   on: (name: string, call: () => void) => void, off: (name: string, call: () => void) => void,
 *   onPage?: boolean }} Model
 * @typedef {{ model: Model, el: HTMLElement }} Given
 * @typedef {any} State the figure's values, by name
 */
export class Figure {
  /** @type {((changes: State) => void) | undefined} */ changed; // called before the figure is drawn
  /** @type {(() => State) | undefined} */ extra; // what Python gets besides the state
  /** @type {(() => void) | undefined} */ onIdle; // called when the hand rests
  /** @type {(() => void) | undefined} */ start; // of the player
  /** @type {(() => void) | undefined} */ stop;

  /**
   * `state`: the values to begin with, where Python has given none; each is kept the same in Python and here.
   * @param {Given} given
   * @param {State} state
   */
  constructor({ model, el }, state) {
    this.model = model;
    /** @type {State} */
    this.state = Object.fromEntries(
      Object.entries(state).map(([name, value]) => [name, model.get(name) ?? value]),
    );
    this.host = make("div");
    this.shadow = this.host.attachShadow({ mode: "open" });
    adoptStyles(this.shadow);
    this.host.setAttribute("data-lm-suppress-shortcuts", "true"); // JupyterLab keeps its single-key commands to itself
    this.root = make("div", { className: "live" });
    this.root.setAttribute("role", "group");
    this.root.setAttribute("aria-label", model.get("alt") || "A figure to play with");
    this.root.classList.toggle("dark", document.body.dataset.jpThemeLight === "false");
    this.shadow.append(this.root);
    el.append(this.host);
    this.parts = [];
    this.plots = [];
    this.reducedMotion = matchMedia("(prefers-reduced-motion: reduce)");
    this.seen = true;
    this.watch = new IntersectionObserver(([{ isIntersecting }]) => {
      this.seen = isIntersecting;
    });
    this.watch.observe(this.host);
    /** @type {[string, () => void][]} */
    this.listeners = Object.keys(state).map((name) => {
      const hear = () => {
        const value = model.get(name);
        if (value !== undefined && !same(value, this.state[name])) this.set({ [name]: value });
      };
      model.on(`change:${name}`, hear);
      return [`change:${name}`, hear];
    });
  }

  /** Change values; the figure is drawn before the next frame, and Python hears of it when the hand rests. */
  set(changes) {
    Object.assign(this.state, changes);
    this.changed?.(changes);
    this.redraw();
    clearTimeout(this.idle);
    this.idle = setTimeout(() => this.publish(), 250);
  }

  publish() {
    for (const [name, value] of Object.entries({ ...this.state, ...this.extra?.() }))
      if (!same(this.model.get(name), value)) this.model.set(name, structuredClone(value));
    this.model.save_changes();
    this.host.dataset.state = JSON.stringify(this.state);
    this.onIdle?.();
    if (this.spoken && this.status.textContent !== this.spoken) this.status.textContent = this.spoken;
  }

  redraw() {
    this.frame ??= requestAnimationFrame(() => {
      this.frame = null;
      this.paint();
    });
  }

  paint() {
    for (const { refresh } of this.parts) refresh(this.state);
    this.draw(this.state);
  }

  /** Plots added from here on stand in a new row, each at least `least` wide. */
  row(least = "17rem") {
    this.place = make("div", { className: "row" });
    this.place.style.setProperty("--least", least);
    this.root.append(this.place);
    return this.place;
  }

  /** @param {{ title?: string, note?: string }} options */
  panel({ title, note } = {}) {
    const node = make("div", { className: "panel" });
    if (title) node.append(make("p", { className: "title" }, ...rich(title)));
    if (note) node.append(make("small", {}, ...rich(note)));
    (this.place ?? this.row()).append(node);
    return node;
  }

  /** @param {import("./plot.js").PlotOptions} options */
  plot(options = {}) {
    const plot = new Plot(this.panel(options).appendChild(make("div")), options, () => this.redraw());
    this.plots.push(plot);
    return plot;
  }

  /**
   * Controls in a grid; `bar`: side by side, for buttons.
   * @param {import("./controls.js").Control[]} specs
   */
  controls(specs, bar = false) {
    const made = specs.map((spec) => spec(this)),
      node = make(
        "div",
        { className: bar ? "controls bar" : "controls" },
        ...made.map(({ node: each }) => each),
      );
    this.parts.push(...made);
    this.root.append(node);
    this.place = null;
    return node;
  }

  /** @param {import("./controls.js").Control[]} specs */
  bar(...specs) {
    return this.controls(specs, true);
  }

  /** The sentence below: words, with y_q for indices, and by("layer", "0.53") in an actor's colour. */
  say(...parts) {
    if (!this.line) {
      this.line = make("p", { className: "says", ariaHidden: "true" });
      this.status = make("p", { className: "spoken" }); // told when the hand rests, not at every step of it
      this.status.setAttribute("role", "status");
      this.root.append(this.line, this.status);
    }
    this.line.replaceChildren(
      ...parts.flatMap((part) =>
        part.actor ? [make("b", { className: part.actor }, ...rich(part.words))] : rich(part),
      ),
    );
    this.spoken = parts.map((part) => spoken(part.words ?? part)).join("");
  }

  /** Numbers that the figure shows, in full, for whoever checks them: data-… of its element. */
  numbers(values) {
    for (const [name, value] of Object.entries(values))
      this.host.dataset[name] = Array.isArray(value) ? JSON.stringify(value) : value;
  }

  /** For a player: moves a value of the state on to `most`, and from 0 again when it is there. */
  walk(name, by, most = 1) {
    const step = () => {
      this.state[name] = Math.min(most, this.state[name] + by);
      return this.state[name] < most;
    };
    const rewind = () => {
      if (this.state[name] >= most) this.state[name] = 0;
    };
    return { step, rewind };
  }

  /**
   * ▶ and ❚❚: `step()` moves on and says whether there is more to come, `rewind()` comes before each start.
   * If the reader wants no motion: all at once, then one picture.
   * @param {{ words?: string[], step: () => boolean, rewind?: () => void, patience?: number }} options
   * @returns {import("./controls.js").Control}
   */
  player({ words = ["▶ Run", "❚❚ Pause"], step, rewind = () => {}, patience = 5000 }) {
    const stop = () => {
      this.running = false;
      cancelAnimationFrame(this.tick);
      this.redraw();
      this.publish();
    };
    const go = () => {
      if (!this.running) return;
      let more = true;
      if (this.reducedMotion.matches) {
        for (const until = performance.now() + 30; more && performance.now() < until; )
          more = --this.left > 0 && step();
      } else if (this.seen) {
        more = step();
        this.paint();
      }
      if (more) this.tick = requestAnimationFrame(go);
      else stop();
    };
    this.stop = stop;
    this.start = () => {
      rewind();
      this.running = true;
      this.left = patience;
      this.redraw();
      this.tick = requestAnimationFrame(go);
    };
    return (fig) => {
      const node = make("button", { type: "button", className: "main" });
      node.addEventListener("click", () => (fig.running ? fig.stop() : fig.start()));
      return {
        node,
        refresh: () => {
          const now = words[fig.running ? 1 : 0];
          if (node.textContent !== now) node.textContent = now;
        },
      };
    };
  }

  /** The first picture; gives anywidget what tidies up. */
  begin(draw) {
    this.draw = draw;
    this.paint();
    this.host.dataset.state = JSON.stringify(this.state);
    return () => {
      cancelAnimationFrame(this.frame);
      cancelAnimationFrame(this.tick);
      clearTimeout(this.idle);
      this.running = false;
      this.watch.disconnect();
      for (const plot of this.plots) plot.watch.disconnect();
      for (const [name, call] of this.listeners) this.model.off(name, call);
    };
  }
}
