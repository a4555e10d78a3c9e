/**
 * Whether this engine, in this browser, computes what the reference computed: on the inputs stored with the model.
 *
 * @typedef {import("./model.js").Model} Model
 * @typedef {object} Checked
 * @property {number} worst the largest difference of a logit, as a share of the largest logit of its input
 * @property {boolean} argmaxEqual whether the likeliest tokens are the same; logits that differ by less than TOLERANCE
 *   of the largest are equally likely
 * @property {number} inputs
 * @property {boolean} passed whether the tokens are the same and `worst` is within TOLERANCE
 */
import { run } from "./run.js";

// What another processor's order of sums may move: 4e-9 was seen in book/addition, whose numbers nearly cancel. A fault
// of an engine moves far more.
export const TOLERANCE = 1e-7;

/**
 * @param {Model} model
 * @param {import("./run.js").Options} [options] another kernel than the fastest
 * @returns {Checked}
 */
export function selfCheck(model, options = {}) {
  const compared = model.stored.map(({ ids, logits }) => compare(run(model, ids, options).logits, logits));
  const worst = Math.max(0, ...compared.map((one) => one.worst));
  const argmaxEqual = compared.every((one) => one.argmaxEqual);
  return { worst, argmaxEqual, inputs: compared.length, passed: argmaxEqual && worst <= TOLERANCE };
}

/**
 * @param {import("./tensor.js").Tensor} all the logits (T, V)
 * @param {import("./tensor.js").Tensor} wanted (n, V), at the last positions
 */
function compare(all, wanted) {
  const V = wanted.shape[1];
  const got = all.data.slice(all.data.length - wanted.data.length);
  const largest = wanted.data.reduce((most, one) => Math.max(most, Math.abs(one)), 0) || 1;
  const worst = wanted.data.reduce((most, one, i) => Math.max(most, Math.abs(one - got[i])), 0) / largest;
  let argmaxEqual = true;
  for (let at = 0; at < wanted.data.length; at += V) {
    const row = wanted.data.subarray(at, at + V);
    const chosen = argmax(got.subarray(at, at + V));
    argmaxEqual &&= row[argmax(row)] - row[chosen] <= TOLERANCE * largest;
  }
  return { worst, argmaxEqual };
}

/**
 * The place of the largest number, the first one of several.
 * @param {Float64Array} row
 */
export function argmax(row) {
  let best = 0;
  for (let i = 1; i < row.length; i++) if (row[i] > row[best]) best = i;
  return best;
}
