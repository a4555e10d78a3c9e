/**
 * What a transformer computes, in the page: `core/reference.py` in JavaScript, in float64, one row of tokens at a time.
 *
 *     x = W_E[tokens] + positions                          (T, D)   one row per position
 *     x = x + attention(norm(x))                           each layer: positions exchange what they know,
 *     x = x + mlp(norm(x))                                          then each works on its own
 *     logits = norm(x) @ W_U                               (T, V)   a score for every token that may come next
 *
 * Every named value goes through `tap.see`, which records it if it is wanted and replaces it if there is an edit.
 *
 * @typedef {import("./tensor.js").Tensor} Tensor
 * @typedef {import("./trace.js").Trace} Trace
 * @typedef {import("./model.js").Model} Model
 * @typedef {import("./kernel.js").Kernel} Kernel
 *
 * @typedef {object} Run what all parts of a run share
 * @property {import("./config.js").Config} config
 * @property {import("./params.js").Params} params
 * @property {number[]} ids
 * @property {import("./trace.js").Tap} tap
 * @property {Kernel} kernel
 * @property {number} start the position of the first of the ids
 * @property {import("./past.js").Past} [past]
 *
 * @typedef {object} Options
 * @property {import("./trace.js").Want} [want] sites to record, or patterns such as `*.pattern`; by default none
 * @property {import("./trace.js").Edits} [edits] what sites become
 * @property {Trace} [resume] an earlier run on the same ids, whose values before the layer `from` are taken
 * @property {number} [from] with `resume`: the first layer that is computed again; `firstLayer` knows it for a weight
 * @property {import("./past.js").Past} [past] keys and values of earlier tokens, which the ids continue
 * @property {Kernel} [kernel] by default the fastest
 */
import { attention } from "./attention.js";
import { HandloomError, shown, whole } from "./errors.js";
import { fastest } from "./kernel.js";
import { linear, mlp } from "./mlp.js";
import { norm } from "./norm.js";
import { positionRows } from "./positions.js";
import { plus, transposed, zeros } from "./tensor.js";
import { Tap } from "./trace.js";

/**
 * Run a model on token ids. Gives a Trace: the values at the wanted sites, the logits, and what `resume` needs.
 * @param {Model} model
 * @param {number[]} ids
 * @param {Options} [options]
 * @returns {Trace}
 */
export function run(model, ids, { want = [], edits = {}, resume, from, past, kernel = fastest } = {}) {
  const { config, params } = model;
  const start = past ? past.length : 0;
  const tokens = checkedTokens(config, ids, start);
  const tap = new Tap(config, tokens, want, edits);
  /** @type {Run} */
  const all = { config, params, ids: tokens, tap, kernel, start, past };
  const first = resume || from !== undefined ? resumed(all, resume, from) : 0;

  const { trace } = tap;
  let x = resume ? resume.streams[first] : embedding(all); // (T, D)
  for (let i = first; i < config.layers; i++) {
    trace.streams[i] = x;
    x = transformerLayer(all, x, i);
  }
  trace.streams[config.layers] = x;
  x = norm(all, "ln_final", tap.see("resid_final", x), "ln_final");
  trace.logits = tap.see("logits", linear(all, x, unembedding(all), params.b_U));
  if (past) past.length += tokens.length;
  return trace;
}

/**
 * The layer to start from, once the tap has what comes before it.
 * @param {Run} run
 * @param {Trace | undefined} earlier
 * @param {number | undefined} from
 */
function resumed(run, earlier, from) {
  if (!earlier || from === undefined) throw new HandloomError("from and resume belong together; give both");
  if (run.past) throw new HandloomError("resume and past are two ways to continue; give one of them");
  if (whole("from", from, 0) > run.config.layers) {
    throw new HandloomError(`from=${from} is behind the last layer (expected up to ${run.config.layers})`);
  }
  run.tap.resume(earlier, from);
  return from;
}

/**
 * @param {import("./config.js").Config} config
 * @param {number[]} ids
 * @param {number} start
 */
export function checkedTokens(config, ids, start = 0) {
  const tokens = Array.from(ids);
  if (!tokens.length) throw new HandloomError("the prompt is empty; give at least one token");
  if (start + tokens.length > config.block) {
    const count = start + tokens.length;
    throw new HandloomError(`the prompt has ${count} tokens and the block holds ${config.block}; shorten it`);
  }
  const wrong = tokens.find((id) => !Number.isInteger(id) || id < 0 || id >= config.vocab);
  if (wrong === undefined) return tokens;
  throw new HandloomError(`token ${shown(wrong)} is not in the vocabulary; tokens are 0 to ${config.vocab - 1}`);
}

/**
 * The tokens' rows of the embedding, with their positions.
 * @param {Run} run
 * @returns {Tensor} (T, D)
 */
function embedding(run) {
  const { W_E } = run.params;
  const D = run.config.d_model;
  const rows = zeros([run.ids.length, D]);
  run.ids.forEach((id, t) => rows.data.set(W_E.data.subarray(id * D, (id + 1) * D), t * D));
  const x = run.tap.see("embed", rows);
  const at = positionRows(run);
  return at ? plus(x, run.tap.see("pos_embed", at)) : x;
}

/**
 * Attention, then the MLP, or both at once; each reads the residual stream and adds to it.
 * @param {Run} run
 * @param {Tensor} x (T, D)
 * @param {number} i
 * @returns {Tensor} (T, D)
 */
function transformerLayer(run, x, i) {
  const { config, tap } = run;
  const [ln1, ln2] = [`layers.${i}.ln1`, `layers.${i}.ln2`];
  x = tap.see(`${i}.resid_pre`, x);
  if (config.parallel) {
    const y = norm(run, ln1, x, `${i}.ln1`);
    x = plus(added(run, "attn", x, attention(run, y, i)), mlp(run, y, i));
  } else if (config.place === "pre") {
    x = added(run, "attn", x, attention(run, norm(run, ln1, x, `${i}.ln1`), i));
    x = tap.see(`${i}.resid_mid`, x);
    x = added(run, "mlp", x, mlp(run, norm(run, ln2, x, `${i}.ln2`), i));
  } else {
    x = norm(run, ln1, added(run, "attn", x, attention(run, x, i)), `${i}.ln1`);
    x = tap.see(`${i}.resid_mid`, x);
    x = norm(run, ln2, added(run, "mlp", x, mlp(run, x, i)), `${i}.ln2`);
  }
  return tap.see(`${i}.resid_post`, x);
}

/**
 * The stream with what a sublayer adds to it; only the latter if it has no skip.
 * @param {Run} run
 * @param {string} part
 * @param {Tensor} x
 * @param {Tensor} out
 * @returns {Tensor}
 */
const added = (run, part, x, out) => (run.config.skips.includes(part) ? plus(x, out) : out);

/**
 * @param {Run} run
 * @returns {Tensor} (D, V)
 */
function unembedding({ config, params }) {
  if (!config.tied) return params.W_U;
  const { vocab, d_model } = config;
  return { shape: [d_model, vocab], data: transposed(params.W_E.data, 0, vocab, d_model) };
}
