/**
 * The part of the panel that takes a logit apart: what each part of the model gave to the likeliest token, and to how
 * far it is ahead of the next, with both sums beside the logits that the run itself has.
 *
 * @typedef {import("./desk.js").Desk} Desk
 * @typedef {import("./scene.js").Facts} Facts
 */
import { partsAt, shares } from "./decompose.js";
import { each, el, say } from "./dom.js";
import { onScale } from "./scale.js";
import { number } from "./words.js";

export class LogitPanel {
  /** @param {Desk} desk */
  constructor(desk) {
    this.desk = desk;
    this.title = el("h3");
    this.head = el("div", { class: "share head" }, el("span"), el("i"), el("b"), el("b"));
    this.rows = el("div", { class: "rows" });
    this.sum = el("div", { class: "share sum" }, el("span", {}, "sum"), el("i"), el("b"), el("b"));
    this.logit = el("div", { class: "share sum logit" }, el("span", {}, "logit"), el("i"), el("b"), el("b"));
    const how = "The last norm divides by what it divided the whole stream by, so that the parts add up.";
    this.element = el(
      "section",
      {},
      this.title,
      this.head,
      this.rows,
      this.sum,
      this.logit,
      el("p", { class: "soft" }, how),
    );
  }

  /** @param {Facts} facts */
  show({ model, solution }) {
    const { desk } = this;
    const t = desk.state.position;
    const V = solution.logits.shape[1];
    const logits = solution.logits.data.subarray(t * V, (t + 1) * V);
    const [first, second] = bestTwo(logits);
    const parts = partsAt(model, solution.values, t);
    const own = shares(model, parts, first);
    const other = second < 0 ? own : shares(model, parts, second);
    say(this.title, `What each part added to the logit of “${desk.name(first)}”`);
    say(this.head.children[2], desk.name(first));
    say(this.head.children[3], second < 0 ? "" : `ahead of ${desk.name(second)}`);
    const rows = own.map((share, i) => ({ ...share, ahead: share.amount - other[i].amount }));
    const largest = Math.max(...rows.map(({ ahead, amount }) => Math.abs(second < 0 ? amount : ahead))) || 1;
    const make = () =>
      el(
        "div",
        { class: "share" },
        el("button", { class: "link" }),
        el("i", { class: "bar both" }, el("i")),
        el("b"),
        el("b"),
      );
    each(this.rows, rows, make, (row, { name, amount, ahead, layer, head }) => {
      const [label, bar, value, lead] = /** @type {HTMLElement[]} */ ([...row.children]);
      say(label, name);
      label.onclick = () => this.go(layer, head, name);
      const x = onScale(second < 0 ? amount : ahead, largest);
      /** @type {HTMLElement} */ (bar.firstElementChild).style.cssText =
        `left:${x < 0 ? 50 + 50 * x : 50}%;width:${50 * Math.abs(x)}%;background:${desk.colours.signed(x)}`;
      numberIn(value, amount, logits[first]);
      numberIn(lead, second < 0 ? NaN : ahead, largest);
    });
    const total = (/** @type {number[]} */ all) => all.reduce((sum, one) => sum + one, 0);
    numberIn(this.sum.children[2], total(rows.map(({ amount }) => amount)), 1);
    numberIn(this.sum.children[3], second < 0 ? NaN : total(rows.map(({ ahead }) => ahead)), 1);
    numberIn(this.logit.children[2], logits[first], 1);
    numberIn(this.logit.children[3], second < 0 ? NaN : logits[first] - logits[second], 1);
  }

  /**
   * Select the stage of a part.
   * @param {number} layer
   * @param {number | undefined} head
   * @param {string} name
   */
  go(layer, head, name) {
    const { stages } = this.desk.study;
    const mlp = name.includes("MLP");
    const find = stages.findIndex(
      (one) =>
        one.layer === layer && (one.kind === "both" || (layer < 0 ? one.kind === name : mlp === (one.kind === "mlp"))),
    );
    const fallback = layer < 0 ? 0 : stages.length - 1;
    this.desk.select({ stage: find < 0 ? fallback : find, part: head ?? 0 });
  }
}

/**
 * @param {Element} element
 * @param {number} x
 * @param {number} size what it is a part of: rounding is shown as 0
 */
function numberIn(element, x, size) {
  say(element, Number.isNaN(x) ? "" : number(Math.abs(x) < 1e-12 * Math.abs(size) ? 0 : x, 4));
  element.setAttribute("title", Number.isNaN(x) ? "" : String(x));
}

/**
 * The largest and the second largest logit; -1 for a second one that is not there.
 * @param {Float64Array} logits
 */
function bestTwo(logits) {
  let [first, second] = [0, -1];
  for (let i = 1; i < logits.length; i++) {
    if (logits[i] > logits[first]) [first, second] = [i, first];
    else if (second < 0 || logits[i] > logits[second]) second = i;
  }
  return [first, second];
}
