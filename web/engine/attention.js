/**
 * Attention: in each head every position asks (q) all positions it may see (k) and takes from them (v) in proportion.
 *
 * @typedef {import("./tensor.js").Tensor} Tensor
 * @typedef {import("./run.js").Run} Run
 */
import { part } from "./kernel.js";
import { patternOf } from "./patterns.js";
import { turnPairs } from "./positions.js";
import { addRow, transposed, zeros } from "./tensor.js";

/**
 * @param {Run} run
 * @param {Tensor} x (T, D)
 * @param {number} i the layer
 * @returns {Tensor} (T, D)
 */
export function attention(run, x, i) {
  const { config, tap, params } = run;
  const at = `layers.${i}.`;
  const bias = params[`${at}b_O`];
  if (!config.heads) return tap.see(`${i}.attn_out`, addRow(zeros(x.shape), bias));

  let q = tap.see(`${i}.q`, project(run, x, `${at}W_Q`, `${at}b_Q`)); // (H, T, K)
  let k = tap.see(`${i}.k`, project(run, x, `${at}W_K`, `${at}b_K`)); // (G, T, K)
  let v = tap.see(`${i}.v`, project(run, x, `${at}W_V`, `${at}b_V`));
  if (config.positions === "rotary") {
    q = tap.see(`${i}.rot_q`, turnPairs(q, run.start, config.rotary_base));
    k = tap.see(`${i}.rot_k`, turnPairs(k, run.start, config.rotary_base));
  }
  if (run.past) [k, v] = run.past.extend(i, k, v); // (G, S, K): all so far
  k = forEachHead(run, k); // (H, S, K)
  v = forEachHead(run, v);
  const scores = tap.see(`${i}.scores`, scoresOf(run, q, k)); // (H, T, S)
  const pattern = tap.see(`${i}.pattern`, patternOf(run, scores, k));
  const z = tap.see(`${i}.z`, headByHead(run, pattern, v)); // (H, T, K)
  const result = tap.see(`${i}.result`, headByHead(run, z, params[`${at}W_O`])); // (H, T, D)
  return tap.see(`${i}.attn_out`, addRow(sumOfHeads(result), bias));
}

/**
 * (T, D) by (H, D, K), and a bias (H, K).
 * @param {Run} run
 * @param {Tensor} x
 * @param {string} weight
 * @param {string} bias
 * @returns {Tensor} (H, T, K)
 */
function project(run, x, weight, bias) {
  const [W, b] = [run.params[weight], run.params[bias]];
  const [T, D] = x.shape;
  const [H, , K] = W.shape;
  const out = zeros([H, T, K]);
  for (let h = 0; h < H; h++) {
    run.kernel.matmul(part(x.data), part(W.data, h * D * K), part(out.data, h * T * K), T, D, K);
    if (!b) continue;
    for (let j = h * T * K; j < (h + 1) * T * K; j++) out.data[j] += b.data[h * K + (j % K)];
  }
  return out;
}

/**
 * Keys or values (G, S, K) as (H, S, K): consecutive heads share those of their group.
 * @param {Run} run
 * @param {Tensor} x
 * @returns {Tensor}
 */
function forEachHead(run, x) {
  const { heads, kv_heads } = run.config;
  if (!kv_heads) return x;
  const [, S, K] = x.shape;
  const out = zeros([heads, S, K]);
  for (let h = 0; h < heads; h++) {
    const group = Math.floor(h / (heads / kv_heads));
    out.data.set(x.data.subarray(group * S * K, (group + 1) * S * K), h * S * K);
  }
  return out;
}

/**
 * q·k / √K
 * @param {Run} run
 * @param {Tensor} q (H, T, K)
 * @param {Tensor} k (H, S, K)
 * @returns {Tensor} (H, T, S)
 */
function scoresOf(run, q, k) {
  const [H, T, K] = q.shape;
  const S = k.shape[1];
  const out = zeros([H, T, S]);
  for (let h = 0; h < H; h++) {
    const across = transposed(k.data, h * S * K, S, K);
    run.kernel.matmul(part(q.data, h * T * K), part(across), part(out.data, h * T * S), T, K, S);
  }
  const root = Math.sqrt(run.config.d_head);
  for (let j = 0; j < out.data.length; j++) out.data[j] /= root;
  return out;
}

/**
 * A product for each head: (H, T, n) by (H, n, m).
 * @param {Run} run
 * @param {Tensor} a
 * @param {Tensor} b
 * @returns {Tensor} (H, T, m)
 */
function headByHead(run, a, b) {
  const [H, T, n] = a.shape;
  const m = b.shape[2];
  const out = zeros([H, T, m]);
  for (let h = 0; h < H; h++) {
    run.kernel.matmul(part(a.data, h * T * n), part(b.data, h * n * m), part(out.data, h * T * m), T, n, m);
  }
  return out;
}

/**
 * @param {Tensor} result (H, T, D)
 * @returns {Tensor} (T, D)
 */
function sumOfHeads(result) {
  const [H, T, D] = result.shape;
  const out = zeros([T, D]);
  for (let h = 0; h < H; h++) for (let j = 0; j < T * D; j++) out.data[j] += result.data[h * T * D + j];
  return out;
}
