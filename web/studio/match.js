/**
 * Two models on the same inputs: how well each answers, by how much it is sure, and which of their heads look alike.
 *
 * @typedef {import("../engine/model.js").Model} Model
 * @typedef {import("../engine/tensor.js").Tensor} Tensor
 * @typedef {import("../loom/exam.js").Pair} Pair
 * @typedef {{ a: string, b: string, like: number }} Match two heads, and the correlation of their patterns
 */
import { generate } from "../engine/decode.js";
import { run } from "../engine/run.js";
import { mark } from "../loom/exam.js";

/** What is summed for a correlation: of every pair of heads the products, of each head its values and squares. */
export class Likeness {
  /**
   * @param {Model} a
   * @param {Model} b
   */
  constructor(a, b) {
    this.heads = [headsOf(a), headsOf(b)];
    const zeros = (/** @type {number} */ n) => new Float64Array(n);
    this.sums = this.heads.map(({ length }) => zeros(length));
    this.squares = this.heads.map(({ length }) => zeros(length));
    this.products = zeros(this.heads[0].length * this.heads[1].length);
    this.count = 0;
  }

  /**
   * Add the patterns of one input, which has as many tokens in both.
   * @param {Map<string, Tensor>} a
   * @param {Map<string, Tensor>} b
   */
  add(a, b) {
    const rows = [a, b].map((values, side) => this.heads[side].map((head) => patternOf(values, head)));
    const [first] = [...rows[0], ...rows[1]];
    if (!first || [...rows[0], ...rows[1]].some((row) => row.length !== first.length)) return;
    this.count += first.length;
    rows.forEach((some, side) =>
      some.forEach((row, i) => {
        this.sums[side][i] += row.reduce((sum, p) => sum + p, 0);
        this.squares[side][i] += row.reduce((sum, p) => sum + p * p, 0);
      }),
    );
    rows[0].forEach((x, i) =>
      rows[1].forEach((y, j) => {
        let sum = 0;
        for (let at = 0; at < x.length; at++) sum += x[at] * y[at];
        this.products[i * rows[1].length + j] += sum;
      }),
    );
  }

  /**
   * The correlation of two heads over all that was added; 0 if one of them always looks the same way.
   * @param {number} i
   * @param {number} j
   */
  of(i, j) {
    const { count: n } = this;
    const spread = (/** @type {number} */ side, /** @type {number} */ at) =>
      Math.sqrt(Math.max(0, this.squares[side][at] - this.sums[side][at] ** 2 / n));
    const by = spread(0, i) * spread(1, j);
    const product = this.products[i * this.heads[1].length + j] - (this.sums[0][i] * this.sums[1][j]) / n;
    return n && by > 1e-9 * n ? product / by : 0;
  }

  /**
   * Heads in pairs: the two most alike, then the two most alike of those that are left, and so on. That is greedy: no
   * other way to pair them is tried.
   * @returns {Match[]}
   */
  matches() {
    const [as, bs] = this.heads;
    const all = as.flatMap((a, i) => bs.map((b, j) => ({ a, b, like: this.of(i, j) })));
    const used = new Set();
    return all
      .sort((x, y) => y.like - x.like)
      .filter(({ a, b }) => {
        if (used.has(`a${a}`) || used.has(`b${b}`)) return false;
        used.add(`a${a}`).add(`b${b}`);
        return true;
      });
  }
}

/** @param {Model} model */
const headsOf = ({ config }) =>
  Array.from({ length: config.layers }, (_, l) => l).flatMap((l) =>
    Array.from({ length: config.heads }, (_, h) => `${l}.${h}`),
  );

/**
 * The pattern of a head as one row of numbers: where each position looks, up to itself.
 * @param {Map<string, Tensor>} values
 * @param {string} head
 */
function patternOf(values, head) {
  const [layer, h] = head.split(".");
  const pattern = values.get(`${layer}.pattern`);
  if (!pattern) return new Float64Array(0);
  const [, T, S] = pattern.shape;
  const kept = [];
  for (let t = 1; t < T; t++) {
    for (let s = 0; s <= Math.min(t, S - 1); s++) kept.push(pattern.data[(+h * T + t) * S + s]);
  }
  return Float64Array.from(kept); // the first position can look nowhere else
}

/**
 * One input of the exam: whether the answer is right, and the smallest margin of a right token over all others.
 * @param {Model} model
 * @param {Pair} pair
 */
export function examined(model, [prompt, answer]) {
  const ids = [...prompt, ...answer.slice(0, -1)];
  const want = model.config.layers && model.config.heads ? ["*.pattern"] : [];
  if (!model.config.causal || ids.length > model.config.block) {
    const { right } = mark(model, [prompt, answer], {});
    return { right, margin: NaN, values: run(model, prompt, { want }).values };
  }
  const { logits, values } = run(model, ids, { want });
  const margins = answer.map((token, i) => marginOf(logits, prompt.length - 1 + i, token));
  const margin = Math.min(...margins);
  return { right: margin > 0 || generatesIt(model, prompt, answer, margin), margin, values };
}

/**
 * Of tokens that are equally likely the first is taken.
 * @param {Model} model
 * @param {number[]} prompt
 * @param {number[]} answer
 * @param {number} margin
 */
const generatesIt = (model, prompt, answer, margin) =>
  margin === 0 && String(generate(model, prompt, { steps: answer.length })) === String(answer);

/**
 * @param {Tensor} logits (T, V)
 * @param {number} t
 * @param {number} token
 */
function marginOf({ shape: [, V], data }, t, token) {
  let other = -Infinity;
  for (let v = 0; v < V; v++) if (v !== token) other = Math.max(other, data[t * V + v]);
  return data[t * V + token] - other;
}
