/**
 * The board of a problem with what belongs to it: the score and the verifier's word at each click, undo, clear, start
 * from the best, and keep.
 *
 * @typedef {import("./shell.js").Shell} Shell
 * @typedef {{ score: number | null, legal: boolean, reason: string | null, offending: number[][], more: boolean,
 *   chosen: number | null }} Score
 */
import { messageOf } from "../loom/desk.js";
import { el, say } from "../loom/dom.js";
import { Board } from "./board.js";
import { indicesOf, nameOf, writtenAs } from "./board_space.js";
import { written } from "./ticks.js";

export class DrawPanel {
  /**
   * @param {Shell} shell
   * @param {any} problem as the server tells it
   * @param {(records: any[]) => void} kept
   */
  constructor(shell, problem, kept) {
    this.shell = shell;
    this.problem = problem;
    this.kept = kept;
    /** @type {any} as people write it */
    this.best = problem.records[0]?.construction;
    this.board = new Board(problem.space, () => this.changed());
    this.score = el("b", { class: "score" });
    this.word = el("span");
    this.verdict = el("p", { class: "verdict", role: "status" }, this.score, " ", this.word);
    this.sets = el("ul", { class: "offending" });
    this.note = el("p", { class: "note", role: "status" });
    const button = (/** @type {string} */ name, /** @type {() => void} */ act) =>
      el("button", { class: "chip", onclick: act }, name);
    this.undo = button("undo", () => this.board.undo());
    this.from = button("start from the best", () => this.start());
    this.keeper = el("button", { class: "act", onclick: () => this.keep() }, "Keep");
    const clear = button("clear", () => this.board.clear());
    const tools = el("div", { class: "tools" }, this.undo, clear, this.from, this.keeper);
    const how = HOW[/** @type {keyof typeof HOW} */ (problem.space.kind)];
    const head = el("h3", {}, "Board ", el("span", { class: "soft" }, how));
    this.element = el("section", { class: "draw" }, head, this.board.element, this.verdict, this.sets);
    this.element.append(tools, this.note);
    this.asking = this.again = false;
    this.ask();
  }

  close() {
    this.board.close();
  }

  start() {
    if (this.best !== undefined) this.board.change(indicesOf(this.problem.space, this.best));
  }

  changed() {
    say(this.note, "");
    this.ask();
  }

  /** What the construction is, as people write it. */
  get construction() {
    return writtenAs(this.problem.space, this.board.chosen);
  }

  /** Ask for the score; of many clicks the last counts. */
  async ask() {
    this.undo.disabled = !this.board.past.length;
    this.from.disabled = this.best === undefined;
    if (this.asking) {
      this.again = true;
      return;
    }
    this.asking = true;
    const { problem } = this.problem;
    try {
      do {
        this.again = false;
        const found = await this.shell.api.post("/api/score", { problem, construction: this.construction });
        if (!this.again) this.show(found);
      } while (this.again);
    } catch (error) {
      this.say(messageOf(error), true);
    }
    this.asking = false;
  }

  /** @param {Score} found */
  show({ score, legal, reason, offending, more, chosen }) {
    const { best_known: known, minimise, space } = this.problem;
    this.board.blame(offending);
    this.verdict.className = `verdict ${legal ? "legal" : "illegal"}`;
    say(this.score, legal ? `✓ ${written(score ?? 0)}` : `✗ ${chosen === null ? "" : written(chosen)}`);
    const far = known === null ? "legal" : beside(score ?? 0, known, minimise);
    say(this.word, !legal ? `not legal: ${reason}` : chosen === 0 ? "nothing is chosen" : far);
    const all = () => this.board.blame(offending);
    const items = offending.map((set) => {
      const alone = () => this.board.blame([set]);
      const name = set.map((i) => nameOf(space, i)).join(" ");
      const hovers = { onpointerenter: alone, onpointerleave: all, onfocus: alone, onblur: all };
      return el("li", { tabindex: 0, ...hovers }, `✗ ${name}`);
    });
    this.sets.replaceChildren(...items, ...(more ? [el("li", { class: "soft" }, "and more")] : []));
    this.sets.hidden = items.length < 2;
  }

  async keep() {
    const { problem } = this.problem;
    this.keeper.disabled = true;
    try {
      const { record, records } = await this.shell.api.post("/api/keep", { problem, construction: this.construction });
      this.say(`kept as record ${record.record}, ${written(record.score)}, verified`, false);
      this.kept(records);
    } catch (error) {
      this.say(messageOf(error), true);
    }
    this.keeper.disabled = false;
  }

  /**
   * @param {string} message
   * @param {boolean} bad
   */
  say(message, bad) {
    say(this.note, message);
    this.note.className = bad ? "note error" : "note";
  }
}

const HOW = {
  grid: "click cells",
  graph: "click a vertex, then another",
  list: "click elements",
  code: "click words",
  group: "click elements",
  "point set": "click points",
  "set system": "click sets",
  matrix: "click entries",
  word: "click letters, or type",
  permutation: "click where a row's value is to be",
};

/**
 * A score and the best known one, in words.
 * @param {number} score
 * @param {number} known
 * @param {boolean} [minimise] whether scores are to be small
 */
export function beside(score, known, minimise) {
  if (score === known) return `equals the best known value, ${written(known)}`;
  const far = `${written(Math.abs(score - known), 6)} ${score > known ? "above" : "below"} the best known value`;
  return `${far}, ${written(known)}${better(score, known, minimise) ? ": would be new" : ""}`;
}

/**
 * Whether one score is better than another.
 * @param {number} score
 * @param {number} than
 * @param {boolean} [minimise] whether scores are to be small
 */
export function better(score, than, minimise) {
  return minimise ? score < than : score > than;
}
