// Python that computes what a figure shows, to be copied.

const script = (/** @type {string[]} */ ...lines) => `${["import lsa", "", ...lines].join("\n")}\n`;

const isotropic = ({ d, n, noise_variance: noise }) =>
  `task = lsa.isotropic(d=${d}, n=${n}, noise_variance=${noise})`;

export const trainingPython = ({ d, n, noise_variance: noise, seed, step }) =>
  script(
    `start = lsa.Playground(d=${d}, n=${n}, noise_variance=${noise}, seed=${seed})`,
    'run = lsa.fit(start.layer, start.task, optimizer="adam", steps=400, learning_rate=0.02)',
    `print(f"L = {run.losses[${step}].item():.8f} after step ${step}, L* = {start.best:.8f}")`,
  );

export const ladderPython = (s) =>
  script(
    isotropic(s),
    `ladder = lsa.ladder(task, ${s.k})`,
    `print(f"L = {ladder.loss:.8f} after the best ${s.k} steps")`,
    'print("nodes", *[f"{node:.8f}" for node in ladder.nodes.tolist()])',
  );

export const trapsPython = (s) =>
  script(
    isotropic(s),
    'print(f"L* = {lsa.optimum(task).loss:.8f}")',
    `for trap in lsa.traps(task, heads=${s.heads}):`,
    '    print(f"a trap: L = {trap.loss:.8f}")',
  );

export const temperaturePython = ({ d, noise_variance, n, beta }) =>
  script(
    isotropic({ d, n, noise_variance }),
    `print(f"one head: L = {lsa.softmax_loss(task, ${beta}).loss:.6f}")`,
    `print(f"the pair: L = {lsa.softmax_loss(task, ${beta}, pair=True).loss:.6f}")`,
  );
