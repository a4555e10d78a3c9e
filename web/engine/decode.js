/**
 * Decoding: a model generates tokens after a prompt, one by one, as in `core/decoding.py`. The logits at the end of
 * the window, which is the last `block` tokens, choose the next one. Everything is computed in float64, where Python
 * decodes a float32 model in float32. Decoding to a format (a regular expression) is Python's alone.
 *
 * @typedef {import("./model.js").Model} Model
 * @typedef {object} How
 * @property {number} [steps] the most new tokens; by default what the model's notes ask for, or what fills the block
 * @property {(number | string)[]} [stop] tokens that end the text, as ids or tokens; by default the vocabulary's eos
 * @property {number} [temperature] 0, the default, takes the likeliest token; above it tokens are drawn
 * @property {number} [topK] drawn from the likeliest so many
 * @property {number} [topP] drawn from the fewest that hold this probability
 * @property {number} [seed]
 * @property {number} [row] the number of the prompt, if there are several with one seed
 * @property {import("./trace.js").Edits} [edits]
 * @property {import("./kernel.js").Kernel} [kernel]
 *
 * @typedef {{ token: number, logits: Float64Array }} Step a new token, and the logits (V,) it was chosen by
 */
import { HandloomError, shown, whole } from "./errors.js";
import { Past } from "./past.js";
import { uniform } from "./random.js";
import { checkedTokens, run } from "./run.js";
import { argmax } from "./self_check.js";

const LONGEST_ANSWER = 10_000; // tokens that a model's notes may ask for

/**
 * The new tokens after a prompt, including the stop token if one was generated.
 * @param {Model} model
 * @param {number[]} ids
 * @param {How} [how]
 * @returns {number[]}
 */
export const generate = (model, ids, how = {}) => Array.from(decode(model, ids, how), (step) => step.token);

/**
 * The same, one token at a time.
 * @param {Model} model
 * @param {number[]} ids
 * @param {How} [how]
 * @returns {Generator<Step, void>}
 */
export function* decode(model, ids, how = {}) {
  const text = checkedTokens(model.config, ids);
  const [limit, stops, choose] = [stepsOf(model, text.length, how.steps), stopsOf(model, how.stop), chooser(how)];
  const next = nextLogits(model, how);
  for (let step = 0; step < limit; step++) {
    const logits = next(text);
    const token = choose(logits);
    text.push(token);
    yield { token, logits };
    if (stops.has(token)) return;
  }
}

/**
 * A function that gives the logits after a text that grows by one token per call. A causal model keeps what it knows of
 * earlier positions until the window slides; with edits every step runs the whole window, edited.
 * @param {Model} model
 * @param {How} how
 * @returns {(text: number[]) => Float64Array}
 */
function nextLogits(model, { edits, kernel }) {
  const { block, causal, vocab } = model.config;
  const past = new Past();
  return (text) => {
    const known = causal && !edits && text.length <= block;
    const { logits } = known
      ? run(model, text.slice(past.length), { past, kernel })
      : run(model, text.slice(-block), { edits, kernel });
    return logits.data.slice(-vocab);
  };
}

/**
 * How many tokens may be added.
 * @param {Model} model
 * @param {number} length
 * @param {number | undefined} steps
 */
function stepsOf(model, length, steps) {
  if (steps !== undefined) return whole("steps", steps, 0);
  const note = model.notes.decode_steps; // a number, or [a, b]: a tokens per token of the prompt and b more
  if (note === undefined) return model.config.block - length + 1;
  const [each, more] = Array.isArray(note) ? note : [0, note];
  return Math.min(Math.max(0, each * length + more), LONGEST_ANSWER);
}

/**
 * The ids of the tokens that end a text.
 * @param {Model} model
 * @param {(number | string)[] | undefined} stop
 */
function stopsOf({ config, vocab }, stop) {
  const given = stop ?? (vocab.eos === null ? [] : [vocab.eos]);
  const ids = given.map((token) => (typeof token === "string" ? vocab.id(token) : whole("stop token", token, 0)));
  const wrong = ids.find((id) => id >= config.vocab);
  if (wrong === undefined) return new Set(ids);
  throw new HandloomError(`stop token ${wrong} is not in the vocabulary; tokens are 0 to ${config.vocab - 1}`);
}

/**
 * How the next token is chosen.
 * @param {How} how
 * @returns {(logits: Float64Array) => number}
 */
function chooser({ temperature = 0, topK, topP, seed = 0, row = 0 }) {
  if (!Number.isFinite(temperature) || temperature < 0) {
    throw new HandloomError(`temperature=${shown(temperature)} must be 0 (the likeliest token) or a number above it`);
  }
  if (topP !== undefined && !(topP > 0 && topP <= 1)) {
    throw new HandloomError(`topP=${shown(topP)} must be above 0 and at most 1`);
  }
  if (topK !== undefined) whole("topK", topK, 1);
  if (temperature === 0 && (topK ?? topP) !== undefined) {
    throw new HandloomError("topK and topP limit what is drawn, and at temperature 0 nothing is; give a temperature");
  }
  if (temperature === 0) return argmax;
  const random = uniform(whole("seed", seed, 0), whole("row", row, 0));
  return (logits) => drawFromTop(probabilities(logits, temperature), random(), topK, topP);
}

/**
 * @param {Float64Array} logits
 * @param {number} temperature
 */
function probabilities(logits, temperature) {
  const largest = logits.reduce((most, one) => Math.max(most, one), -Infinity);
  const weights = logits.map((one) => Math.exp((one - largest) / temperature));
  const sum = weights.reduce((total, one) => total + one, 0);
  return weights.map((one) => one / sum);
}

/**
 * The token at which the running sum passes the uniform number, among the topK likeliest and the fewest that hold topP.
 * @param {Float64Array} p
 * @param {number} random
 * @param {number | undefined} topK
 * @param {number | undefined} topP
 */
function drawFromTop(p, random, topK, topP) {
  if (topK === undefined && topP === undefined) return passed(p, random);
  const order = Array.from(p.keys()).sort((a, b) => p[b] - p[a]); // of equals the first one first
  let before = 0;
  const ranked = Float64Array.from(order, (token, rank) => {
    const isIn = rank < (topK ?? Infinity) && (topP === undefined || before < topP);
    before += p[token];
    return isIn ? p[token] : 0;
  });
  return order[passed(ranked, random)];
}

/**
 * @param {Float64Array} p which need not sum to 1
 * @param {number} random
 */
function passed(p, random) {
  let sum = 0;
  const reached = p.map((one) => (sum += one));
  return reached.findIndex((one) => one > random * sum);
}
