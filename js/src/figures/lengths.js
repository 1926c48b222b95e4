import { button, choice, slider } from "../kit/controls.js";
import { count, short } from "../kit/dom.js";
import { by, Figure } from "../kit/figure.js";
import { dots, graph, handle, rule, text } from "../kit/marks.js";
import { landmarks, stepLoss, weightsAt } from "../math/steps.js";

// A layer trained at one length and tested at another, or with every example repeated: sum, mean, and mean
// with null keys.

const LINES = [
  ["sum", "layer", "sum"],
  ["mean", "accent", "mean"],
  ["nulls", "theory", "mean + null keys"],
];

/** @param {import("../kit/figure.js").Given} given */
export function render(given) {
  const fig = new Figure(given, { n: 10, d: 5, noise_variance: 0.25, seen: 10, copies: 1 });
  fig.linked({ seen: [0, 250] });
  fig.bar(
    choice("copies", {
      label: "each example is shown",
      options: [
        [1, "each once"],
        [2, "twice"],
        [3, "three times"],
      ],
    }),
    button("half the prompt", () => fig.set({ seen: Math.ceil(fig.state.n / 2) })),
    button("double length", () => fig.set({ seen: 2 * fig.state.n })),
    button("as in training", () => fig.set({ seen: fig.state.n, copies: 1 })),
  );
  const plot = fig.plot({ xLabel: "different examples in the prompt, n′", yLabel: "loss", aspect: 0.55 });
  fig.controls([
    slider("n", { label: "n in training", min: 1, max: 40, whole: true, actor: "layer" }),
    slider("d", { label: "dimension d", min: 1, max: 20, whole: true }),
    slider("noise_variance", { label: "noise σ²", min: 0, max: 4, step: 0.05 }),
  ]);
  return fig.begin((s) => {
    const { n, d, noise_variance: noise, copies } = s,
      task = { n, d, noise, copies },
      silent = d + noise,
      nulls = d + 1 + noise;
    const loss = (who, at) => (at > 0 ? stepLoss(weightsAt(task, at)[who], at, d, noise) : silent);
    const most = Math.ceil(2.3 * n + 1.8 * nulls),
      seen = Math.min(s.seen, most),
      tall = 1.6 * silent,
      now = Object.fromEntries(LINES.map(([who]) => [who, loss(who, seen)]));
    const { best, useless } = landmarks(task),
      marked = [
        { at: best, words: "best" },
        { at: useless, words: "no use" },
      ].filter(({ at }) => at > 0.02 * most && at < most);
    plot.show({
      x: [0, most],
      y: [0, tall],
      marks: [
        rule({ y: silent }),
        text([most, silent], "no context", { anchor: "end", shift: [-4, -10], actor: "muted" }),
        rule({ x: seen }),
        ...LINES.map(([who, actor, label]) =>
          graph((at) => (at > 0 ? loss(who, at) : who === "mean" ? NaN : silent), {
            actor,
            label,
            samples: 400,
          }),
        ),
        dots(
          marked.map(({ at }) => [at, loss("sum", at)]),
          { actor: "layer", size: 4, opacity: 1 },
        ),
        ...marked.map(({ at, words }, k) =>
          text([at, loss("sum", at)], words, { actor: "layer", shift: k ? [9, 17] : [-14, 16] }),
        ),
        ...LINES.map(([who, actor]) =>
          dots(now[who] < tall ? [[seen, now[who]]] : [], { actor, size: 6, opacity: 1 }),
        ),
        text([seen, 0], "n′", { shift: [13, -13], strong: true }),
        handle("length", [seen, 0], {
          label: "examples in the prompt",
          along: "x",
          says: short(seen),
          bounds: [
            [0, most],
            [0, tall],
          ],
          whole: true,
          move: ([x]) => fig.set({ seen: Math.round(x) }),
        }),
      ],
      alt:
        `Loss against the number of examples for a layer trained with ${n}: ` +
        `a parabola for the sum, falling curves for the mean and for the mean with null keys.`,
    });
    const times = ["", "", ", each shown twice", ", each shown three times"][copies];
    fig.say(
      `Trained with ${count(n, "example")}, tested with ${seen}${times}: the `,
      by("layer", `sum loses ${short(now.sum, 4)}`),
      ", the ",
      by("accent", `mean ${short(now.mean, 4)}`),
      ", the ",
      by("theory", `mean with ${short(nulls)} null keys ${short(now.nulls, 4)}`),
      `; without any context it is ${short(silent, 4)}. `,
      Math.abs(now.sum - silent) < 1e-9 && seen > 0
        ? "For the sum, this prompt is worth nothing."
        : now.sum > silent
          ? "The sum is worse than silence."
          : "",
    );
    fig.numbers({ ...now, silent, best, useless });
  });
}
