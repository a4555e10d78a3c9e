/**
 * The logit lens: what the model would predict if the stream at a stage were its end.
 *
 * @typedef {import("../engine/model.js").Model} Model
 * @typedef {import("../engine/tensor.js").Tensor} Tensor
 * @typedef {{ token: number, p: number }} Seen the likeliest token and its probability
 */
import { fastest, part } from "../engine/kernel.js";
import { argmax } from "../engine/self_check.js";
import { transposed, zeros } from "../engine/tensor.js";

/** @type {WeakMap<Tensor, Tensor>} */
const turned = new WeakMap(); // W_E to its transpose

/**
 * @param {Model} model
 * @returns {Tensor} (D, V)
 */
export function unembedding({ config, params }) {
  if (!config.tied) return params.W_U;
  const { W_E } = params;
  let found = turned.get(W_E);
  if (!found) {
    const { vocab, d_model } = config;
    found = { shape: [d_model, vocab], data: transposed(W_E.data, 0, vocab, d_model) };
    turned.set(W_E, found);
  }
  return found;
}

/**
 * The logits of some rows of the stream.
 * @param {Model} model
 * @param {Tensor} stream (T, D)
 * @returns {Tensor} (T, V)
 */
export function lens(model, stream) {
  const W_U = unembedding(model);
  const [T, D] = stream.shape;
  const V = W_U.shape[1];
  const out = zeros([T, V]);
  const x = model.config.place === "pre" ? finalNorm(model, stream) : stream;
  fastest.matmul(part(x.data), part(W_U.data), part(out.data), T, D, V);
  const bias = model.params.b_U?.data;
  if (bias) for (let i = 0; i < out.data.length; i++) out.data[i] += bias[i % V];
  return out;
}

/**
 * One row of the stream as a tensor.
 * @param {Tensor} stream (T, D)
 * @param {number} t
 * @returns {Tensor}
 */
export function rowOf({ shape: [, D], data }, t) {
  return { shape: [1, D], data: data.slice(t * D, (t + 1) * D) };
}

/**
 * @param {Model} model
 * @param {Tensor} x (T, D)
 * @returns {Tensor}
 */
function finalNorm({ config, params }, x) {
  const gain = params["ln_final.w"]?.data;
  if (!gain) return x;
  const [T, D] = x.shape;
  const bias = params["ln_final.b"]?.data;
  const out = zeros([T, D]);
  for (let t = 0; t < T; t++) {
    const [at, end] = [t * D, (t + 1) * D];
    let [mean, squares] = [0, 0];
    if (config.norm === "layer") for (let i = at; i < end; i++) mean += x.data[i] / D;
    for (let i = at; i < end; i++) squares += (x.data[i] - mean) ** 2;
    const by = Math.sqrt(squares / D + (config.eps || 2 ** -1022));
    for (let i = at, d = 0; d < D; i++, d++) {
      const one = ((x.data[i] - mean) / by) * gain[d];
      out.data[i] = bias ? one + bias[d] : one;
    }
  }
  return out;
}

/**
 * @param {Float64Array} logits (V,)
 * @returns {Seen}
 */
export function likeliest(logits) {
  const token = argmax(logits);
  let sum = 0;
  for (let i = 0; i < logits.length; i++) sum += Math.exp(logits[i] - logits[token]);
  return { token, p: 1 / sum };
}

/**
 * The probabilities of all tokens.
 * @param {Float64Array} logits
 */
export function probabilities(logits) {
  const largest = logits[argmax(logits)];
  const weights = logits.map((one) => Math.exp(one - largest));
  const sum = weights.reduce((total, one) => total + one, 0);
  return weights.map((one) => one / sum);
}

/**
 * What every position would predict at a stage.
 * @param {Model} model
 * @param {Tensor} stream
 * @returns {Seen[]}
 */
export function seenAt(model, stream) {
  const { shape, data } = lens(model, stream);
  const [T, V] = shape;
  return Array.from({ length: T }, (_, t) => likeliest(data.subarray(t * V, (t + 1) * V)));
}
