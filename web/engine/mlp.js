/**
 * The MLP: a hidden layer of neurons at every position. A gate opens or closes each of them:
 * activation(x W_gate) · (x W_in) instead of activation(x W_in).
 *
 * In a mixture of experts each position has weights for the experts, most of them 0, and the neurons of an expert count
 * as much as its weight. All are computed.
 *
 * @typedef {import("./tensor.js").Tensor} Tensor
 * @typedef {import("./run.js").Run} Run
 */
import { activate } from "./activations.js";
import { part } from "./kernel.js";
import { addRow, copy, zeros } from "./tensor.js";

/**
 * @param {Run} run
 * @param {Tensor} x (T, D)
 * @param {number} i the layer
 * @returns {Tensor} (T, D)
 */
export function mlp(run, x, i) {
  const at = `layers.${i}.`;
  const bias = run.params[`${at}b_out`];
  const out = run.config.d_ff
    ? linear(run, neurons(run, x, i), stacked(run, run.params[`${at}W_out`]), bias)
    : addRow(zeros(x.shape), bias);
  return run.tap.see(`${i}.mlp_out`, out);
}

/**
 * What the neurons give, after the activation.
 * @param {Run} run
 * @param {Tensor} x (T, D)
 * @param {number} i
 * @returns {Tensor} (T, F), or (T, E · F)
 */
function neurons(run, x, i) {
  const { config, params, tap, kernel } = run;
  const at = `layers.${i}.`;
  const weights = config.experts ? tap.see(`${i}.gate`, expertWeights(run, x, at)) : undefined;
  let read = linear(run, x, sideBySide(run, params[`${at}W_in`]), params[`${at}b_in`]);
  const gate = config.gated ? linear(run, x, params[`${at}W_gate`], params[`${at}b_gate`]) : read;
  const post = copy(tap.see(`${i}.mlp_pre`, gate));
  activate(config.activation, post.data, kernel);
  if (config.gated) {
    read = tap.see(`${i}.mlp_pre_linear`, read);
    for (let j = 0; j < post.data.length; j++) post.data[j] *= read.data[j];
  }
  if (weights) for (let j = 0; j < post.data.length; j++) post.data[j] *= weights.data[Math.floor(j / config.d_ff)];
  return tap.see(`${i}.mlp_post`, post);
}

/**
 * A softmax over the `top` largest logits of each position, and 0 for the other experts; of equal logits those of the
 * lower numbers are chosen.
 * @param {Run} run
 * @param {Tensor} x (T, D)
 * @param {string} at the layer's name
 * @returns {Tensor} (T, E)
 */
function expertWeights(run, x, at) {
  const { experts, top } = run.config;
  const logits = linear(run, x, run.params[`${at}W_gate`], run.params[`${at}b_gate`]);
  const weights = zeros(logits.shape);
  for (let t = 0; t < x.shape[0]; t++) {
    const row = logits.data.subarray(t * experts, (t + 1) * experts);
    const chosen = Array.from(row.keys()).sort((a, b) => row[b] - row[a]).slice(0, top); // of equals the first
    const powers = chosen.map((e) => Math.exp(row[e] - row[chosen[0]]));
    const sum = powers.reduce((total, one) => total + one, 0);
    chosen.forEach((e, rank) => (weights.data[t * experts + e] = powers[rank] / sum));
  }
  return weights;
}

/** @type {WeakMap<Tensor, Tensor>} */
const wide = new WeakMap(); // arrays of a model do not change, so this is done once

/**
 * What the neurons of all experts read: (E, D, F) as (D, E · F).
 * @param {Run} run
 * @param {Tensor} W
 * @returns {Tensor}
 */
function sideBySide({ config }, W) {
  if (!config.experts) return W;
  let found = wide.get(W);
  if (found) return found;
  const [E, D, F] = W.shape;
  found = zeros([D, E * F]);
  for (let e = 0; e < E; e++) {
    for (let d = 0; d < D; d++) {
      found.data.set(W.data.subarray((e * D + d) * F, (e * D + d + 1) * F), (d * E + e) * F);
    }
  }
  wide.set(W, found);
  return found;
}

/**
 * What the neurons of all experts write: (E, F, D) as (E · F, D).
 * @param {Run} run
 * @param {Tensor} W
 * @returns {Tensor}
 */
const stacked = ({ config }, W) =>
  config.experts ? { shape: [config.experts * config.d_ff, config.d_model], data: W.data } : W;

/**
 * x W + b
 * @param {Run} run
 * @param {Tensor} x (T, n)
 * @param {Tensor} W (n, m)
 * @param {Tensor | undefined} b (m,)
 * @returns {Tensor} (T, m)
 */
export function linear(run, x, W, b) {
  const [T, n] = x.shape;
  const out = zeros([T, W.shape[1]]);
  run.kernel.matmul(part(x.data), part(W.data), part(out.data), T, n, W.shape[1]);
  return addRow(out, b);
}
