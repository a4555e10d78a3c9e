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
  const pattern = zeros(scores.shape);
  if (run.config.attention === "least-squares") return leastSquares(run, scores, k, pattern, sees);
  const fill = { softmax: lessLargest, linear: same, hard: largestShare }[run.config.attention];
  for (let row = 0; row < scores.data.length / S; row++) {
    const at = row * S;
    fill(scores.data.subarray(at, at + sees(row % T)), pattern.data.subarray(at, at + S));
  }
  if (run.config.attention === "softmax") {
    run.kernel.exp(pattern.data);
    for (let at = 0; at < pattern.data.length; at += S) divideBySum(pattern.data, at, at + S);
  }
  return pattern;
}

/**
 * What softmax takes exp of: scores less the largest, and -∞ for positions that are not seen.
 * @param {Float64Array} seen
 * @param {Float64Array} out
 */
function lessLargest(seen, out) {
  let largest = -Infinity;
  for (let s = 0; s < seen.length; s++) if (seen[s] > largest) largest = seen[s];
  for (let s = 0; s < seen.length; s++) out[s] = seen[s] - largest;
  out.fill(-Infinity, seen.length);
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
  divideBySum(out, 0, seen.length);
}

/**
 * @param {Float64Array} x
 * @param {number} from
 * @param {number} to
 */
function divideBySum(x, from, to) {
  let sum = 0;
  for (let i = from; i < to; i++) sum += x[i];
  for (let i = from; i < to; i++) x[i] /= sum;
}

/**
 * Ridge regression of the values on the keys, asked at the query, computed as √K · scores (K Kᵀ + ridge · I)⁻¹. Position
 * t sees the first n keys; its matrix is the first n rows and columns of that of all keys, and so is the triangle L of
 * its Cholesky factors L Lᵀ: one factorisation serves all positions.
 * @param {Run} run
 * @param {Tensor} scores
 * @param {Tensor} k
 * @param {Tensor} pattern
 * @param {(t: number) => number} sees
 */
function leastSquares(run, scores, k, pattern, sees) {
  const [H, T, S] = scores.shape;
  const K = k.shape[2];
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
