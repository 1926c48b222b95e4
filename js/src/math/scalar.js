// Numbers and functions of one number.

/** x, or the nearer end of [low, high]. */
export const clamp = (x, low, high) => Math.min(Math.max(x, low), high);

/** Where f is least between low and high, if it falls and then rises: golden section. */
export function lowest(f, low, high, steps = 60) {
  const ratio = (Math.sqrt(5) - 1) / 2;
  let left = high - ratio * (high - low),
    right = low + ratio * (high - low),
    atLeft = f(left),
    atRight = f(right);
  for (let k = 0; k < steps; k++) {
    if (atLeft < atRight) {
      [high, right, atRight] = [right, left, atLeft];
      left = high - ratio * (high - low);
      atLeft = f(left);
    } else {
      [low, left, atLeft] = [left, right, atRight];
      right = low + ratio * (high - low);
      atRight = f(right);
    }
  }
  return (low + high) / 2;
}
