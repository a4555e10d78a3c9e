/** What a user can cause: one line, what was wrong, what was expected, what to do. */
export class HandloomError extends Error {
  /** @param {string} message */
  constructor(message) {
    super(message);
    this.name = "HandloomError";
  }
}

/**
 * A value in a message, shortened so that the message stays one line.
 * @param {unknown} value
 * @returns {string}
 */
export function shown(value) {
  const text = typeof value === "string" ? JSON.stringify(value) : Array.isArray(value) ? `[${value}]` : String(value);
  const line = text.split(/\s+/).join(" ");
  return line.length <= 60 ? line : `${line.slice(0, 57)}...`;
}

/**
 * value, if it is a whole number and not below `least`.
 * @param {string} name
 * @param {unknown} value
 * @param {number} least
 * @returns {number}
 */
export function whole(name, value, least) {
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= least) return value;
  throw new HandloomError(`${name}=${shown(value)} must be a whole number of at least ${least}`);
}
