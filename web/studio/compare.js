/**
 * Compare: two models of one task on one input and one exam, and below them what tells them apart: their sizes, how
 * well and how surely they answer, what each would predict at every stage, and which heads look alike.
 *
 * @typedef {import("./shell.js").Shell} Shell
 * @typedef {import("../loom/desk.js").Desk} Desk
 */
import { mountBeside } from "../loom/beside.js";
import { el, say } from "../loom/dom.js";
import { Differences } from "./differences.js";
import { picker } from "./picker.js";

export class CompareScreen {
  /** @param {Shell} shell */
  constructor(shell) {
    this.shell = shell;
    this.place = el("div", { class: "pair" });
    this.words = el("p", { class: "soft hint" });
    this.bar = el("div", { class: "compare-bar" });
    this.element = el("div", { class: "compare-screen" }, this.bar, this.place);
    this.closed = false;
  }

  /**
   * @param {import("./address.js").Fields} fields
   * @param {string} prefix
   */
  async open(fields, prefix) {
    const { model, beside } = fields;
    this.showBar(model, beside);
    if (!beside) return this.offer(model);
    const { api } = this.shell;
    const found = await Promise.all([model, beside].map((name) => api.post("/api/model", { model: name })));
    if (this.closed) return undefined;
    const pair = /** @type {[any, any]} */ (found.map(({ model: data, page }) => ({ data, page })));
    checkTokens(pair);
    const looms = (this.looms = mountBeside(this.place, pair, { prefix }));
    this.differences = new Differences(/** @type {[Desk, Desk]} */ (looms.desks));
    this.element.append(this.differences.element);
    Object.assign(globalThis, { loom: looms.desks[0], looms: looms.desks });
    return undefined;
  }

  /**
   * @param {string} model
   * @param {string} [beside]
   */
  showBar(model, beside = "") {
    const { shell } = this;
    const go = (/** @type {string} */ one, /** @type {string} */ other) =>
      shell.go({ screen: "compare", model: one, beside: other });
    const first = picker({ label: "first model", value: model, chosen: (name) => go(name, beside) });
    const second = picker({ label: "second model", value: beside, chosen: (name) => go(model, name) });
    const swap = el("button", { class: "out", onclick: () => go(beside, model), title: "change sides" }, "⇄");
    swap.hidden = !beside;
    this.bar.replaceChildren(first, swap, second, this.words);
    if (!beside) second.focus();
  }

  /**
   * Ask for the second model, with those that may be of the same task as links.
   * @param {string} model
   */
  offer(model) {
    say(this.words, "Choose a second model of the same task: a program, a run or a file.");
    const link = (/** @type {string} */ beside) => this.shell.link({ screen: "compare", model, beside });
    const links = this.shell.models.like(model).map((name) => el("li", {}, el("a", { href: link(name) }, name)));
    if (!links.length) return;
    this.element.append(el("div", { class: "likely" }, el("h2", {}, `Beside ${model}`), el("ul", {}, ...links)));
  }

  close() {
    this.closed = true;
    this.differences?.close();
    this.looms?.close();
  }
}

/**
 * Raise an error for models that cannot be asked the same: the tokens of one must be among those of the other.
 * @param {{ data: any, page: any }[]} pair
 */
function checkTokens(pair) {
  const [a, b] = pair.map(({ data }) => /** @type {string[]} */ (data.vocab.tokens));
  const within = (/** @type {string[]} */ some, /** @type {Set<string>} */ all) => some.every((one) => all.has(one));
  if (within(a, new Set(b)) || within(b, new Set(a))) return;
  const [first, second] = pair.map(({ page }) => page.name);
  const [some, others] = [a, b].map((tokens) => tokens.slice(0, 12).join(" "));
  throw new Error(
    `${first} and ${second}: other tokens, ${some} … and ${others} … (expected the same ones in both); ` +
      "choose two models of one task",
  );
}
