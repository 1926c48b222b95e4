import assert from "node:assert/strict";
import { test } from "node:test";
import { atAngle, barrier, leastLoss, trapAngles } from "../src/math/landscape.js";

const trapped = { d: 3, n: 40, noise: 0.25 };

test("the trap of d = 3, n = 40 is a minimum behind the barrier, and two heads have none", () => {
  const [trap, ...others] = trapAngles(trapped);
  assert.deepEqual(others, []);
  const { top, trap: behind } = barrier(trapped);
  assert.equal(trap, behind);
  assert.ok(top < trap);
  assert.ok(Math.abs(atAngle(trap, trapped) / leastLoss(0, trapped) - 1 - 1.5061773) < 1e-6);
  for (const away of [-1e-3, 1e-3]) assert.ok(atAngle(trap, trapped) < atAngle(trap + away, trapped));
  assert.deepEqual(trapAngles({ ...trapped, heads: 2 }), []);
});

test("short prompts have no trap", () => {
  const short = { d: 3, n: 3, noise: 0.25 };
  assert.deepEqual(trapAngles(short), []);
  assert.equal(barrier(short), null);
});

test("with more heads than directions every angle is as good as the best", () => {
  const all = { ...trapped, heads: 4 };
  for (const angle of [0.3, 1, Math.PI / 2]) assert.equal(atAngle(angle, all), leastLoss(0, all));
});
