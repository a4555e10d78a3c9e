/**
 * A logit as a sum: what the token, the position, each head, each MLP and each bias gave to it. Norms are frozen: each
 * divides by what it divided the whole stream by, and is then linear, so that the parts add up to the logit.
 *
 * @typedef {import("../engine/model.js").Model} Model
 * @typedef {import("../engine/tensor.js").Tensor} Tensor
 * @typedef {Map<string, Tensor>} Values
 * @typedef {{ name: string, layer: number, head?: number, vector: Float64Array }} Part
 * @typedef {{ name: string, layer: number, head?: number, amount: number }} Share
 */
import { unembedding } from "./lens.js";

const ROUNDING = 1e-9;

/**
 * What each part wrote at position t, as it arrives behind the last norm.
 * @param {Model} model with the edited weights
 * @param {Values} values
 * @param {number} t
 * @returns {Part[]}
 */
export function partsAt(model, values, t) {
  const { config } = model;
  let parts = embedded(values, t);
  for (let i = 0; i < config.layers; i++) {
    const [attention, mlp] = [headParts(model, values, i, t), mlpParts(model, values, i, t)];
    if (config.parallel) {
      parts = [...(config.skips.includes("attn") ? parts : []), ...attention, ...mlp];
    } else {
      parts = config.skips.includes("attn") ? [...parts, ...attention] : attention;
      if (config.place === "post") parts = normed(model, parts, `layers.${i}.ln1`, values.get(`${i}.ln1_scale`), t);
      parts = config.skips.includes("mlp") ? [...parts, ...mlp] : mlp;
      if (config.place === "post") parts = normed(model, parts, `layers.${i}.ln2`, values.get(`${i}.ln2_scale`), t);
    }
  }
  return config.place === "pre" ? normed(model, parts, "ln_final", values.get("ln_final_scale"), t) : parts;
}

/**
 * @param {Values} values
 * @param {number} t
 * @returns {Part[]}
 */
function embedded(values, t) {
  const parts = [{ name: "token", layer: -1, vector: row(values.get("embed"), t) }];
  if (values.has("pos_embed")) parts.push({ name: "position", layer: -1, vector: row(values.get("pos_embed"), t) });
  return parts;
}

/**
 * @param {Model} model
 * @param {Values} values
 * @param {number} i
 * @param {number} t
 * @returns {Part[]}
 */
function headParts({ config }, values, i, t) {
  const out = row(values.get(`${i}.attn_out`), t);
  const result = values.get(`${i}.result`);
  const D = config.d_model;
  /** @type {Part[]} */
  const parts = [];
  const rest = out.slice();
  for (let head = 0; result && head < config.heads; head++) {
    const at = (head * result.shape[1] + t) * D;
    const vector = result.data.slice(at, at + D);
    for (let d = 0; d < D; d++) rest[d] -= vector[d];
    parts.push({ name: `head ${i}.${head}`, layer: i, head, vector });
  }
  const largest = Math.max(...parts.map(({ vector }) => size(vector)), size(out));
  return size(rest) > ROUNDING * largest ? [...parts, { name: `attention ${i} bias`, layer: i, vector: rest }] : parts;
}

/**
 * @param {Model} model
 * @param {Values} values
 * @param {number} i
 * @param {number} t
 * @returns {Part[]}
 */
function mlpParts({ config, params }, values, i, t) {
  const out = row(values.get(`${i}.mlp_out`), t);
  const bias = params[`layers.${i}.b_out`]?.data;
  if (!bias?.some((one) => one !== 0)) {
    return config.d_ff || size(out) ? [{ name: `MLP ${i}`, layer: i, vector: out }] : [];
  }
  const without = out.map((one, d) => one - bias[d]);
  const parts = [{ name: `MLP ${i} bias`, layer: i, vector: bias.slice() }];
  return config.d_ff ? [{ name: `MLP ${i}`, layer: i, vector: without }, ...parts] : parts;
}

/**
 * What a norm makes of parts, divided by what it divided their sum by.
 * @param {Model} model
 * @param {Part[]} parts
 * @param {string} name
 * @param {Tensor | undefined} scale (T,)
 * @param {number} t
 * @returns {Part[]}
 */
function normed({ config, params }, parts, name, scale, t) {
  const gain = params[`${name}.w`]?.data;
  if (!gain || !scale) return parts;
  const by = scale.data[t];
  const through = parts.map((part) => {
    const mean = config.norm === "layer" ? part.vector.reduce((sum, x) => sum + x, 0) / part.vector.length : 0;
    return { ...part, vector: part.vector.map((x, d) => ((x - mean) / by) * gain[d]) };
  });
  const bias = params[`${name}.b`]?.data;
  if (!bias?.some((one) => one !== 0)) return through;
  const layer = name === "ln_final" ? config.layers : Number(name.split(".")[1]);
  const place = name === "ln_final" ? "last norm" : `${layer} ${name.slice(-3)}`;
  return [...through, { name: `${place} bias`, layer, vector: bias.slice() }];
}

/**
 * What each part gave to the logit of a token.
 * @param {Model} model with the edited weights
 * @param {Part[]} parts
 * @param {number} token
 * @returns {Share[]}
 */
export function shares(model, parts, token) {
  const W_U = unembedding(model);
  const [D, V] = W_U.shape;
  const found = parts.map(({ vector, ...part }) => {
    let amount = 0;
    for (let d = 0; d < D; d++) amount += vector[d] * W_U.data[d * V + token];
    return { ...part, amount };
  });
  const bias = model.params.b_U?.data;
  return bias ? [...found, { name: "output bias", layer: model.config.layers, amount: bias[token] }] : found;
}

/**
 * @param {Tensor | undefined} x (T, D)
 * @param {number} t
 */
function row(x, t) {
  if (!x) return new Float64Array(0);
  const D = x.shape[1];
  return x.data.slice(t * D, (t + 1) * D);
}

/** @param {Float64Array} vector */
const size = (vector) => vector.reduce((most, one) => Math.max(most, Math.abs(one)), 0);
