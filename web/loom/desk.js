/**
 * The desk: holds the state, computes what follows from it, and tells every part of the page to show it. What is shown
 * is always one run: an input that cannot be read leaves the last good one, with a line that says why.
 *
 * @typedef {import("./state.js").State} State
 * @typedef {import("./state.js").Edit} Edit
 * @typedef {import("./scene.js").Facts} Facts
 * @typedef {import("./scene.js").Hover} Hover
 * @typedef {import("./compute.js").Solution} Solution
 *
 * @typedef {object} PageData
 * @property {string} name
 * @property {string} on the first input
 * @property {{ total: number, nonzero: number, unique: number }} [sizes]
 * @property {{ text: string, method: string } | null} [certificate]
 * @property {string} [about] the model in a few words
 * @property {string | null} [takes] the inputs of its task, in words
 * @property {[number[], number[]][]} [exam]
 *
 * @typedef {{ show(facts: Facts): void }} Shows
 */
import { checkedTokens } from "../engine/run.js";
import { readingsOf } from "./readings.js";
import { factsOf } from "./scene.js";
import { hasHeads, hasNeurons, stagesOf } from "./stages.js";
import { edited, start } from "./state.js";
import { tokenName } from "./words.js";

const PICTURE = "first picture"; // a mark in the browser's own timeline, for those who measure

export class Desk {
  /**
   * @param {import("../engine/model.js").Model} model
   * @param {PageData} page
   * @param {import("./solver.js").Solver} solver
   * @param {import("./colour.js").Colours} colours
   */
  constructor(model, page, solver, colours) {
    this.config = model.config;
    this.page = page;
    this.solver = solver;
    this.study = { model, stages: stagesOf(model), readings: readingsOf(model) };
    this.dimensions = dimensionNames(model);
    this.colours = colours;
    this.state = start(page.on);
    /** @type {Facts | undefined} */
    this.facts = undefined;
    /** @type {Hover | null} */
    this.hovered = null;
    /** @type {Partial<State>} what of the selection follows from the next run: -1 */
    this.open = {};
    this.error = "";
    /** @type {Shows[]} parts of the page, in their order: the canvas first, or the page is styled twice */
    this.parts = [];
    /** @type {{ show(facts: Facts | undefined): void } | undefined} what is shown even if nothing could be run */
    this.header = undefined;
    /** @type {(() => void)[]} */
    this.listeners = [];
    /** @type {(() => void)[]} */
    this.hoverListeners = [];
    this.waiting = 0;
    this.drawMs = 0;
    /** @type {Map<string, number[]>} right answers by prompt */
    this.right = new Map((page.exam ?? []).map(([prompt, answer]) => [String(prompt), answer]));
  }

  get stage() {
    return this.study.stages[this.state.stage];
  }

  /**
   * Take a new state: compute what it changes, and show it in the next frame.
   * @param {State} state
   */
  update(state) {
    const old = this.state;
    this.state = state;
    if (state.text !== old.text || state.edits !== old.edits || !this.facts) this.compute();
    else if (state.view !== old.view || state.ballast !== old.ballast) this.gather();
    else this.open = {};
    this.settle(); // by the run before, as long as a worker has the new one
    for (const listener of this.listeners) listener();
    this.draw();
  }

  /** @param {Partial<State>} selection */
  select(selection) {
    this.update({ ...this.state, ...selection });
  }

  /**
   * @param {Edit} edit
   * @param {boolean} [continues]
   */
  edit(edit, continues = false) {
    this.update(edited(this.state, edit, continues));
  }

  /** @param {Hover | null} hover */
  hover(hover) {
    const old = this.hovered;
    if (hover?.layer === old?.layer && hover?.head === old?.head && hover?.position === old?.position) return;
    this.hovered = hover;
    for (const listener of this.hoverListeners) listener();
    this.draw();
  }

  compute() {
    const { text, edits, position, stage } = this.state;
    this.open = { ...(position < 0 ? { position } : {}), ...(stage < 0 ? { stage } : {}) };
    try {
      const prompt = this.encode(text);
      this.error = "";
      this.solver.solve(
        prompt,
        edits,
        (before, solution) => {
          this.before = before;
          this.solution = solution;
          this.solved = edits;
          if (text === this.state.text && edits === this.state.edits) this.state = { ...this.state, ...this.open };
          this.gather();
          this.draw();
        },
        (message) => this.fail(message),
      );
    } catch (error) {
      this.fail(messageOf(error));
    }
  }

