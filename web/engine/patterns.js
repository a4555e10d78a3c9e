/**
 * Patterns: how much each position takes from each that it sees, as `Config.attention` says; nothing from the others.
 *
 *     softmax         exp(scores), divided by their sum
 *     linear          the scores themselves
 *     least-squares   q_t (Kᵀ K + ridge · I)⁻¹ k_s, where K has the keys that t sees
 *     hard            equal shares of the largest score, and 0 elsewhere
 *
 * @typedef {import("./tensor.js").Tensor} Tensor
 * @typedef {import("./run.js").Run} Run
 */
import { HandloomError } from "./errors.js";
import { part } from "./kernel.js";
import { transposed, zeros } from "./tensor.js";

/** Scores are equal if they differ by less, as a share of the largest size of a score that the position sees. */
const TIE = 1e-5;

/**
 * @param {Run} run
 * @param {Tensor} scores (H, T, S)
 * @param {Tensor} k (H, S, K)
 * @returns {Tensor} (H, T, S)
 */
export function patternOf(run, scores, k) {
  const [, T, S] = scores.shape;
  const sees = run.config.causal ? (/** @type {number} */ t) => run.start + t + 1 : () => S;
  const { attention } = run.config;
  if (attention === "softmax") return softmax(run, scores, sees);
  if (attention === "least-squares") return leastSquares(run, scores, k, sees);
  const pattern = zeros(scores.shape);
  const fill = attention === "hard" ? largestShare : same;
  for (let row = 0; row < scores.data.length / S; row++) {
    const at = row * S;
    fill(scores.data.subarray(at, at + sees(row % T)), pattern.data.subarray(at, at + S));
  }
  return pattern;
}

/**
 * All that is seen goes through exp at once, closely packed: of a causal model's scores half are never seen.
 * @param {Run} run
 * @param {Tensor} scores (H, T, S)
 * @param {(t: number) => number} sees
 */
function softmax(run, scores, sees) {
  const [H, T, S] = scores.shape;
  let count = 0;
  for (let t = 0; t < T; t++) count += H * sees(t);
  const weights = new Float64Array(count);
  for (let row = 0, to = 0; row < H * T; row++) {
    const [start, end] = [row * S, row * S + sees(row % T)];
    let largest = -Infinity;
    for (let i = start; i < end; i++) if (!(scores.data[i] <= largest)) largest = scores.data[i]; // NaN too
    for (let i = start; i < end; i++) weights[to++] = scores.data[i] - largest;
  }
  run.kernel.exp(weights);
  const pattern = zeros(scores.shape);
  for (let row = 0, from = 0; row < H * T; row++) {
    const n = sees(row % T);
    let sum = 0;
    for (let i = from; i < from + n; i++) sum += weights[i];
    for (let i = row * S; i < row * S + n; i++) pattern.data[i] = weights[from++] / sum;
  }
  return pattern;
}

/**
 * @param {Float64Array} seen
 * @param {Float64Array} out
 */
const same = (seen, out) => out.set(seen);

/**
 * Hard attention: the largest scores share equally. Those that rounding makes different count as equal.
 * @param {Float64Array} seen
 * @param {Float64Array} out
 */
function largestShare(seen, out) {
  let [largest, size] = [-Infinity, 0];
  for (const score of seen) {
    largest = Math.max(largest, score);
    size = Math.max(size, Math.abs(score));
  }
  for (let s = 0; s < seen.length; s++) out[s] = seen[s] >= largest - TIE * size ? 1 : 0;
  const count = out.reduce((sum, one) => sum + one, 0);
  for (let s = 0; s < seen.length; s++) out[s] /= count;
}

/**
 * Ridge regression of the values on the keys, asked at the query: √K · scores (K Kᵀ + ridge · I)⁻¹. Position t sees the
 * first n keys; its matrix is the first n rows and columns of that of all keys, and so is the triangle L of
 * its Cholesky factors L Lᵀ: one factorisation serves all positions.
 * @param {Run} run
 * @param {Tensor} scores
 * @param {Tensor} k
 * @param {(t: number) => number} sees
 */
function leastSquares(run, scores, k, sees) {
  const [H, T, S] = scores.shape;
  const K = k.shape[2];
  const pattern = zeros(scores.shape);
  for (let h = 0; h < H; h++) {
    const gram = new Float64Array(S * S);
    const across = transposed(k.data, h * S * K, S, K);
    run.kernel.matmul(part(k.data, h * S * K), part(across), part(gram), S, K, S);
    for (let s = 0; s < S; s++) gram[s * S + s] += run.config.ridge;
    factorise(gram, S);
    for (let t = 0; t < T; t++) {
      const at = (h * T + t) * S;
      const x = scores.data.slice(at, at + sees(t)).map((score) => score * Math.sqrt(run.config.d_head));
      solve(gram, S, x);
      pattern.data.set(x, at);
    }
  }
  return pattern;
}

/**
 * Cholesky: the triangle L of a symmetric positive matrix L Lᵀ, in its place.
 * @param {Float64Array} a (n, n)
 * @param {number} n
 */
function factorise(a, n) {
  for (let i = 0; i < n; i++) {
    for (let j = 0; j <= i; j++) {
      let rest = a[i * n + j];
      for (let p = 0; p < j; p++) rest -= a[i * n + p] * a[j * n + p];
      if (i === j && !(rest > 0)) {
        throw new HandloomError("least-squares attention: the ridge is too small for these keys; make it larger");
      }
      a[i * n + j] = i === j ? Math.sqrt(rest) : rest / a[j * n + j];
    }
  }
}

/**
 * Solve L Lᵀ y = x with the first rows and columns of L, in the place of x.
 * @param {Float64Array} L (n, n)
 * @param {number} n
 * @param {Float64Array} x
 */
function solve(L, n, x) {
  const m = x.length;
  for (let i = 0; i < m; i++) {
    for (let p = 0; p < i; p++) x[i] -= L[i * n + p] * x[p];
    x[i] /= L[i * n + i];
  }
  for (let i = m - 1; i >= 0; i--) {
    for (let p = i + 1; p < m; p++) x[i] -= L[p * n + i] * x[p];
    x[i] /= L[i * n + i];
  }
}
