/**
 * Workers: this same script, run a second time beside the page. A page that is one file, opened from a disk, has no
 * address to load a worker from, so that it is made of the script's own text; a script that was loaded has an address.
 *
 * @typedef {{ data: unknown, answerLength: number }} Setup
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
 * What the script does when it is a worker.
 * @param {{ onmessage: ((event: MessageEvent) => void) | null, postMessage(message: unknown): void }} self
 */
export function serve(self) {
  /** @type {Pair} */
  let pair;
  /** @type {import("../engine/model.js").Model} */
  let model;
  self.onmessage = ({ data: { kind, question } }) => {
    if (kind === "model") {
      model = readModel(question.data);
      pair = new Pair(model, question.answerLength);
      return;
    }
    let found;
    try {
      found =
        kind === "exam" ? markAll(model, question.pairs, question.edits) : pair.solve(question.prompt, question.edits);
    } catch (error) {
      found = { error: messageOf(error) };
    }
    self.postMessage(found);
  };
}
