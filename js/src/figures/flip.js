import { button, choice, slider } from "../kit/controls.js";
import { short } from "../kit/dom.js";
import { by, Figure } from "../kit/figure.js";
import { arrow, cells, dots, handle, line, text, tint } from "../kit/marks.js";
import { actOn, meanOverImages, meanTensor, promptOf } from "../math/symmetry.js";

// The proof's two symmetries by hand: turn a prompt, flip it, and watch the means of r_l G_jk over its
// images.

const COLUMNS = ["x_1x_1", "x_1x_2", "x_2x_2", "x_1y", "x_2y", "yy"];

const written = (x) => (Math.abs(x) < 0.005 ? 0 : x).toFixed(2).replace("-", "−");

/** @param {import("../kit/figure.js").Given} given */
export function render(given) {
  const fig = new Figure(given, {
    degrees: 0,
    images: "turn",
    prompts: 1,
    points: [
      [1.4, 0.3],
      [0.2, 1.2],
      [-0.9, 0.6],
      [0.5, -1.1],
    ],
    w: [0.9, 0.5],
  });
  fig.linked({ points: [-2.4, 2.4] });
  fig.bar(
    fig.player({
      words: ["▶ Turn", "❚❚ Stop"],
      ...fig.walk("degrees", 2, 360),
    }),
    choice("images", {
      label: "images",
      options: [
        ["turn", "turns"],
        ["flip", "turns and flips"],
        ["mirror", "and mirrors"],
      ],
    }),
    button("back", () => fig.set({ degrees: 0 })),
  );
  fig.row("15rem");
  const plane = fig.plot({
    title: "A prompt and its image",
    note: "violet: y > 0; grey, with a minus: y < 0",
    equal: true,
    x: [-2.4, 2.4],
    y: [-2.1, 2.1],
    legend: false,
    xTicks: 5,
  });
  const table = fig.plot({
    title: "The mean of r_l G_{jk} over the images so far",
    note: "rows r_1, r_2; columns the entries of G",
    axes: false,
    equal: true,
    x: [-0.5, 6.3],
    y: [-2.9, 0.7],
    tallest: 250,
    legend: false,
  });
  fig.controls([
    slider("degrees", { label: "turned by", min: 0, max: 360, whole: true, unit: "°" }),
    slider("prompts", { label: "mean over prompts", min: 1, max: 10_000, log: true, whole: true }),
  ]);
  const means = new Map();

  return fig.begin(({ degrees, images, prompts, points, w }) => {
    const { ys, r, eta } = promptOf(points, w),
      turned = (v) => actOn(degrees, v),
      flip = images !== "turn";
    const key = JSON.stringify([prompts, prompts > 1 || [points, w]]);
    if (!means.has(key)) means.set(key, meanTensor(prompts, points, w));
    const T = meanOverImages(means.get(key), degrees, images),
      rows = T.map((row) => row),
      limit = 2;
    const shown = points.map((x, i) => ({ x: turned(x), y: ys[i] }));
    plane.show({
      marks: [
        ...points.map((x, _i) =>
          arrow([0, 0], turned(x), { actor: "muted", width: 1.2, dash: "", head: 0.1 }),
        ),
        ...(flip
          ? shown.map(({ x, y }) =>
              dots([[-x[0], -x[1]]], {
                actor: "muted",
                size: 4 + 2 * Math.min(Math.abs(y), 2),
                opacity: 0.35,
              }),
            )
          : []),
        ...(flip
          ? [
              arrow(
                [0, 0],
                turned(r).map((v) => -v),
                { actor: "accent", width: 2, opacity: 0.35 },
              ),
            ]
          : []),
        arrow([0, 0], turned(r), { actor: "accent", width: 3.5, head: 13 }),
        text(turned(r), "r", { actor: "accent", strong: true, shift: [10, -10] }),
        ...shown.map(({ x, y }, i) =>
          handle(`example ${i + 1}`, x, {
            size: 6 + 2 * Math.min(Math.abs(y), 2),
            colour: tint(Math.sign(y) * (0.5 + 0.3 * Math.abs(y))),
            negative: y < 0,
            says: `x = (${short(x[0])}, ${short(x[1])}), y = ${short(y)}`,
            move: (to) => fig.set({ points: points.map((old, k) => (k === i ? actOn(-degrees, to) : old)) }),
          }),
        ),
      ],
      alt: `A prompt of ${points.length} examples, turned by ${degrees} degrees, and its residual r.`,
    });
    table.show({
      marks: [
        ...COLUMNS.map((name, j) =>
          text([j + 0.5 + 0.1 * (+(j > 2) + +(j > 4)), 0.35], name, { anchor: "middle", actor: "muted" }),
        ),
        text([-0.1, -0.5], "r_1", { anchor: "end", actor: "muted" }),
        text([-0.1, -1.5], "r_2", { anchor: "end", actor: "muted" }),
        cells(
          rows.map((row) => row.slice(0, 3)),
          { limit, numbers: written },
        ),
        cells(
          rows.map((row) => row.slice(3, 5)),
          { at: [3.1, 0], limit, numbers: written },
        ),
        cells(
          rows.map((row) => row.slice(5)),
          { at: [5.2, 0], limit, numbers: written },
        ),
        line(
          [
            [0, -2.2],
            [3, -2.2],
          ],
          { width: 1 },
        ),
        line(
          [
            [3.1, -2.2],
            [5.1, -2.2],
          ],
          { width: 1 },
        ),
        line(
          [
            [5.2, -2.2],
            [6.2, -2.2],
          ],
          { width: 1 },
        ),
        text([1.5, -2.55], flip ? "xx: all 0" : "xx", { anchor: "middle" }),
        text([4.1, -2.55], "xy", { anchor: "middle" }),
        text([5.7, -2.55], flip ? "yy: 0" : "yy", { anchor: "middle" }),
      ],
      alt: `Means of r times the entries of G: ${T.map((row) => row.map((x) => x.toFixed(2)).join(", ")).join("; ")}.`,
    });
    const largest = (columns) => Math.max(...T.flatMap((row) => columns.map((j) => Math.abs(row[j])))),
      half = (T[0][3] + T[1][4]) / 2;
    const [turns, xy, left] = [
      degrees < 360 ? "Press ▶ Turn: all turns, once around. " : "",
      degrees < 360
        ? ""
        : images === "mirror"
          ? "All turns and mirrors leave a multiple of the identity in xy. "
          : "All turns leave a multiple of the identity in xy, and an antisymmetric part, which mirrors remove. ",
      prompts > 1
        ? `, the mean over ${prompts} random prompts; the one you drag is only drawn. ` +
          "Over all, η* makes it 0."
        : " for this prompt; take the mean over more of them.",
    ];
    fig.say(
      flip ? "A flip turns r around and leaves xx and yy as they are: their means are 0 at once. " : "",
      turns,
      xy,
      "Half the trace of xy is ",
      by("accent", short(half)),
      left,
    );
    fig.numbers({ trace: half, even: largest([0, 1, 2, 5]), eta, tensor: T.flat() });
  });
}
