/**
 * Arrays: a shape and float64 numbers, the last dimension first in memory, as NumPy has them.
 *
 * @typedef {{ shape: number[], data: Float64Array }} Tensor
 * @typedef {number | Tensor | ArrayLike<unknown>} Given what a user may give: a number, lists in lists, an array
 */
import { HandloomError } from "./errors.js";

/** @param {number[]} shape */
export const sizeOf = (shape) => shape.reduce((product, n) => product * n, 1);

/**
 * @param {number[]} shape
 * @returns {Tensor}
 */
export const zeros = (shape) => ({ shape, data: new Float64Array(sizeOf(shape)) });

/**
 * @param {Tensor} x
 * @returns {Tensor}
 */
export const copy = (x) => ({ shape: [...x.shape], data: x.data.slice() });

/**
 * The sum of two arrays of one shape.
 * @param {Tensor} a
 * @param {Tensor} b
 * @returns {Tensor}
 */
export function plus(a, b) {
  const data = new Float64Array(a.data.length);
  for (let i = 0; i < data.length; i++) data[i] = a.data[i] + b.data[i];
  return { shape: a.shape, data };
}

/**
 * Add a row to every row of x, in place.
 * @param {Tensor} x (..., n)
 * @param {Tensor | undefined} row (n,), or nothing to add
 * @returns {Tensor}
 */
export function addRow(x, row) {
  if (!row) return x;
  const n = row.data.length;
  for (let i = 0; i < x.data.length; i += n) for (let j = 0; j < n; j++) x.data[i + j] += row.data[j];
  return x;
}

/**
 * The transpose of a matrix that stands at a place in an array.
 * @param {Float64Array} a
 * @param {number} at
 * @param {number} rows
 * @param {number} columns
 */
export function transposed(a, at, rows, columns) {
  const out = new Float64Array(rows * columns);
  for (let i = 0; i < rows; i++) for (let j = 0; j < columns; j++) out[j * rows + i] = a[at + i * columns + j];
  return out;
}

/**
 * What a user gives as a Tensor: a number, a list of numbers, lists in lists, a typed array, a Tensor.
 * @param {unknown} given
 * @returns {Tensor}
 */
export function asTensor(given) {
  if (typeof given === "number") return { shape: [], data: Float64Array.of(given) };
  if (isTensor(given)) return given;
  if (ArrayBuffer.isView(given) && !(given instanceof DataView)) given = Array.from(/** @type {any} */ (given));
  if (!Array.isArray(given)) throw new HandloomError("it is not numbers");
  const parts = given.map(asTensor);
  const inner = parts.length ? parts[0].shape : [];
  if (parts.some((part) => `${part.shape}` !== `${inner}`)) throw new HandloomError("its rows differ in length");
  const out = zeros([parts.length, ...inner]);
  parts.forEach((part, i) => out.data.set(part.data, i * sizeOf(inner)));
  return out;
}

/**
 * @param {unknown} given
 * @returns {given is Tensor}
 */
function isTensor(given) {
  const x = /** @type {any} */ (given);
  return x?.data instanceof Float64Array && Array.isArray(x.shape) && sizeOf(x.shape) === x.data.length;
}

/**
 * A copy with this shape: dimensions of 1, and missing ones in front, are repeated, as NumPy repeats them.
 * @param {Tensor} x
 * @param {number[]} shape
 * @returns {Tensor}
 */
export function broadcast(x, shape) {
  const missing = shape.length - x.shape.length;
  const from = [...Array(Math.max(0, missing)).fill(1), ...x.shape];
  if (missing < 0 || from.some((n, i) => n !== 1 && n !== shape[i])) {
    throw new HandloomError(`it has the shape (${x.shape.join(", ")})`);
  }
  const out = zeros(shape);
  for (let i = 0; i < out.data.length; i++) {
    let [rest, place, step] = [i, 0, 1];
    for (let d = shape.length - 1; d >= 0; d--) {
      if (from[d] !== 1) place += (rest % shape[d]) * step;
      step *= from[d];
      rest = Math.floor(rest / shape[d]);
    }
    out.data[i] = x.data[place];
  }
  return out;
}
