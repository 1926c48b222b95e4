import { field, menu } from "../kit/controls.js";
import { make, rich, short } from "../kit/dom.js";
import { by, Figure } from "../kit/figure.js";
import { dots, graph, rule } from "../kit/marks.js";
import { bestOf, LAWS, OUTPUTS, PRESETS } from "../math/conventions.js";

// A form: your set-up in, the best step and the best loss of one layer out, in your units.

/** @param {import("../kit/figure.js").Given} given */
export function render(given) {
  const fig = new Figure(given, { ...PRESETS["von Oswald et al., code"], preset: "von Oswald et al., code" }),
    { state } = fig;
  fig.changed = (changes) => {
    if (PRESETS[changes.preset]) Object.assign(state, PRESETS[changes.preset]);
    else if (!("preset" in changes)) state.preset = "";
  };
  fig
    .controls([
      menu("preset", {
        label: "Start from",
        options: { ...Object.fromEntries(Object.keys(PRESETS).map((name) => [name, name])), "": "your own" },
      }),
    ])
    .classList.add("wide");
  const names = (table) =>
    Object.fromEntries(Object.entries(table).map(([name, { label }]) => [name, label]));
  const form = fig.controls([
    menu("law", { label: "inputs x", options: names(LAWS) }),
    field("size", { label: "their b", min: 1e-6, max: 1e6 }),
    field("d", { label: "dimension d", min: 1, max: 1e6, whole: true }),
    field("n", { label: "examples n", min: 1, max: 1e6, whole: true }),
    field("prior_variance", { label: "variance of w_j", min: 1e-9, max: 1e6 }),
    field("noise_variance", { label: "noise σ²", min: 0, max: 1e6 }),
    menu("loss", { label: "your loss is", options: names(OUTPUTS.loss) }),
    menu("step", { label: "your step is on", options: names(OUTPUTS.step) }),
  ]);
  form.classList.add("form");
  form.addEventListener("input", () => fig.redraw()); // for what is typed and cannot be used, too
  /** What is wrong with a field, in words; "" if all can be used. */
  const fault = () => {
    const input = form.querySelector("input:invalid");
    if (!(input instanceof HTMLInputElement)) return "";
    const least = { size: "above 0", prior_variance: "above 0", noise_variance: "of at least 0" }[input.name];
    return `For “${input.labels[0].textContent}” put a ${least ? `number ${least}` : "whole number of at least 1"}.`;
  };
  const table = make("dl", { className: "answers" });
  fig.root.append(table);
  const plot = fig.plot({
    x: [1, 100],
    xLog: true,
    xLabel: "examples n",
    yLabel: "L*, in your units",
    aspect: 0.36,
    tallest: 240,
  });

  return fig.begin((s) => {
    const wrong = fault();
    const { eta, loss } = bestOf(s),
      L = OUTPUTS.loss[s.loss].factor,
      E = OUTPUTS.step[s.step].factor(s.n),
      none = bestOf({ ...s, n: 0 }).loss;
    const rows = [
      { name: "your best step", value: eta * E, actor: "gd" },
      { name: "your best loss", value: loss * L, actor: "layer" },
      { name: "loss of answering 0", value: none * L, actor: "muted" },
    ];
    table.replaceChildren(
      ...rows.map(({ name, value, actor }) =>
        make(
          "div",
          { className: actor },
          make("dt", {}, ...rich(name)),
          make("dd", { textContent: wrong ? "–" : value.toFixed(6) }),
        ),
      ),
    );
    const most = Math.max(100, 2 * s.n);
    plot.show({
      x: [1, most],
      y: [0, none * L * 1.05],
      marks: [
        graph((n) => bestOf({ ...s, n }).loss * L, { actor: "layer", label: "one layer" }),
        rule({ y: s.noise_variance * L }),
        dots([[s.n, loss * L]], { actor: "layer", size: 6, opacity: 1 }),
      ],
      alt: `The best loss against the number of examples; at n = ${s.n} it is ${short(loss * L)}.`,
    });
    if (wrong) fig.say(by("ink", wrong), " Until then there is no answer.");
    else
      fig.say(
        "In ours, L = E(ŷ − y_q)² and a step on ½ Σ (w·x_i − y_i)²: ",
        by("gd", `η* = ${eta.toFixed(6)}`),
        ", ",
        by("layer", `L* = ${loss.toFixed(6)}`),
        ".",
      );
    fig.numbers({ eta, loss, yourStep: eta * E, yourLoss: loss * L });
  });
}
