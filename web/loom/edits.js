/**
 * Edits, applied: a model with other weights, and functions that replace what stands at a site on the way. What has
 * been taken out is 0 there: of z a head, of mlp_post a neuron, of pattern one look at another position.
 *
 * @typedef {import("./state.js").Edit} Edit
 * @typedef {import("../engine/model.js").Model} Model
 * @typedef {import("../engine/tensor.js").Tensor} Tensor
 * @typedef {{ model: Model, sites: import("../engine/trace.js").Edits }} Applied
 */
import { withParams } from "../engine/model.js";
import { firstLayer } from "../engine/params.js";
import { layerOf, sites } from "../engine/sites.js";
import { address, written } from "./state.js";

/** Sites that can be edited, and how many indices such an edit has. */
const INDICES = { z: 1, mlp_post: 1, pattern: 3, embed: 0, pos_embed: 0, attn_out: 0, mlp_out: 0 };

/** @type {Map<string, (x: Tensor) => Tensor>} */
const functions = new Map(); // the same edit is the same function, so that a run can go on from an earlier one

/**
 * @param {Model} model
 * @param {readonly Edit[]} edits
 * @returns {Applied}
 */
export function applied(model, edits) {
  const weights = edits.filter((edit) => edit.what in model.params);
  /** @type {Record<string, Tensor>} */
  const changed = {};
  for (const { what, at, value } of weights) {
    const { shape, data } = (changed[what] ??= { ...model.params[what], data: model.params[what].data.slice() });
    data[place(shape, at)] = value;
  }
  /** @type {Map<string, Edit[]>} */
  const bySite = new Map();
  for (const edit of edits) {
    if (!(edit.what in model.params)) bySite.set(edit.what, [...(bySite.get(edit.what) ?? []), edit]);
  }
  return {
    model: weights.length ? withParams(model, changed) : model,
    sites: Object.fromEntries([...bySite].map(([site, some]) => [site, functionOf(some)])),
  };
}

/**
 * @param {Edit[]} edits of one site
 * @returns {(x: Tensor) => Tensor}
 */
function functionOf(edits) {
  const key = edits.map(written).join(";");
  const known = functions.get(key);
  if (known) return known;
  const made = (/** @type {Tensor} */ x) => {
    for (const edit of edits) put(x, edit);
    return x;
  };
  functions.set(key, made);
  return made;
}

/**
 * @param {Tensor} x a copy of what stands at the site
 * @param {Edit} edit
 */
function put({ shape, data }, { what, at, value }) {
  const name = what.split(".").at(-1);
  if (name === "z") data.fill(value, at[0] * shape[1] * shape[2], (at[0] + 1) * shape[1] * shape[2]);
  else if (name === "mlp_post") for (let i = at[0]; i < data.length; i += shape[1]) data[i] = value;
  else if (name !== "pattern") data.fill(value);
  else if (at[1] < shape[1] && at[2] < shape[2]) data[place(shape, at)] = value;
}

/**
 * @param {readonly number[]} shape
 * @param {readonly number[]} at
 */
export const place = (shape, at) => at.reduce((sum, i, d) => sum * shape[d] + i, 0);

/**
 * Whether the model has what the edit changes: links may come from anywhere.
 * @param {Model} model
 * @param {Edit} edit
 */
export function fits({ config, params }, { what, at }) {
  if (Object.hasOwn(params, what)) {
    const { shape } = params[what];
    return at.length === shape.length && at.every((i, d) => i < shape[d]);
  }
  const name = /** @type {keyof typeof INDICES} */ (what.split(".").at(-1));
  if (!sites(config).has(what) || INDICES[name] !== at.length) return false;
  const most = {
    z: [config.heads],
    mlp_post: [config.d_ff * (config.experts || 1)],
    pattern: [config.heads, config.block, config.block],
  };
  const limits = name in most ? most[/** @type {keyof typeof most} */ (name)] : [];
  return at.every((i, d) => i < limits[d]);
}

/**
 * The first layer in which two lists of edits differ: where a run can go on from the one with the other; 0 if nowhere.
 * @param {Model} model
 * @param {readonly Edit[]} before
 * @param {readonly Edit[]} now
 */
export function firstDifference({ config, params }, before, now) {
  const [old, young] = [new Set(before.map(written)), new Set(now.map(written))];
  const different = [...before.filter((e) => !young.has(written(e))), ...now.filter((e) => !old.has(written(e)))];
  const layers = different.map(({ what }) => (what in params ? firstLayer(config, what) : layerOf(config, what)) ?? 0);
  return Math.max(0, Math.min(config.layers, ...layers));
}

/**
 * What the number was before.
 * @param {Model} model
 * @param {string} what
 * @param {readonly number[]} at
 */
export const original = ({ params }, what, at) => params[what].data[place(params[what].shape, at)];

/**
 * @param {number} layer
 * @param {number} head
 * @returns {Edit}
 */
export const withoutHead = (layer, head) => ({ what: `${layer}.z`, at: [head], value: 0 });

/**
 * @param {number} layer
 * @param {number} neuron
 * @returns {Edit}
 */
export const withoutNeuron = (layer, neuron) => ({ what: `${layer}.mlp_post`, at: [neuron], value: 0 });

/**
 * @param {number} layer
 * @param {number} head
 * @param {number} to
 * @param {number} from
 * @returns {Edit}
 */
export const withoutEdge = (layer, head, to, from) => ({ what: `${layer}.pattern`, at: [head, to, from], value: 0 });

export { address };
