import { button, slider } from "../kit/controls.js";
import { short } from "../kit/dom.js";
import { by, Figure } from "../kit/figure.js";
import { dots, graph, line, rule, text } from "../kit/marks.js";
import { ladderPython } from "../math/python.js";
import { eigenvalues, gaussNodes, jacobi, ladderLoss, limitLoss, recovered } from "../math/wishart.js";

// What k steps of gradient descent recover of each direction, next to ridge, and the ladder of their losses.

const MOST = 12;

const written = (numbers, digits = 3) => numbers.map((x) => short(x, digits)).join(", ");

/** @param {import("../kit/figure.js").Given} given */
export function render(given) {
  const fig = new Figure(given, { n: 10, d: 5, noise_variance: 0.25, k: 3, seed: 1 });
  fig.linked({ seed: [0, 1e9] });
  fig.python = ladderPython;
  fig.row("19rem");
  const filter = fig.plot({
    title: "What is recovered of w",
    note: "along an eigenvector of XᵀX with eigenvalue λ",
    xLabel: "λ",
    yTicks: [0, 0.5, 1],
    tallest: 300,
  });
  const rungs = fig.plot({
    title: "The ladder",
    note: "loss after the best k steps; black: large n, d",
    xLabel: "steps k",
    x: [0, MOST],
    xTicks: [0, 2, 4, 6, 8, 10, 12],
    tallest: 300,
  });
  fig.controls([
    slider("k", { label: "steps k", min: 1, max: MOST, whole: true, actor: "gd" }),
    slider("noise_variance", { label: "noise σ²", min: 0, max: 5, step: 0.05 }),
    slider("n", { label: "examples n", min: 1, max: 60, whole: true }),
    slider("d", { label: "dimension d", min: 1, max: 20, whole: true }),
  ]);
  fig.bar(button("other prompts", () => fig.set({ seed: fig.state.seed + 1 })));
  let known = {};
  const spectrum = ({ n, d, seed }) => {
    if (known.n !== n || known.d !== d) known = { n, d, recursion: jacobi(n, d, MOST) };
    if (known.seed !== seed) Object.assign(known, { seed, drawn: eigenvalues(n, d, 60, seed) });
    return known;
  };

  return fig.begin((s) => {
    const { n, d, k, noise_variance: noise } = s,
      { recursion, drawn } = spectrum(s),
      nodes = gaussNodes(recursion, k);
    const losses = Array.from({ length: MOST + 1 }, (_, j) => [j, ladderLoss(recursion, d, noise, j)]),
      loss = losses[k][1];
    const right = 1.06 * Math.max(gaussNodes(recursion, 6).at(-1), nodes.at(-1)),
      steps = nodes.map((x) => 1 / (x + noise)),
      ridge = (x) => x / (x + noise || 1e-300);
    filter.show({
      x: [0, right],
      y: [-0.12, 1.5],
      marks: [
        dots(
          drawn.filter((x) => x > 1e-9).map((x) => [x, -0.06]),
          { actor: "muted", size: 3, opacity: 0.45 },
        ),
        graph((x) => ridge(x), { from: right / 1000, actor: "bayes", label: "ridge" }),
        graph((x) => recovered(nodes, noise, x), { actor: "gd", label: k === 1 ? "1 step" : `${k} steps` }),
        dots(
          nodes.map((x) => [x, ridge(x)]),
          { actor: "gd", size: 6, opacity: 1 },
        ),
      ],
      alt: `${k} steps meet ridge at the ${k} nodes λ = ${written(nodes)}; below, eigenvalues of random prompts.`,
    });
    rungs.show({
      y: [0, 1.06 * losses[0][1]],
      marks: [
        ...(noise > 0
          ? [
              rule({ y: noise }),
              text([0.15, noise], "noise σ²", {
                actor: "muted",
                shift: [0, noise > 0.12 * losses[0][1] ? 12 : -10],
              }),
            ]
          : []),
        line(
          losses.map(([j]) => [j, limitLoss(n, d, noise, j)]),
          { actor: "theory", width: 1.5, label: "large n, d" },
        ),
        line(losses, { actor: "gd", label: "best k" }),
        dots(losses, { actor: "gd", size: 4, opacity: 1 }),
        dots([losses[k]], { actor: "gd", size: 8, opacity: 1 }),
      ],
      alt:
        `Losses from ${short(losses[0][1])} without a step down to ${short(losses[MOST][1])} ` +
        `after ${MOST}; k = ${k} has ${short(loss)}.`,
    });
    fig.say(
      by("gd", `${k === 1 ? "One step" : `The best ${k} steps`} lose${k === 1 ? "s" : ""} ${short(loss, 4)}`),
      k > 1 ? `; one loses ${short(losses[1][1], 4)}` : "",
      k < MOST ? `; the best ${MOST} lose ${short(losses[MOST][1], 4)}. ` : ". ",
      `The curve meets `,
      by("bayes", "ridge"),
      ` at the nodes; their places λ_j do not move with the noise, `,
      `and the steps on the ridge objective are 1/(λ_j + σ²) = ${written(steps, 2)}.`,
    );
    fig.numbers({ loss, nodes });
  });
}
