/**
 * @typedef {import("./tensor.js").Tensor} Tensor
 * @typedef {import("./run.js").Run} Run
 */
import { zeros } from "./tensor.js";

const SMALLEST = 2 ** -1022; // what eps = 0 stands for

/**
 * Layer norm: take away the mean, divide by the standard deviation. RMS norm: divide by the root mean square.
 * @param {Run} run
 * @param {string} name of its weights
 * @param {Tensor} x (T, D)
 * @param {string} site
 * @returns {Tensor} (T, D)
 */
export function norm(run, name, x, site) {
  const { config, params, tap } = run;
  const gain = params[`${name}.w`];
  if (!gain) return x;
  const [T, D] = x.shape;
  const centred = config.norm === "layer" ? withoutMean(x) : x;
  const roots = zeros([T]);
  const squares = new Float64Array(T * D);
  for (let j = 0; j < T * D; j++) squares[j] = centred.data[j] * centred.data[j];
  for (let t = 0; t < T; t++) roots.data[t] = Math.sqrt(sum(squares, t * D, D) / D + (config.eps || SMALLEST));
  const scale = tap.see(`${site}_scale`, roots); // (T,)
  const bias = params[`${name}.b`];
  const out = zeros([T, D]);
  for (let t = 0; t < T; t++) {
    for (let j = 0; j < D; j++) {
      const one = (centred.data[t * D + j] / scale.data[t]) * gain.data[j];
      out.data[t * D + j] = bias ? one + bias.data[j] : one;
    }
  }
  return tap.see(site, out);
}

/**
 * @param {Tensor} x (T, D)
 * @returns {Tensor}
 */
function withoutMean(x) {
  const [T, D] = x.shape;
  const out = zeros([T, D]);
  for (let t = 0; t < T; t++) {
    const mean = sum(x.data, t * D, D) / D;
    for (let j = t * D; j < (t + 1) * D; j++) out.data[j] = x.data[j] - mean;
  }
  return out;
}

/**
 * The sum of n numbers in NumPy's order: eight sums side by side, and long rows in halves. `sort` has scores so large
 * that another order shows: 1e-6 in its patterns instead of 1e-8.
 * @param {Float64Array} x
 * @param {number} at
 * @param {number} n
 * @returns {number}
 */
function sum(x, at, n) {
  if (n > 128) {
    const half = Math.floor(n / 2) - (Math.floor(n / 2) % 8);
    return sum(x, at, half) + sum(x, at + half, n - half);
  }
  const end = at + n;
  let all = 0;
  if (n >= 8) {
    let r0 = x[at], r1 = x[at + 1], r2 = x[at + 2], r3 = x[at + 3];
    let r4 = x[at + 4], r5 = x[at + 5], r6 = x[at + 6], r7 = x[at + 7];
    for (at += 8; at + 8 <= end; at += 8) {
      r0 += x[at];
      r1 += x[at + 1];
      r2 += x[at + 2];
      r3 += x[at + 3];
      r4 += x[at + 4];
      r5 += x[at + 5];
      r6 += x[at + 6];
      r7 += x[at + 7];
    }
    all = r0 + r1 + (r2 + r3) + (r4 + r5 + (r6 + r7));
  }
  for (; at < end; at++) all += x[at];
  return all;
}
