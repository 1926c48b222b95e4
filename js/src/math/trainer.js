import { METHODS, randomWeights } from "./descend.js";
import { Objective } from "./loss.js";
import { taskOf } from "./presets.js";

// The playground's training: a layer on a task, its optimiser, and the course of its loss.

const END = 1e-9, // nearer to the best, Adam divides by gradients that are all but gone, and throws the layer out
  PATIENCE = 500,
  KEPT = 1000;

export class Trainer {
  ends = ""; // why it has stopped
  moved = false; // by hand, or from another task: more than the seed is needed to come here
  step = 0;
  lowest = Infinity; // loss, and steps since
  idle = 0;
  stride = 1;
  /** @type {[number, number][]} */ history = []; // of [step, relative excess]

  constructor(state) {
    this.retask(state);
    this.restart(state);
  }

  /** Another task for the same weights. */
  retask(state) {
    this.task = taskOf(state);
    this.objective = new Objective(this.task, state.heads, state.residual);
    if (this.step) this.moved = true;
  }

  /** New weights. */
  restart(state) {
    const { d, heads, scale, seed } = state;
    this.weights = randomWeights(d, heads, scale, seed);
    [this.step, this.history, this.stride, this.moved] = [0, [], 1, false];
    this.renew(state);
  }

  /** A new optimiser, from where the weights are. */
  renew({ optimizer }) {
    this.method = new METHODS[optimizer](this.objective);
    [this.lowest, this.idle, this.ends] = [Infinity, 0, ""];
    this.record(this.excess());
  }

  /** Weights from elsewhere. */
  move(weights, state) {
    this.weights = weights;
    this.moved = true;
    this.renew(state);
  }

  excess(loss = this.objective.loss(this.weights)) {
    return (loss - this.task.best) / this.task.best;
  }

  record(value) {
    if (this.history.at(-1)?.[0] === this.step) this.history.pop();
    if (this.step % this.stride === 0) this.history.push([this.step, value]);
    if (this.history.length <= KEPT) return;
    this.stride *= 2;
    this.history = this.history.filter(([at]) => at % this.stride === 0); // its shape stays
  }

  /** One step; whether there is more to come. */
  advance(state) {
    const before = this.weights.slice(),
      loss = this.method.step(this.weights, state.rate),
      rel = this.excess(loss); // the loss before the step
    if (!(rel < 1e6)) {
      this.restart(state);
      this.ends = "It diverged: take a smaller learning rate.";
      return false;
    }
    this.record(rel);
    if (rel < END) {
      this.weights = before;
      this.ends = this.task.step.some((x) => x > 0)
        ? "Arrived: the layer is one step of gradient descent."
        : "Arrived, and there was nothing to learn: η* = 0, the best layer answers 0.";
      return false;
    }
    this.step++;
    if (loss < this.lowest * (1 - 1e-9)) [this.lowest, this.idle] = [loss, 0];
    else if (++this.idle > PATIENCE) {
      this.ends = "No way down from here: a local minimum, or all that this layer can do.";
      return false;
    }
    return true;
  }
}