  /** @param {string} message */
  fail(message) {
    this.error = message;
    this.draw();
  }

  gather() {
    if (!this.solution || !this.before) return;
    this.facts = factsOf(this.study, { ...this.state, edits: this.solved ?? [] }, this.solution, this.before);
    this.settle();
  }

  /** A selection that the run has; without one, the position and stage at which the answer begins. */
  settle() {
    if (!this.facts || !this.solution) return;
    const { stages } = this.study;
    const { position, stage, part } = this.state;
    const last = this.solution.ids.length - 1;
    const at = position < 0 ? this.solution.prompt.length - 1 : Math.min(position, last);
    const heads = stages.map(hasHeads).lastIndexOf(true);
    const on = stage < 0 ? (heads < 0 ? stages.length - 1 : heads) : Math.min(stage, stages.length - 1);
    const most = hasHeads(stages[on])
      ? this.config.heads
      : hasNeurons(stages[on])
        ? this.config.experts || this.config.d_ff
        : 1;
    this.state = { ...this.state, position: at, stage: on, part: Math.max(0, Math.min(part, most - 1)) };
  }

  /** Show nothing any more. */
  close() {
    cancelAnimationFrame(this.waiting);
    this.parts = [];
    this.listeners = [];
    this.hoverListeners = [];
  }

  /** Show everything in the next frame. */
  draw() {
    if (this.waiting) return;
    this.waiting = requestAnimationFrame(() => {
      this.waiting = 0;
      if (!this.facts) return this.header?.show(undefined);
      const began = performance.now();
      for (const part of this.parts) part.show(this.facts);
      this.drawMs = performance.now() - began;
      if (!performance.getEntriesByName(PICTURE).length) performance.mark(PICTURE);
    });
  }

  /**
   * @param {string} text
   * @returns {number[]}
   */
  encode(text) {
    const { vocab, config } = this.study.model;
    if (vocab.needsTokenizer)
      return checkedTokens(
        config,
        text
          .split(/[\s,]+/)
          .filter(Boolean)
          .map(Number),
      );
    return checkedTokens(config, vocab.encode(text));
  }

  /**
   * @param {number[]} ids
   * @returns {string}
   */
  decode(ids) {
    const { vocab } = this.study.model;
    return vocab.needsTokenizer ? ids.join(" ") : vocab.decode(ids);
  }

  /** @param {number} id */
  name(id) {
    return tokenName(this.study.model.vocab.tokens[id] ?? String(id));
  }

  /**
   * What the notes say of a head or an MLP.
   * @param {"heads" | "mlps"} kind
   * @param {string} key
   * @returns {string}
   */
  note(kind, key) {
    const notes = this.study.model.notes?.[kind];
    const words = notes && Object.hasOwn(notes, key) ? notes[key] : "";
    return typeof words === "string" ? words : "";
  }

  /** The right answer to the input, if it is among those of the exam. */
  rightAnswer() {
    return this.solution && this.right.get(String(this.solution.prompt));
  }

  /**
   * Whether what a position predicts is known to be wrong.
   * @param {number} t
   */
  isWrong(t) {
    const right = this.rightAnswer();
    if (!right || !this.facts) return false;
    const { prompt } = this.facts.solution;
    const i = t - prompt.length + 1;
    return i >= 0 && i < right.length && this.facts.next[t].token !== right[i];
  }
}

/** @param {unknown} error */
export const messageOf = (error) => (error instanceof Error ? error.message : String(error));

/**
 * Names of the stream's dimensions, by the notes.
 * @param {import("../engine/model.js").Model} model
 * @returns {string[]}
 */
function dimensionNames({ config, notes }) {
  const found = Array.from({ length: config.d_model }, (_, d) => `d${d}`);
  for (const [name, at] of Object.entries(notes?.directions ?? {})) {
    if (Number.isInteger(at) && at in found) found[at] = name;
    if (!Array.isArray(at)) continue;
    for (let d = at[0]; d < at[1] && d in found; d++) found[d] = `${name} ${d - at[0]}`;
  }
  return found;
}
