import { clamp } from "../math/scalar.js";
import { make, rich, short, spoken } from "./dom.js";

/**
 * @typedef {import("./figure.js").Figure} Figure
 * @typedef {import("./figure.js").State} State
 * @typedef {{ node: HTMLElement, refresh: (state: State) => void, name?: string,
 *   read?: (text: string) => any }} Made
 * @typedef {(fig: Figure) => Made} Control
 * @typedef {{ label: string, actor?: string, when?: (state: State) => boolean }} Common
 */

// Controls of a figure. Each is a function of the figure that gives { node, refresh(state) }; it speaks to
// the figure by fig.set({ name: value }). `when(state)` hides it, `actor` colours it. `read(text)` gives the
// value that a text in an address stands for, undefined if the control could not be set to any such.

let count = 0;

const NEAR = 0.015; // of a slider: so near, a hand has reached its mark

const shell = (kind, actor, label, input, ...rest) => {
  input.id = `live-${++count}`;
  return make(
    "div",
    { className: `control ${kind} ${actor ?? ""}` },
    make("label", { htmlFor: input.id }, ...rich(label)),
    ...rest,
    input,
  );
};

/**
 * A slider for a number: linear, `log` or in whole steps; `mark(state)` = [value, "η*"] points at a place on
 * it, and it stops there.
 * @param {string} name
 * @param {Common & { min: number, max: number, step?: number, log?: boolean, whole?: boolean, unit?: string,
 *   format?: (value: number) => string, mark?: (state: State) => [number, string] }} options
 * @returns {Control}
 */
export const slider =
  (
    name,
    {
      label,
      min,
      max,
      step = (max - min) / 200,
      log = false,
      whole = false,
      unit = "",
      format = short,
      actor,
      mark,
      when,
    },
  ) =>
  (fig) => {
    const input = make("input", { type: "range", name, min: 0, max: 1, step: "any" }),
      value = make("span", { className: "value", ariaHidden: "true" });
    const node = shell("slider", actor, label, input, value),
      pointer = mark && make("span", { className: "mark", ariaHidden: "true" });
    const track = make("div", { className: mark ? "track marked" : "track" });
    input.replaceWith(track);
    track.append(input, ...(pointer ? [pointer] : []));
    const to = (t) => (log ? min * (max / min) ** t : min + (max - min) * t),
      from = (x) => (log ? Math.log(x / min) / Math.log(max / min) : (x - min) / (max - min));
    const round = (x) => {
      const by = whole ? 1 : step,
        near = log && !whole ? +x.toPrecision(3) : min + Math.round((x - min) / by) * by;
      return clamp(+near.toPrecision(10), min, max);
    };
    const set = (x) => fig.set({ [name]: round(x) }, input);
    /** To its mark, if a value between `low` and `high` on the way there would miss it. */
    const snap = (x, low, high) => {
      const place = mark?.(fig.state)?.[0],
        near = place >= min && place <= max && from(place) >= low && from(place) <= high;
      if (near) fig.set({ [name]: place }, input);
      else set(x);
    };
    input.addEventListener("input", () => {
      const t = +input.value;
      snap(to(t), t - NEAR, t + NEAR);
    });
    input.addEventListener("keydown", (event) => {
      const by = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 10, PageDown: -10 }[
          event.key
        ],
        now = fig.state[name];
      if (by === undefined && event.key !== "Home" && event.key !== "End") return;
      event.preventDefault();
      if (by === undefined) {
        set(event.key === "Home" ? min : max);
        return;
      }
      let next = now + by * (whole ? 1 : step);
      if (log) {
        // at least to the next number that looks different
        next = round(to(from(now) + by / 100));
        if (whole && next === now) next = now + Math.sign(by);
      }
      // the mark, if it lies behind where it stands and before half a move too far
      const [here, there] = [from(now), from(round(next))],
        ends = [here + 1e-9 * Math.sign(by), there + (there - here) / 2];
      snap(next, Math.min(...ends), Math.max(...ends));
    });
    return {
      node,
      name,
      read: (text) => {
        if (!text.trim() || Number.isNaN(+text)) return undefined;
        return whole ? round(+text) : clamp(+text, min, max);
      },
      refresh: (state) => {
        const at = from(state[name]);
        input.value = at;
        input.style.setProperty("--at", `${100 * at}%`);
        value.textContent = format(state[name]) + unit;
        input.setAttribute("aria-valuetext", value.textContent);
        if (pointer) {
          const [place, words] = mark(state) ?? [NaN, ""],
            t = from(place);
          pointer.hidden = !(t >= 0 && t <= 1);
          pointer.style.left = `calc(var(--thumb) / 2 + ${t} * (100% - var(--thumb)))`;
          pointer.replaceChildren(make("span", {}, ...rich(words)));
        }
        node.hidden = !(when?.(state) ?? true);
      },
    };
  };

