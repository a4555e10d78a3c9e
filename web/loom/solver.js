/**
 * Solvers: something that runs the model, here or in a worker. Small models run here, in the frame of the change; a
 * model that takes longer than a few frames runs in a worker from then on, and of the changes that wait only the last
 * is run.
 *
 * @typedef {import("./compute.js").Solution} Solution
 * @typedef {import("./state.js").Edit} Edit
 * @typedef {(before: Solution, solution: Solution) => void} Done
 * @typedef {(message: string) => void} Failed
 * @typedef {(prompt: number[], edits: readonly Edit[], done: Done, failed: Failed) => void} Solve
 * @typedef {{ solve: Solve, close(): void }} Solver
 */
import { Runner } from "./compute.js";
import { Background } from "./workers.js";

const SLOW = 30; // ms of a run that would be felt
const LARGE = 4e7; // multiplications that take as long

/** Runs an input as the model was, once, and as it is now. */
export class Pair {
  /**
   * @param {import("../engine/model.js").Model} model
   * @param {number} answerLength
   */
  constructor(model, answerLength) {
    this.plain = new Runner(model, answerLength);
    this.edited = new Runner(model, answerLength);
  }

  /**
   * @param {number[]} prompt
   * @param {readonly Edit[]} edits
   * @returns {{ before: Solution, solution: Solution }}
   */
  solve(prompt, edits) {
    const known = this.plain.earlier?.solution;
    const before = known && String(known.prompt) === String(prompt) ? known : this.plain.solve(prompt, []);
    if (!edits.length) {
      this.edited.earlier = this.plain.earlier;
      return { before, solution: before };
    }
    return { before, solution: this.edited.solve(prompt, edits) };
  }
}

/** @implements {Solver} */
export class AdaptiveSolver {
  /**
   * @param {import("../engine/model.js").Model} model
   * @param {unknown} data what the model was read from
   * @param {number} answerLength
   */
  constructor(model, data, answerLength) {
    this.pair = new Pair(model, answerLength);
    this.setup = { data, answerLength };
    this.slow = 0;
    /** @type {Background | undefined} */
    this.worker = undefined;
    this.before = /** @type {Solution} */ (/** @type {unknown} */ (undefined)); // what the worker has told
  }

  /**
   * @param {number[]} prompt
   * @param {readonly Edit[]} edits
   * @param {Done} done
   * @param {Failed} failed
   */
  solve(prompt, edits, done, failed) {
    if (this.slow > 1 || this.isLarge(prompt.length)) this.worker ??= Background.start(this.setup);
    if (this.worker) {
      return this.worker.ask("solve", { prompt, edits }, (found) => {
        if (found.error) return failed(found.error);
        this.before = found.before ?? this.before; // it is told once for each input
        return done(this.before, found.solution ?? this.before);
      });
    }
    const began = performance.now();
    const { before, solution } = this.pair.solve(prompt, edits);
    this.slow = performance.now() - began > SLOW ? this.slow + 1 : 0;
    done(before, solution);
  }

  /** @param {number} length of the input */
  isLarge(length) {
    const { config, params } = this.pair.plain.model;
    const weights = Object.values(params).reduce((sum, { data }) => sum + data.length, 0);
    return length * (weights + 2 * length * config.layers * config.d_model) > LARGE;
  }

  close() {
    this.worker?.close();
  }
}
