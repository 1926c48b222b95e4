import assert from "node:assert/strict";
import { test } from "node:test";
import { chiSquareRule, erf, gaussLegendre, normalRule } from "../src/math/quadrature.js";
import { clamp, lowest } from "../src/math/scalar.js";

/** Does a rule of `count` nodes give the moments 0 … 2·count − 1? */
const exact = (rule, moment) => {
  for (let k = 0; k < 2 * rule.length; k++) {
    const found = rule.reduce((sum, [x, weight]) => sum + weight * x ** k, 0),
      size = rule.reduce((sum, [x, weight]) => sum + weight * Math.abs(x) ** k, 0);
    assert.ok(Math.abs(found - moment(k)) < 1e-11 * size, `moment ${k}: ${found}, expected ${moment(k)}`);
  }
};

test("Gauss rules are exact to degree 2·count − 1", () => {
  const odd = (k) => Array.from({ length: k }, (_, i) => 2 * i + 1).reduce((all, x) => all * x, 1);
  exact(gaussLegendre(6), (k) => (k % 2 ? 0 : 2 / (k + 1)));
  exact(normalRule(6), (k) => (k % 2 ? 0 : odd(k / 2)));
  exact(chiSquareRule(3, 6), (k) =>
    Array.from({ length: k }, (_, i) => 3 + 2 * i).reduce((all, x) => all * x, 1),
  );
});

test("the error function joins its series and its tail", () => {
  assert.ok(Math.abs(erf(0.5) - 0.5204998778130465) < 1e-15);
  assert.ok(Math.abs(erf(3) - 0.9999779095030014) < 1e-15);
  assert.ok(Math.abs(erf(2.5 - 1e-12) - erf(2.5)) < 1e-14);
  assert.equal(erf(-1), -erf(1));
});

test("the lowest place of a function that falls and rises", () => {
  assert.ok(Math.abs(lowest((x) => (x - 0.3) ** 2, -1, 2) - 0.3) < 1e-7);
  assert.ok(Math.abs(lowest((x) => x, 0, 1)) < 1e-10); // at an end
  assert.deepEqual([clamp(-2, 0, 1), clamp(0.5, 0, 1), clamp(7, 0, 1)], [0, 0.5, 1]);
});
