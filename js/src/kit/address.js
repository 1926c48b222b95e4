import { clamp } from "../math/scalar.js";

// Values in an address, and how those are read that no control sets: numbers, points, lists of points.

const MOST = 20; // entries of a list

/** A value as it stands in an address. */
export const written = (/** @type {any} */ value) =>
  Array.isArray(value)
    ? JSON.stringify(value, (_, each) => (typeof each === "number" ? +each.toFixed(3) : each))
    : String(value);

/**
 * Reads a value shaped like `like` from a text, its numbers put between `low` and `high`; undefined if the
 * text holds anything else. A pair stays a pair, longer lists may have other lengths.
 * @param {number[]} range
 * @param {any} like
 */
export function reader([low, high], like) {
  const fit = (/** @type {any} */ value, /** @type {any} */ as) => {
    if (!Array.isArray(as)) {
      if (typeof value !== "number") throw new TypeError("no number");
      return clamp(value, low, high);
    }
    if (!Array.isArray(value) || !value.length || value.length > MOST) throw new TypeError("no list");
    if (as.length === 2 && value.length !== 2) throw new TypeError("no pair");
    return value.map((each) => fit(each, as[0]));
  };
  return (/** @type {string} */ text) => {
    try {
      return fit(JSON.parse(text), like);
    } catch {
      return undefined;
    }
  };
}
