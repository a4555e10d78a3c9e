// What pages do with text, as functions of JSON values, for call.mjs.
import { generate, plain, readModel } from "../engine.js";
import { uniform } from "../engine/random.js";

export const encode = (vocab, text) => readModel(modelOf(vocab)).vocab.encode(text);
export const decode = (vocab, ids, specials) => readModel(modelOf(vocab)).vocab.decode(ids, specials);
export const generated = (model, ids, how) => generate(readModel(model), ids, { ...how, kernel: plain });

export function draws(seed, row, count) {
  const random = uniform(seed, row);
  return Array.from({ length: count }, random);
}

/** The smallest model with a vocabulary. */
function modelOf(vocab) {
  const count = vocab.tokens.length;
  const zeros = { shape: [count, 1], type: "f4", data: "", at: "" };
  const config = { vocab: count, block: 1, d_model: 1, positions: "none", norm: "none" };
  return { config, vocab, arrays: { W_E: zeros } };
}
