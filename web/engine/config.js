/**
 * Config: which transformer. The fields of `core/config.py`, with its defaults; Python has checked them already, and
 * here an unknown field or choice is refused, so that a page never shows what another kind of transformer would give.
 *
 * @typedef {object} Config
 * @property {number} vocab V, number of tokens
 * @property {number} block N, the most positions of a run
 * @property {number} d_model D, the width of the residual stream
 * @property {number} layers
 * @property {number} heads H
 * @property {number} d_head K
 * @property {number} d_ff F
 * @property {"layer" | "rms" | "none"} norm
 * @property {"pre" | "post"} place
 * @property {number} eps
 * @property {"relu" | "gelu" | "gelu_tanh" | "silu" | "none"} activation
 * @property {"table" | "sinusoid" | "rotary" | "none"} positions
 * @property {number} rotary_base
 * @property {boolean} causal
 * @property {boolean} tied
 * @property {string[]} biases
 * @property {boolean} gated
 * @property {number} kv_heads
 * @property {"softmax" | "linear" | "least-squares" | "hard"} attention
 * @property {number} ridge
 * @property {boolean} parallel
 * @property {string[]} skips
 * @property {number} experts E
 * @property {number} top
 */
import { HandloomError, shown, whole } from "./errors.js";

const DEFAULTS = {
  layers: 0,
  heads: 0,
  d_head: 0,
  d_ff: 0,
  norm: "layer",
  place: "pre",
  eps: 1e-5,
  activation: "gelu_tanh",
  positions: "table",
  rotary_base: 10_000,
  causal: true,
  tied: true,
  biases: ["attn", "mlp", "norm"],
  gated: false,
  kv_heads: 0,
  attention: "softmax",
  ridge: 1,
  parallel: false,
  skips: ["attn", "mlp"],
  experts: 0,
  top: 2,
};
const SMALLEST = { vocab: 1, block: 1, d_model: 1, layers: 0, heads: 0, d_head: 0, d_ff: 0, kv_heads: 0, experts: 0 };
const CHOICES = {
  norm: ["layer", "rms", "none"],
  place: ["pre", "post"],
  activation: ["relu", "gelu", "gelu_tanh", "silu", "none"],
  positions: ["table", "sinusoid", "rotary", "none"],
  attention: ["softmax", "linear", "least-squares", "hard"],
};

/**
 * A Config of the fields in a model's data.
 * @param {Record<string, unknown>} fields
 * @returns {Config}
 */
export function readConfig(fields) {
  const unknown = Object.keys(fields).find((name) => !(name in DEFAULTS || name in SMALLEST));
  if (unknown) {
    throw new HandloomError(`Config: this engine has no field ${shown(unknown)}; run the model in Python`);
  }
  const config = /** @type {any} */ ({ ...DEFAULTS, ...fields });
  for (const [name, least] of Object.entries(SMALLEST)) whole(`Config: ${name}`, config[name], least);
  for (const [name, allowed] of Object.entries(CHOICES)) {
    if (!allowed.includes(config[name])) {
      const expected = allowed.map((choice) => JSON.stringify(choice)).join(", ");
      const given = `${name}=${shown(config[name])}`;
      throw new HandloomError(`Config: this engine has no ${given} (expected one of ${expected})`);
    }
  }
  return Object.freeze(config);
}

/**
 * G, the number of heads with keys and values.
 * @param {Config} config
 */
export const groups = (config) => config.kv_heads || config.heads;
