/**
 * The exam: inputs of the model's task with their right answers, judged by the task's oracle when the page was made.
 * A causal model is run once on an input and its right answer: it gives this answer by greedy decoding just if every
 * token of it is the likeliest there, so that one run is exact.
 *
 * @typedef {import("../engine/model.js").Model} Model
 * @typedef {[number[], number[]]} Pair the ids of the input and of the right answer
 * @typedef {{ right: boolean, got: number }} Mark `got` is the first wrong token; -1 if there is none
 * @typedef {{ marks: Mark[], ms: number }} Marks
 */
import { generate } from "../engine/decode.js";
import { run } from "../engine/run.js";
import { nextTokens } from "./compute.js";
import { applied } from "./edits.js";

/**
 * @param {Model} original
 * @param {Pair[]} pairs
 * @param {readonly import("./state.js").Edit[]} edits
 * @returns {Marks}
 */
export function markAll(original, pairs, edits) {
  const began = performance.now();
  const { model, sites } = applied(original, edits);
  const marks = pairs.map((pair) => mark(model, pair, sites));
  return { marks, ms: performance.now() - began };
}

/**
 * @param {Model} model with the edited weights
 * @param {Pair} pair
 * @param {import("../engine/trace.js").Edits} edits of sites
 * @returns {Mark}
 */
export function mark(model, [prompt, answer], edits) {
  const ids = [...prompt, ...answer.slice(0, -1)];
  if (!answer.length) return { right: true, got: -1 };
  const once = model.config.causal && ids.length <= model.config.block;
  const got = once
    ? nextTokens(run(model, ids, { edits }).logits, prompt.length - 1)
    : generate(model, prompt, { steps: answer.length, edits: Object.keys(edits).length ? edits : undefined });
  const wrong = answer.findIndex((token, i) => got[i] !== token);
  return { right: wrong < 0, got: wrong < 0 ? -1 : (got[wrong] ?? -1) };
}
