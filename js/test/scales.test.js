import assert from "node:assert/strict";
import { test } from "node:test";
import { decades, scale, spread, ticks } from "../src/kit/scales.js";

test("ticks are round and inside", () => {
  assert.deepEqual(ticks(0, 1), [0, 0.2, 0.4, 0.6, 0.8, 1]);
  assert.deepEqual(ticks(-3, 3, 4), [-2, 0, 2]);
  assert.deepEqual(
    decades(1e-6, 1, 3).map((x) => Math.round(Math.log10(x))),
    [0, -2, -4, -6],
  );
});

test("a scale and its inverse", () => {
  for (const log of [false, true]) {
    const at = scale([1, 100], [10, 300], log);
    assert.equal(at(1), 10);
    assert.equal(at(100), 300);
    assert.ok(Math.abs(at.invert(at(7)) - 7) < 1e-12);
  }
});

test("labels that would touch are moved apart, inside, in their order", () => {
  const places = spread([50, 52, 54, 120], 20, 130);
  assert.deepEqual(places, [32, 52, 72, 120]);
  assert.deepEqual(spread([0, 1], 20, 100), [0, 20]);
});
