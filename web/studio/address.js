/**
 * The address of the page: everything behind # as names and values. `screen` and what a screen is about stand first,
 * and a loom's own state behind them, so that a link holds all of it.
 *
 * @typedef {Record<string, string>} Fields
 */

/**
 * @param {string} hash
 * @returns {Fields}
 */
export function fieldsOf(hash) {
  const pairs = hash
    .replace(/^#/, "")
    .split("&")
    .map((pair) => [pair.slice(0, (pair + "=").indexOf("=")), pair.slice((pair + "=").indexOf("=") + 1)]);
  return Object.fromEntries(pairs.filter(([name]) => name).map(([name, value]) => [name, decoded(value)]));
}

/** @param {string} value */
function decoded(value) {
  try {
    return decodeURIComponent(value);
  } catch {
    return "";
  }
}

/**
 * What stands behind #, in this order; what is empty is left out.
 * @param {Fields} fields
 */
export const hashOf = (fields) =>
  Object.entries(fields)
    .filter(([, value]) => value)
    .map(([name, value]) => `${name}=${encodeURIComponent(value)}`)
    .join("&");
