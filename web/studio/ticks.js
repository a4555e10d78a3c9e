/** Where the ticks of an axis stand, and how numbers are written beside it. */

/**
 * Round numbers from `low` to `high`, about as many as wanted; whole ones, if they are of something counted.
 * @param {number} low
 * @param {number} high
 * @param {number} wanted
 * @param {boolean} [whole]
 * @returns {number[]}
 */
export function ticks(low, high, wanted, whole = false) {
  const rough = (high - low) / Math.max(1, wanted);
  if (!(rough > 0) || !Number.isFinite(rough)) return [low];
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((one) => one * power).find((one) => one >= rough * 0.999) ?? 10 * power;
  const by = whole ? Math.max(1, Math.round(step)) : step;
  const first = Math.ceil(low / by - 1e-9);
  const last = Math.floor(high / by + 1e-9);
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, i) => (first + i) * by);
}

/**
 * The powers of ten, and between few of them also 2 and 5 times these.
 * @param {number} low above 0
 * @param {number} high
 * @returns {number[]}
 */
export function logTicks(low, high) {
  const [first, last] = [Math.floor(Math.log10(low)), Math.ceil(Math.log10(high))];
  const factors = last - first <= 2 ? [1, 2, 5] : [1];
  const found = Array.from({ length: last - first + 1 }, (_, i) => factors.map((one) => one * 10 ** (first + i)));
  const inside = found.flat().filter((one) => one >= low * 0.999 && one <= high * 1.001);
  return inside.length > 1 ? inside : [low, high];
}

/**
 * A number as people read it: short, and with thousands apart.
 * @param {number} value
 * @param {number} [digits] that count
 */
export function written(value, digits = 4) {
  const size = Math.abs(value);
  if (Number.isInteger(value) && size < 1e15) return value.toLocaleString("en");
  if (size !== 0 && (size < 1e-4 || size >= 1e7)) return value.toExponential(Math.max(0, digits - 2));
  return String(Number(value.toPrecision(digits)));
}

/**
 * @param {number} number
 * @param {string} what one of them
 */
export const counted = (number, what) => `${written(number)} ${what}${number === 1 ? "" : "s"}`;

/** @param {number} share */
export const percent = (share) => `${Number((100 * share).toPrecision(share > 0.0999 ? 3 : 2))} %`;

/**
 * A time as people say it.
 * @param {number} seconds
 */
export function lasting(seconds) {
  if (seconds < 60) return `${Math.max(0, Math.round(seconds))} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
  return `${Math.floor(seconds / 3600)} h ${Math.round((seconds % 3600) / 60)} min`;
}
