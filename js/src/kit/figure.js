import { reader, written } from "./address.js";
import { button } from "./controls.js";
import { make, rich, spoken } from "./dom.js";
import { Plot } from "./plot.js";
import { adoptStyles } from "./style.js";

// A live figure: a state, and plots, controls and a sentence that are drawn from it, all at once and by
// nothing else. anywidget calls render({ model, el }) in JupyterLab, book/_static/live.js on the page; `model`
// holds what Python gave.

/** A part of a sentence in the colour of its actor. */
export const by = (actor, words) => ({ actor, words });

const same = (a, b) => a === b || JSON.stringify(a) === JSON.stringify(b);

/**
 * What Python gave, and how changes go to and fro: anywidget's model.
 * @typedef {{ get: (name: string) => any, set: (name: string, value: any) => void, save_changes: () => void,
 *   on: (name: string, call: () => void) => void, off: (name: string, call: () => void) => void,
 *   onPage?: { name: string, first: boolean } }} Model
 * @typedef {{ model: Model, el: HTMLElement }} Given
 * @typedef {any} State the figure's values, by name
 */
export class Figure {
  /** @type {((changes: State) => void) | undefined} */ changed; // called when values have been set
  /** @type {((state: State) => void) | undefined} */ settle; // sets what follows from other values
  /** @type {((state: State) => string) | undefined} */ python; // Python that gives the same
  /** @type {(() => State) | undefined} */ extra; // what Python gets besides the state
  /** @type {{ control: Element, top: number } | null} */ held = null;
  wide = 0; // for which the sentence keeps its height
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
    /** @type {Record<string, (text: string) => any>} */
    this.reads = {}; // how values are read from an address
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

  /**
   * Values without a control that a link carries, and between which numbers they lie.
   * @param {Record<string, number[]>} ranges
   */
  linked(ranges) {
    for (const [name, range] of Object.entries(ranges)) this.reads[name] = reader(range, this.state[name]);
  }

  /**
   * Change values; the figure is drawn before the next frame, and Python hears of it when the hand rests. The
   * `control` in the hand stays there, whatever grows above it.
   * @param {State} changes
   * @param {Element | null} control
   */
  set(changes, control = null) {
    if (control) this.held ??= { control, top: control.getBoundingClientRect().top };
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
    if (this.spoken && this.status.textContent !== this.spoken) this.status.textContent = this.spoken;
  }

  redraw() {
    this.frame ??= requestAnimationFrame(() => {
      this.frame = null;
      this.paint();
    });
  }

  /** One state for all that is shown: first what follows from it is set, then nothing can change it. */
  paint() {
    this.settle?.(this.state);
    const state = Object.freeze({ ...this.state });
    this.draw(state);
    for (const { refresh } of this.parts) refresh(state);
    this.host.dataset.state = JSON.stringify(state);
    this.reserve();
    if (this.held) {
      const { control, top } = this.held;
      window.scrollBy({ top: control.getBoundingClientRect().top - top, behavior: "instant" });
      this.held = null;
    }
  }

  /** The sentence keeps the height of the longest so far: what stands below it does not jump. */
  reserve() {
    if (!this.line) return;
    const wide = this.root.clientWidth;
    if (wide !== this.wide) [this.wide, this.line.style.minHeight] = [wide, ""];
    this.line.style.minHeight = `${this.line.offsetHeight}px`;
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
    for (const { name, read } of made) if (read) this.reads[name] = read;
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
      this.root.insertBefore(this.line, this.last);
      this.root.append(this.status);
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

  /** The names of the values that a link carries, unless a preset stands for them all. */
  own() {
    return Object.keys(this.reads).filter((name) => name !== "preset");
  }

  /** The address of this figure as it is: what differs from its beginning, or the preset that says it all. */
  address() {
    const names = this.state.preset ? ["preset"] : this.own(),
      given = names
        .filter((name) => !same(this.state[name], this.first[name]))
        .map((name) => [name, written(this.state[name])]);
    return `#${this.model.onPage.name}:${new URLSearchParams(given)}`;
  }

  /** Take the values that the address gives this figure; what no control could set is left out or made fit. */
  follow() {
    const { name, first } = this.model.onPage,
      [, whose, values] = location.hash.match(/^#(?:([\w-]+):)?(.*)$/) ?? [];
    if (whose ? whose !== name : !first || !values?.includes("=")) return;
    const given = new URLSearchParams(values),
      preset = this.reads.preset?.(given.get("preset") ?? "");
    for (const each of preset ? ["preset"] : this.own()) {
      const value = (given.has(each) ? this.reads[each]?.(given.get(each)) : undefined) ?? this.first[each];
      if (!same(value, this.state[each])) this.set({ [each]: value });
    }
    if (whose) requestAnimationFrame(() => this.host.scrollIntoView({ block: "center" }));
  }

  /** A button that copies a text and says so. */
  copies(words, text) {
    let said = words;
    const say = (now) => {
      said = now;
      this.redraw();
    };
    return button(
      () => said,
      async () => {
        const what = text(),
          copied = await navigator.clipboard?.writeText(what).then(
            () => true,
            () => false,
          );
        say(copied ? "Copied ✓" : "The browser does not let this page copy");
        setTimeout(() => say(words), 2500);
      },
    );
  }

  /** What stands below every figure: its Python, and on a page a link to its state. */
  foot() {
    const copy = [];
    if (this.python) copy.push(this.copies("Copy the Python", () => this.python(this.state)));
    if (this.model.onPage)
      copy.push(
        this.copies("Copy a link", () => {
          history.replaceState(null, "", this.address());
          return location.href;
        }),
      );
    this.last = this.bar(...copy);
    this.last.classList.add("foot");
  }

  /** The first picture; gives anywidget what tidies up. */
  begin(draw) {
    this.draw = draw;
    this.first = structuredClone(this.state);
    this.foot();
    this.paint();
    if (this.model.onPage) {
      window.addEventListener("hashchange", () => this.follow());
      this.follow();
    }
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
