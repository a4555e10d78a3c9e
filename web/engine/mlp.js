/**
 * The MLP: a hidden layer of neurons at every position. A gate opens or closes each of them:
 * activation(x W_gate) · (x W_in) instead of activation(x W_in).
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
    ? linear(run, neurons(run, x, i), run.params[`${at}W_out`], bias)
    : addRow(zeros(x.shape), bias);
  return run.tap.see(`${i}.mlp_out`, out);
}

/**
 * What the neurons give, after the activation.
 * @param {Run} run
 * @param {Tensor} x (T, D)
 * @param {number} i
 * @returns {Tensor} (T, F)
 */
function neurons(run, x, i) {
  const { config, params, tap, kernel } = run;
  const at = `layers.${i}.`;
  let read = linear(run, x, params[`${at}W_in`], params[`${at}b_in`]);
  const gate = config.gated ? linear(run, x, params[`${at}W_gate`], params[`${at}b_gate`]) : read;
  const post = copy(tap.see(`${i}.mlp_pre`, gate));
  activate(config.activation, post.data, kernel);
  if (config.gated) {
    read = tap.see(`${i}.mlp_pre_linear`, read);
    for (let j = 0; j < post.data.length; j++) post.data[j] *= read.data[j];
  }
  return tap.see(`${i}.mlp_post`, post);
}

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
