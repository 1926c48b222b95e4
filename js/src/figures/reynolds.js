import { button, choice, menu, slider } from "../kit/controls.js";
import { short } from "../kit/dom.js";
import { by, Figure } from "../kit/figure.js";
import { cells, text } from "../kit/marks.js";
import { action, average, dimension, MODELS, randomTensor } from "../math/average.js";

// A random tensor of weights and its average over a group: what symmetry leaves of it.

const LETTERS = (d) => [...Array.from({ length: d }, (_, i) => `x_${i + 1}`), "y"];
const GROUPS = {
  none: "no symmetry",
  flip: "y → −y",
  signed: "signed permutations",
  orthogonal: "rotations, O(d)",
};
const MEANING = {
  linear: {
    none: "any layer, any number of heads",
    flip: "x_q^T P X^T y, one preconditioned step",
    signed: "η x_q^T X^T y, one plain step",
    orthogonal: "η x_q^T X^T y, one plain step",
  },
  scores: {
    none: "any kernel of this degree",
    flip: "every kernel: the labels enter linearly already",
    signed: "a kernel with the symmetry of the cube",
    orthogonal: "a kernel of x·x_q and the lengths",
  },
};

// One scale for both panels, by the root, so that small numbers keep a colour.
const MOST = 2,
  STEPS = [-2, -1, -0.3, -0.05, 0, 0.05, 0.3, 1, 2];
const rooted = (matrix) => matrix.map((row) => row.map((x) => Math.sign(x) * Math.sqrt(Math.abs(x) / MOST)));

const written = (letters, names) =>
  [...new Set(letters)]
    .map((k) => {
      const times = letters.filter((i) => i === k).length;
      return names[k] + (times > 1 ? `^${times}` : "");
    })
    .join("");

/** @param {import("../kit/figure.js").Given} given */
export function render(given) {
  const fig = new Figure(given, { model: "linear", d: 3, group: "orthogonal", progress: 1, seed: 1 });
  fig.linked({ seed: [0, 1e9] });
  let known = null,
    acting,
    left;
  const prepare = ({ model, d, group }) => {
    const now = [model, d, group].join();
    if (now === known) return;
    known = now;
    acting = action(model, group, d);
    left = Math.round(dimension(acting));
  };
  fig.bar(
    choice("model", {
      label: "model",
      options: [
        ["linear", "linear attention"],
        ["quadratic", "quadratic"],
        ["cubic", "cubic"],
      ],
    }),
  );
  const player = fig.player({
    words: ["▶ Average", "❚❚ Pause"],
    ...fig.walk("progress", 0.01),
  });
  const play = (f) => {
    const made = player(f);
    return {
      node: made.node,
      refresh: (s) => {
        made.refresh(s);
        made.node.hidden = s.group === "none";
      },
    };
  }; // nothing to average
  fig.bar(
    play,
    choice("d", {
      label: "dimension",
      options: [
        [2, "d = 2"],
        [3, "d = 3"],
      ],
    }),
    button("new weights", () => fig.set({ seed: fig.state.seed + 1 })),
  );
  fig.row("15rem");
  const plain = { axes: false, equal: true, legend: false, tallest: 330 },
    before = fig.plot({ title: "Random weights", ...plain }),
    after = fig.plot({ title: "Averaged over the group", ...plain });
  fig.row();
  const key = fig.plot({ note: "the colours of both", axes: false, legend: false, tallest: 22 });
  fig.controls([
    menu("group", { label: "group", options: GROUPS }),
    slider("progress", {
      label: "averaged",
      when: (s) => s.group !== "none",
      min: 0,
      max: 1,
      step: 0.01,
      actor: "layer",
      format: (p) => (acting ? `${counted(p)} of ${acting.length}` : ""),
    }),
  ]);
  const counted = (p) => Math.max(1, Math.round(acting.length ** p)); // evenly in the logarithm

  return fig.begin((s) => {
    prepare(s);
    const T = randomTensor(s.model, s.d, s.seed),
      count = counted(s.progress),
      mean = average(T, acting, count),
      rows = MODELS[s.model].rows(s.d),
      columns = MODELS[s.model].columns(s.d);
    const names = LETTERS(s.d),
      wide = 1.1 + (s.model === "cubic" ? 0.13 : 0.1) * rows.length;
    const frame = { x: [-wide, columns.length], y: [-rows.length, 0.9] };
    const labels = [
      ...rows.map((letters, i) =>
        text([0, -i - 0.5], written(letters, names), { anchor: "end", shift: [-5, 0] }),
      ),
      ...(s.model === "linear"
        ? columns.map((_, j) => text([j + 0.5, 0.4], `x_{q${j + 1}}`, { anchor: "middle" }))
        : [
            text([columns.length / 2, 0.4], "the same of x_q, in this order", {
              anchor: "middle",
              actor: "muted",
            }),
          ]),
    ];
    before.show({
      ...frame,
      marks: [cells(rooted(T)), ...labels],
      alt: `A matrix of ${rows.length * columns.length} random weights.`,
    });
    after.show({
      ...frame,
      marks: [cells(rooted(mean)), ...labels],
      alt: `Its average over ${count} elements of the group.`,
    });
    key.show({
      x: [0, STEPS.length],
      marks: [cells(rooted([STEPS]), { at: [0, 1], numbers: (_, __, j) => short(STEPS[j]) })],
      alt: "The colours of the numbers from −2 to 2.",
    });
    const all = s.model === "linear" ? MEANING.linear : MEANING.scores,
      done = count === acting.length;
    fig.say(
      by(
        "ink",
        `${GROUPS[s.group]}: ${left} of ${rows.length * columns.length} numbers ${left === 1 ? "is" : "are"} left`,
      ),
      done ? `: ${all[s.group]}.` : `, once all ${acting.length} elements are in.`,
    );
    fig.numbers({
      left,
      entries: rows.length * columns.length,
      largest: Math.max(...mean.flat().map(Math.abs)),
    });
  });
}
