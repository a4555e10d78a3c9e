/**
 * Workers: this same script, run a second time beside the page. A page that is one file, opened from a disk, has no
 * address to load a worker from, so that it is made of the script's own text; a script that was loaded has an address.
 *
 * @typedef {{ data: unknown, answerLength: number }} Setup
 * @typedef {import("../engine/tensor.js").Tensor} Tensor
 * @typedef {import("./compute.js").Solution} Solution
 */
import { readModel } from "../engine/model.js";
import { markAll } from "./exam.js";
import { messageOf } from "./desk.js";
import { Pair } from "./solver.js";

const script = /** @type {HTMLScriptElement | null} */ (globalThis.document?.currentScript ?? null);
const source = script?.textContent ?? "";
const loaded = script?.src ?? "";

/** A worker that answers one question at a time; of those that wait, only the last is asked. */
export class Background {
  /** @param {Worker} worker */
  constructor(worker) {
    this.worker = worker;
    this.busy = false;
    /** @type {{ kind: string, question: unknown, answered: (found: any) => void } | undefined} */
    this.next = undefined;
    /** @type {(found: any) => void} */
    this.answered = () => undefined;
    worker.onmessage = ({ data }) => {
      this.busy = false;
      this.answered(data);
      this.go();
    };
  }

  /**
   * A worker that has read the model; undefined where there are none.
   * @param {Setup} setup
   * @returns {Background | undefined}
   */
  static start(setup) {
    if (!(source || loaded) || typeof Worker === "undefined") return undefined;
    const address = loaded || URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
    const worker = new Worker(address);
    worker.postMessage({ kind: "model", question: setup });
    return new Background(worker);
  }

  /**
   * @param {string} kind
   * @param {unknown} question
   * @param {(found: any) => void} answered
   */
  ask(kind, question, answered) {
    this.next = { kind, question, answered };
    if (!this.busy) this.go();
  }

  go() {
    if (!this.next) return;
    const { kind, question, answered } = this.next;
    this.next = undefined;
    this.busy = true;
    this.answered = answered;
    this.worker.postMessage({ kind, question });
  }

  close() {
    this.worker.terminate();
  }
}

/**
 * A run to give away: copied once, and not twice as messages are. What it was copied from stays, for a run that goes on
 * from one of its layers.
 * @param {Solution} solution
 */
function givenAway(solution) {
  /** @type {Map<Float64Array, Tensor>} */
  const copies = new Map();
  const copied = (/** @type {Tensor} */ { shape, data }) => {
    const made = copies.get(data) ?? { shape, data: data.slice() };
    copies.set(data, made);
    return made;
  };
  const values = new Map([...solution.values].map(([site, value]) => [site, copied(value)]));
  const given = { ...solution, values, logits: copied(solution.logits) };
  return { given, buffers: [...copies.values()].map(({ data }) => data.buffer) };
}

/**
 * What the script does when it is a worker. The run without edits is told once for each input.
 * @param {{ onmessage: ((event: MessageEvent) => void) | null,
 *   postMessage(message: unknown, lent?: Transferable[]): void }} self
 */
export function serve(self) {
  /** @type {Pair} */
  let pair;
  /** @type {import("../engine/model.js").Model} */
  let model;
  /** @type {Solution | undefined} */
  let told;
  const solved = (/** @type {any} */ { prompt, edits }) => {
    const { before, solution } = pair.solve(prompt, edits);
    const [first, now] = [before === told ? undefined : givenAway(before), solution !== before && givenAway(solution)];
    told = before;
    const found = { before: first?.given, solution: now ? now.given : undefined };
    self.postMessage(found, [...(first?.buffers ?? []), ...(now ? now.buffers : [])]);
  };
  self.onmessage = ({ data: { kind, question } }) => {
    if (kind === "model") {
      model = readModel(question.data);
      pair = new Pair(model, question.answerLength);
      return;
    }
    try {
      if (kind === "exam") self.postMessage(markAll(model, question.pairs, question.edits));
      else solved(question);
    } catch (error) {
      self.postMessage({ error: messageOf(error) });
    }
  };
}
