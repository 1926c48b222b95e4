import { button, choice, slider } from "../kit/controls.js";
import { short } from "../kit/dom.js";
import { by, Figure } from "../kit/figure.js";
import { dots, graph, handle, line, rule, text } from "../kit/marks.js";
import { chosen, follow, isotropic } from "../math/gradient_flow.js";

// Gradient flow over the landscape of one head: many starts, each in the colour of the place where it ends.

const COUNT = 30,
  EARLY = 0.1,
  DEGREES = 180 / Math.PI;
const LOOKS = {
  optimum: { actor: "layer", dash: "" },
  trap: { actor: "accent", dash: "2 2.5" },
  undecided: { actor: "muted", dash: "6 4" },
};

/** @param {import("../kit/figure.js").Given} given */
export function render(given) {
  const fig = new Figure(given, {
    d: 3,
    n: 40,
    noise_variance: 0.3,
    size: 0.1,
    apart: false,
    progress: 1,
    seed: 1,
    angle: 60,
  });
  fig.linked({ angle: [1, 89], seed: [0, 1e9] });
  let key = null,
    land,
    runs,
    own,
    last;
  const prepare = ({ d, n, noise_variance, size, apart, seed, angle }) => {
    // what does not depend on time is kept
    const now = JSON.stringify([d, n, noise_variance, size, apart, seed]);
    if (now !== key) {
      key = now;
      land = isotropic(d, n, noise_variance);
      runs = follow(land, { apart, size, count: COUNT, seed });
      own = null;
    }
    if (own?.angle !== angle) {
      own = { angle, ...chosen(land, { apart, size, angle: angle / DEGREES }) };
      last = 1.15 * Math.max(1, own.path.at(-1)[0], ...runs.map(({ path }) => path.at(-1)[0]));
    }
  };
  const timeOf = (progress) => EARLY * (last / EARLY) ** progress;
  const until = (path, time) => {
    const k = path.findIndex(([t]) => t > time);
    return k < 0 ? path : path.slice(0, Math.max(k, 1));
  };

  fig.bar(
    fig.player({ words: ["▶ Train", "❚❚ Pause"], ...fig.walk("progress", 0.006) }),
    choice("apart", {
      label: "keys and queries",
      options: [
        [false, "merged"],
        [true, "keys and queries apart"],
      ],
    }),
    button("new starts", () => fig.set({ seed: fig.state.seed + 1 })),
  );
  fig.row("19rem");
  const map = fig.plot({
    title: "The landscape",
    x: [0, 90],
    xTicks: [0, 30, 60, 90],
    xText: (x) => `${x}°`,
    xLabel: "angle of a: 0° reads labels, 90° covariates",
    yLabel: "loss L",
    aspect: 0.8,
    legend: false,
  });
  const course = fig.plot({
    title: "The course of training",
    xLog: true,
    xLabel: "time τ",
    yLabel: "loss L",
    aspect: 0.8,
    legend: false,
  });
  fig.controls([
    slider("progress", {
      label: "time τ",
      min: 0,
      max: 1,
      step: 0.005,
      format: (p) => (last ? short(timeOf(p)) : ""),
    }),
    slider("size", { label: "size of the start s", min: 1e-4, max: 0.5, log: true, actor: "layer" }),
    slider("n", { label: "examples n", min: 1, max: 200, log: true, whole: true }),
    slider("d", { label: "dimension d", min: 2, max: 5, whole: true }),
  ]);

  return fig.begin((s) => {
    prepare(s);
    const time = timeOf(s.progress),
      { V, best, caught, barrier, task } = land,
      top = task.q + 0.06 * (task.q - best),
      low = best - 0.13 * (task.q - best);
    const wanted = (path) => path.map(([, angle, loss]) => [angle * DEGREES, loss]),
      timed = (path) => path.map(([t, , loss]) => [Math.max(t, EARLY / 2), loss]);
    const all = [
      ...runs.map((run) => ({ ...run, width: 1.4, opacity: 0.75 })),
      { ...own, width: 3.2, opacity: 1 },
    ];
    const tails = (of) =>
      all.flatMap(({ path, end, width, opacity }) =>
        line(of(until(path, time)), { ...LOOKS[end], width, opacity }),
      );
    const heads = (of) =>
      all.map(({ path, end, width }) =>
        dots([of(until(path, time)).at(-1)], { actor: LOOKS[end].actor, size: width + 1.5, opacity: 1 }),
      );
    const names = [text([2, best], "optimum L*", { actor: "layer", strong: true, shift: [0, 13] })];
    if (barrier)
      names.push(
        text([barrier.trap * DEGREES, caught], "trap", {
          actor: "accent",
          strong: true,
          anchor: "middle",
          shift: [0, 14],
        }),
      );
    const where = barrier ? `with a trap at ${short(barrier.trap * DEGREES)} degrees` : "without a trap";
    map.show({
      y: [low, top],
      marks: [
        graph((x) => V(x / DEGREES), {
          actor: "ink",
          width: 3,
          dash: "",
        }),
        ...tails(wanted),
        ...heads(wanted),
        ...names,
        handle("your start", [s.angle, task.q], {
          along: "x",
          bounds: [
            [1, 89],
            [low, top],
          ],
          says: `${short(s.angle)} degrees`,
          move: ([x]) => fig.set({ angle: x }),
        }),
        text([s.angle, task.q], "your start", {
          strong: true,
          anchor: s.angle > 60 ? "end" : "start",
          shift: [s.angle > 60 ? -14 : 14, -2],
        }),
      ],
      alt: `The least loss at every angle of a, ${where}, and ${COUNT} starts on their way down.`,
    });
    course.show({
      x: [EARLY, last],
      y: [low, top],
      marks: [
        rule({ x: time }),
        rule({ y: best }, { actor: "layer" }),
        ...(barrier ? [rule({ y: caught }, { actor: "accent" })] : []),
        ...tails(timed),
        ...heads(timed),
      ],
      alt: "The loss of the same starts against time: flat, then a drop.",
    });
    const count = (end) => runs.filter((run) => run.end === end).length,
      held = count("undecided"),
      ends = {
        optimum: by("layer", "at the optimum"),
        trap: by("accent", "in the trap"),
        undecided: "on a saddle, for now",
      };
    fig.say(
      `Of ${COUNT} starts `,
      by("layer", `${count("optimum")} end at the optimum, ${short(best)}`),
      ...(barrier ? [", ", by("accent", `${count("trap")} in the trap, ${short(caught)}`)] : []),
      ...(held ? [`, ${held} still rest on a saddle`] : []),
      barrier ? "" : "; there is no trap",
      ". Yours ends ",
      ends[own.end],
      ".",
    );
    fig.numbers({ best, caught: caught ?? "", optimum: count("optimum"), trap: count("trap") });
  });
}
