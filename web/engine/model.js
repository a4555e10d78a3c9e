/**
 * Model: Config, weights, vocabulary and notes. It does not change: `withParams` gives a changed one, which shares all
 * other arrays. `readModel` makes one of what `view/pages/model_data.py` has written into the page.
 *
 * @typedef {import("./tensor.js").Tensor} Tensor
 * @typedef {{ ids: number[], logits: Tensor }} Stored an input, and the reference's logits (n, V) at its last positions
 * @typedef {object} Model
 * @property {import("./config.js").Config} config
 * @property {import("./params.js").Params} params
 * @property {import("./vocab.js").Vocab} vocab
 * @property {Record<string, any>} notes
 * @property {Stored[]} stored what the model must compute, for `selfCheck`
 *
 * @typedef {{ shape: number[], type: "f4" | "f8", data: string, at?: string }} Packed
 *   base64 of little-endian numbers; with `at` only those that are not 0, and their places as whole numbers of 4 bytes
 * @typedef {{ config: Record<string, unknown>, vocab: import("./vocab.js").Fields, notes?: Record<string, any>,
 *   arrays: Record<string, Packed>, stored?: { ids: number[], logits: Packed }[] }} ModelData
 */
import { bytes } from "./base64.js";
import { readConfig } from "./config.js";
import { HandloomError } from "./errors.js";
import { checkParams } from "./params.js";
import { sizeOf, zeros } from "./tensor.js";
import { Vocab } from "./vocab.js";

/**
 * @param {ModelData} data
 * @returns {Model}
 */
export function readModel(data) {
  const config = readConfig(data.config);
  const params = Object.fromEntries(Object.entries(data.arrays).map(([name, packed]) => [name, unpack(packed)]));
  checkParams(config, params);
  const vocab = new Vocab(data.vocab);
  const stored = (data.stored ?? []).map(({ ids, logits }) => ({ ids, logits: unpack(logits) }));
  return Object.freeze({ config, params, vocab, notes: data.notes ?? {}, stored });
}

/**
 * A copy with some arrays replaced. It has no stored logits, for it computes others.
 * @param {Model} model
 * @param {import("./params.js").Params} changed by name, such as layers.0.W_Q
 * @returns {Model}
 */
export function withParams(model, changed) {
  const params = { ...model.params, ...changed };
  checkParams(model.config, params);
  return Object.freeze({ ...model, params, stored: [] });
}

/**
 * @param {Packed} packed
 * @returns {Tensor}
 */
function unpack({ shape, type, data, at }) {
  const raw = bytes(data);
  const numbers = type === "f4" ? read(raw, 4, "getFloat32") : read(raw, 8, "getFloat64");
  const out = zeros(shape);
  if (at !== undefined) read(bytes(at), 4, "getUint32").forEach((place, i) => (out.data[place] = numbers[i]));
  else if (numbers.length === sizeOf(shape)) out.data.set(numbers);
  else throw new HandloomError(`an array of shape (${shape}) came with ${numbers.length} numbers; the page is damaged`);
  return out;
}

/**
 * Little-endian numbers, on any machine.
 * @param {Uint8Array} raw
 * @param {number} size of one, in bytes
 * @param {"getFloat32" | "getFloat64" | "getUint32"} how
 */
function read(raw, size, how) {
  const view = new DataView(raw.buffer);
  return Float64Array.from({ length: raw.length / size }, (_, i) => view[how](i * size, true));
}
