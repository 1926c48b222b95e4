import assert from "node:assert/strict";
import { test } from "node:test";
import { dot, eigh, identity, matrixFunction, normals, product, solve } from "../src/math/linalg.js";

const near = (found, expected, tolerance = 1e-13) => {
  assert.equal(found.length, expected.length);
  found.forEach((x, i) => {
    assert.ok(Math.abs(x - expected[i]) < tolerance, `${x} at ${i}, expected ${expected[i]}`);
  });
};
const symmetric = (d) => {
  const A = Float64Array.from({ length: d * d }, normals(d));
  return product(A, A, d, d, d, false, true);
};

test("eigenvectors are orthonormal and give the matrix again", () => {
  for (const d of [1, 2, 5, 9]) {
    const A = symmetric(d),
      { vectors } = eigh(A, d);
    near(product(vectors, vectors, d, d, d, true), identity(d));
    near(
      matrixFunction(A, d, (x) => x),
      A,
      1e-12,
    );
    const root = matrixFunction(A, d, Math.sqrt);
    near(product(root, root, d, d, d), A, 1e-12);
  }
});

test("a linear system is solved, and a singular one refused", () => {
  const d = 4,
    A = Float64Array.from({ length: d * d }, normals(7)),
    B = Float64Array.from({ length: d * 2 }, normals(8));
  near(product(A, solve(A, B, d, 2), d, d, 2), B, 1e-12);
  assert.equal(solve(new Float64Array([1, 2, 2, 4]), new Float64Array([1, 1]), 2, 1), null);
});

test("the same seed draws the same numbers, normal to the eye", () => {
  const draw = (seed) => Array.from({ length: 20_000 }, normals(seed)),
    numbers = draw(3);
  assert.deepEqual(numbers, draw(3));
  assert.notDeepEqual(numbers, draw(4));
  assert.ok(Math.abs(numbers.reduce((sum, x) => sum + x, 0) / numbers.length) < 0.03);
  assert.ok(Math.abs(dot(numbers, numbers) / numbers.length - 1) < 0.05);
});