/**
 * A field for a number, typed in.
 * @param {string} name
 * @param {Common & { min?: number, max?: number, step?: number | "any", whole?: boolean }} options
 * @returns {Control}
 */
export const field =
  (name, { label, min, max, step = "any", whole = false, actor, when }) =>
  (fig) => {
    const input = make("input", {
      type: "number",
      name,
      step: whole ? 1 : step,
      required: true,
      inputMode: whole ? "numeric" : "decimal",
      value: String(fig.state[name]),
    });
    if (min !== undefined) input.min = min;
    if (max !== undefined) input.max = max;
    input.addEventListener("input", () => {
      if (input.checkValidity()) fig.set({ [name]: +input.value });
    });
    const node = shell("field", actor, label, input);
    const read = (text) => {
      const probe = /** @type {HTMLInputElement} */ (input.cloneNode());
      probe.value = text;
      return probe.checkValidity() ? +probe.value : undefined;
    };
    return {
      node,
      name,
      read,
      refresh: (state) => {
        const typing = fig.shadow.activeElement === input && !input.checkValidity(); // stays to be mended
        if (!typing && (!input.value || +input.value !== state[name])) input.value = state[name];
        node.hidden = !(when?.(state) ?? true);
      },
    };
  };

/**
 * A menu: `options` = { value: "what is read" }.
 * @param {string} name
 * @param {Common & { options: Record<string, string> }} options
 * @returns {Control}
 */
export const menu =
  (name, { label, options, actor, when }) =>
  (fig) => {
    const input = make(
      "select",
      { name },
      ...Object.entries(options).map(([value, words]) => make("option", { value, textContent: words })),
    );
    input.addEventListener("input", () => fig.set({ [name]: input.value }));
    const node = shell("menu", actor, label, input);
    return {
      node,
      name,
      read: (text) => (Object.hasOwn(options, text) ? text : undefined),
      refresh: (state) => {
        input.value = state[name];
        node.hidden = !(when?.(state) ?? true);
      },
    };
  };

/**
 * Two or three options side by side. Values may be numbers.
 * @param {string} name
 * @param {Common & { options: [any, string][] }} options
 * @returns {Control}
 */
export const choice =
  (name, { label, options, when }) =>
  (fig) => {
    const inputs = options.map(([value]) => make("input", { type: "radio", name, value: String(value) }));
    const node = make(
      "div",
      { className: "choice" },
      ...options.map(([, words], i) => make("label", {}, inputs[i], ...rich(words))),
    );
    node.setAttribute("role", "radiogroup");
    node.setAttribute("aria-label", spoken(label));
    for (const [i, input] of inputs.entries())
      input.addEventListener("input", () => fig.set({ [name]: options[i][0] }));
    return {
      node,
      name,
      read: (text) => options.find(([value]) => String(value) === text)?.[0],
      refresh: (state) => {
        inputs.forEach((input, i) => {
          input.checked = state[name] === options[i][0];
        });
        node.hidden = !(when?.(state) ?? true);
      },
    };
  };

/**
 * @param {string} name
 * @param {Common} options
 * @returns {Control}
 */
export const toggle =
  (name, { label, actor, when }) =>
  (fig) => {
    const input = make("input", { type: "checkbox", name, id: `live-${++count}` });
    input.addEventListener("input", () => fig.set({ [name]: input.checked }));
    const node = make(
      "div",
      { className: `control inline ${actor ?? ""}` },
      input,
      make("label", { htmlFor: input.id }, ...rich(label)),
    );
    return {
      node,
      name,
      read: (text) => ({ true: true, false: false })[text],
      refresh: (state) => {
        input.checked = state[name];
        node.hidden = !(when?.(state) ?? true);
      },
    };
  };

/**
 * @param {string | ((state: State) => string)} words
 * @param {(fig: Figure) => void} press
 * @param {{ main?: boolean, title?: string, disabled?: (state: State) => boolean }} options
 * @returns {Control}
 */
export const button =
  (words, press, { main = false, title, disabled } = {}) =>
  (fig) => {
    const node = make("button", { type: "button", className: main ? "main" : "", title: title ?? "" });
    node.addEventListener("click", () => press(fig));
    return {
      node,
      refresh: (state) => {
        const now = typeof words === "function" ? words(state) : words;
        if (node.dataset.words !== now) {
          node.dataset.words = now;
          node.replaceChildren(...rich(now));
        }
        node.disabled = disabled?.(state) ?? false;
      },
    };
  };
