/**
 * What the page shows is one run: the input, the answer that the model gives by greedy decoding, and the values at all
 * sites that are drawn.
 *
 * The answer is found by guessing it: a causal model runs once on the input and the answer as it was before the edit,
 * and where its own next tokens are others, they are the next guess. Each run makes at least one more token certain,
 * and one run is enough if an edit leaves the answer as it is. The last run is the one that is shown.
 *
 * @typedef {import("../engine/tensor.js").Tensor} Tensor
 * @typedef {import("../engine/model.js").Model} Model
 * @typedef {import("./state.js").Edit} Edit
 *
 * @typedef {object} Solution
 * @property {number[]} prompt
 * @property {number[]} answer
 * @property {number[]} ids what was run: the input, and the answer but for its last token
 * @property {Map<string, Tensor>} values by site
 * @property {Tensor} logits (T, V)
 * @property {number} ms
 *
 * @typedef {{ edits: readonly Edit[], solution: Solution, trace: import("../engine/trace.js").Trace }} Earlier
 */
import { generate } from "../engine/decode.js";
import { run } from "../engine/run.js";
import { argmax } from "../engine/self_check.js";
import { sites } from "../engine/sites.js";
import { applied, firstDifference } from "./edits.js";

const PARTS =
  "embed pos_embed resid_pre resid_mid resid_post pattern result attn_out mlp_post mlp_out resid_final logits";
const SHOWN = new Set([...PARTS.split(" "), "ln1_scale", "ln2_scale", "ln_final_scale"]);
const ENOUGH = 8; // new tokens of a model that nothing tells when to stop

/** Runs a model again and again, and goes on from the run before where it can. */
export class Runner {
  /**
   * @param {Model} model
   * @param {number} [answerLength] the length of a right answer, if it is known
   */
  constructor(model, answerLength = 0) {
    this.model = model;
    this.answerLength = answerLength;
    this.want = [...sites(model.config).keys()].filter((site) => SHOWN.has(site.split(".").at(-1) ?? ""));
    /** @type {Earlier | undefined} */
    this.earlier = undefined;
  }

  /**
   * @param {number[]} prompt
   * @param {readonly Edit[]} edits
   * @returns {Solution}
   */
  solve(prompt, edits) {
    const began = performance.now();
    const found = this.model.config.causal ? this.guessed(prompt, edits) : this.asked(prompt, edits);
    const { trace, answer } = found;
    const { tokens: ids, values, logits } = trace;
    const solution = { prompt, answer, ids, values, logits, ms: performance.now() - began };
    this.earlier = { edits, solution, trace };
    return solution;
  }

  /**
   * @param {number[]} prompt
   * @param {readonly Edit[]} edits
   */
  guessed(prompt, edits) {
    const { model, sites: siteEdits } = applied(this.model, edits);
    const [limit, stop] = [this.steps(prompt.length), stopOf(model)];
    const same = `${this.earlier?.solution.prompt}` === `${prompt}`;
    const first = { steps: limit, edits: Object.keys(siteEdits).length ? siteEdits : undefined };
    let guess = same && this.earlier ? this.earlier.solution.answer : generate(model, prompt, first);
    for (;;) {
      const ids = [...prompt, ...guess.slice(0, -1)];
      const trace = this.traced(model, ids, edits, siteEdits);
      const next = nextTokens(trace.logits, prompt.length - 1);
      const known = agreement(next, guess, limit, stop);
      if (known.length === guess.length && (known.length === limit || known.at(-1) === stop)) {
        return { trace, answer: known };
      }
      if (known.at(-1) === stop || known.length === limit) guess = known;
      else guess = known.length < guess.length ? [...known, ...next.slice(known.length)] : [...known, known[0]];
    }
  }

  /**
   * A model that sees what follows: every token of the answer is a run of its own, and the input's is shown.
   * @param {number[]} prompt
   * @param {readonly Edit[]} edits
   */
  asked(prompt, edits) {
    const { model, sites: siteEdits } = applied(this.model, edits);
    const answer = generate(model, prompt, { steps: this.steps(prompt.length), edits: siteEdits });
    return { trace: this.traced(model, prompt, edits, siteEdits), answer };
  }

  /**
   * @param {Model} model
   * @param {number[]} ids
   * @param {readonly Edit[]} edits
   * @param {import("../engine/trace.js").Edits} siteEdits
   */
  traced(model, ids, edits, siteEdits) {
    const { earlier, want } = this;
    const from = earlier && `${earlier.trace.tokens}` === `${ids}` ? firstDifference(model, earlier.edits, edits) : 0;
    return run(model, ids, { want, edits: siteEdits, ...(from && earlier ? { resume: earlier.trace, from } : {}) });
  }

  /**
   * How many tokens the answer may have: as many as fit, and as the notes, the task or patience ask for.
   * @param {number} length
   */
  steps(length) {
    const { config, notes, vocab } = this.model;
    const room = config.block - length + 1;
    const note = notes.decode_steps;
    const [each, more] = Array.isArray(note) ? note : [0, note];
    const asked = each * length + more;
    if (Number.isInteger(asked)) return Math.max(0, Math.min(room, asked));
    if (vocab.eos !== null) return room;
    return Math.min(room, this.answerLength || ENOUGH);
  }
}

/** @param {Model} model */
const stopOf = ({ vocab }) => (vocab.eos === null ? undefined : vocab.ids.get(vocab.eos));

/**
 * The likeliest next tokens from a position on.
 * @param {Tensor} logits (T, V)
 * @param {number} first
 */
export function nextTokens({ shape: [T, V], data }, first) {
  return Array.from({ length: T - first }, (_, i) => argmax(data.subarray((first + i) * V, (first + i + 1) * V)));
}

/**
 * The tokens that are certain: those up to the first that is not the guessed one, which is the last that was computed
 * from right tokens only.
 * @param {number[]} next
 * @param {number[]} guess
 * @param {number} limit
 * @param {number | undefined} stop
 */
function agreement(next, guess, limit, stop) {
  /** @type {number[]} */
  const known = [];
  for (let i = 0; i < next.length && known.length < limit; i++) {
    known.push(next[i]);
    if (next[i] === stop || next[i] !== guess[i]) break;
  }
  return known;
}
