/**
 * What tells two models apart: three tables, filled while the page stays alive.
 *
 * @typedef {import("../loom/desk.js").Desk} Desk
 * @typedef {{ token: string, name: string, p: number, row: Float64Array }} Prediction
 */
import { each, el, say } from "../loom/dom.js";
import { seenAt } from "../loom/lens.js";
import { sameStage } from "../loom/link.js";
import { number, percent } from "../loom/words.js";
import { examined, Likeness } from "./match.js";

const BUDGET = 12; // ms of work in one go
const MOST = 60; // inputs on which patterns are compared
const WORDS = {
  stages:
    "What each would predict at the selected position if the stream at a stage were its end. Bold: not the same. " +
    "Apart: the length of the difference, where both are equally wide.",
  heads:
    "Heads whose patterns are most alike on the exam’s inputs, by correlation; paired best first (greedy). A click " +
    "selects both.",
};

export class Differences {
  /** @param {[Desk, Desk]} desks */
  constructor(desks) {
    this.desks = desks;
    this.facts = el("tbody");
    this.stages = el("tbody");
    this.heads = el("tbody");
    this.done = el("span", { class: "soft" });
    const names = desks.map(({ page }) => page.name);
    const head = (/** @type {string[]} */ cells) =>
      el("thead", {}, el("tr", {}, ...cells.map((cell) => el("th", { scope: "col" }, cell))));
    const table = (/** @type {string} */ title, /** @type {string} */ words, /** @type {Node[]} */ ...parts) =>
      el("section", {}, el("h2", {}, title), el("table", {}, ...parts), el("p", { class: "soft" }, words));
    this.element = el(
      "div",
      { class: "differences" },
      table("Size and answers", "", head(["", ...names]), this.facts),
      table("Stage by stage", WORDS.stages, head(["", ...names, "", isAlike(desks) ? "apart" : ""]), this.stages),
      table("Heads that look alike", WORDS.heads, head([...names, "alike"]), this.heads),
    );
    this.models = desks.map(({ study }) => study.model);
    this.likeness = new Likeness(this.models[0], this.models[1]);
    this.exams = desks.map(({ page }) => page.exam ?? []);
    this.found = desks.map(() => ({ asked: 0, right: 0, margin: Infinity }));
    this.at = 0;
    this.timer = 0;
    this.showFacts();
    this.show = () => this.showStages();
    for (const desk of desks) desk.parts.push(this);
    this.work();
  }

  /** Examine some inputs, then let the page draw. */
  work() {
    const began = performance.now();
    const most = Math.max(...this.exams.map((exam) => exam.length));
    while (this.at < most && performance.now() - began < BUDGET) this.examine(this.at++);
    this.showFacts();
    if (this.at < most) this.timer = window.setTimeout(() => this.work(), 4);
    else this.showHeads();
  }

  /** @param {number} i */
  examine(i) {
    const both = this.models.map((model, side) => {
      const pair = this.exams[side][i];
      if (!pair) return undefined;
      const { right, margin, values } = examined(model, pair);
      const found = this.found[side];
      found.asked++;
      found.right += Number(right);
      found.margin = Math.min(found.margin, margin);
      return values;
    });
    if (i < MOST && both[0] && both[1]) this.likeness.add(both[0], both[1]);
  }

  showFacts() {
    const rows = [
      ["layers", ...this.models.map(({ config }) => `${config.layers}`)],
      ["width", ...this.models.map(({ config }) => `${config.d_model}`)],
      ["heads per layer", ...this.models.map(({ config }) => `${config.heads} of ${config.d_head}`)],
      ["hidden neurons", ...this.models.map(({ config }) => `${config.d_ff * (config.experts || 1)}`)],
      ["numbers", ...this.desks.map(({ page }) => page.sizes?.total.toLocaleString("en-GB") ?? "")],
      ["not zero", ...this.desks.map(({ page }) => page.sizes?.nonzero.toLocaleString("en-GB") ?? "")],
      ["right on the exam", ...this.found.map(({ asked, right }) => (asked ? `${percent(right / asked)}` : "no exam"))],
      ["", ...this.found.map(({ asked, right }) => (asked ? `${right} of ${asked}` : ""))],
      ["smallest margin", ...this.found.map(({ asked, margin }) => (asked && !isNaN(margin) ? number(margin) : "–"))],
    ];
    cells(this.facts, rows);
  }

  /** What each would predict at every stage that one of them has. */
  showStages() {
    const [a, b] = this.desks;
    if (!a.facts || !b.facts) return;
    const [seen, others] = this.desks.map((desk) => predictions(desk));
    /** @type {[string, Prediction | undefined, Prediction | undefined][]} */
    const rows = a.study.stages.map((stage, i) => [stage.label, seen[i], others[sameStage(stage, b.study.stages)]]);
    b.study.stages.forEach((stage, j) => {
      if (sameStage(stage, a.study.stages) < 0) rows.push([stage.label, undefined, others[j]]);
    });
    const words = (/** @type {Prediction | undefined} */ one) => (one ? `${one.name} ${percent(one.p)}` : "–");
    const isComparable = isAlike(this.desks);
    const apart = rows.map(([, one, other]) => (one && other && isComparable ? percent(distance(one, other)) : ""));
    const differs = rows.map(([, one, other]) => Boolean(one && other && one.token !== other.token));
    cells(
      this.stages,
      rows.map(([label, one, other], i) => [label, words(one), words(other), differs[i] ? "≠" : "", apart[i]]),
    );
    [...this.stages.children].forEach((row, i) => row.classList.toggle("other", differs[i]));
  }

  showHeads() {
    const matches = this.likeness.matches();
    const rows = matches.map(({ a, b, like }) => [a, b, like.toFixed(2)]);
    cells(this.heads, rows.length ? rows : [["no heads", "", ""]]);
    matches.forEach(({ a, b }, i) => {
      const row = /** @type {HTMLElement} */ (this.heads.children[i]);
      const choose = () => select(this.desks, [a, b]);
      row.tabIndex = 0;
      row.onclick = choose;
      row.onkeydown = ({ key }) => key === "Enter" && choose();
      const notes = [a, b].map((head, side) => this.desks[side].note("heads", head)).filter(Boolean);
      row.title = notes.join(" — ");
    });
    this.element.dataset.done = "true";
  }

  close() {
    clearTimeout(this.timer);
  }
}

/**
 * Select a head at each desk. The second is told last and passes nothing on: what is selected here is not the same.
 * @param {[Desk, Desk]} desks
 * @param {string[]} heads
 */
function select([first, second], heads) {
  const [one, other] = [first, second].map(({ study }, side) => {
    const [layer, part] = heads[side].split(".").map(Number);
    return { stage: study.stages.findIndex((stage) => stage.kind === "attention" && stage.layer === layer), part };
  });
  first.select(one);
  second.state = { ...second.state, ...other };
  second.draw();
}

/**
 * The likeliest token at each stage, with its probability.
 * @param {Desk} desk
 * @returns {(Prediction | undefined)[]}
 */
function predictions(desk) {
  const { study, facts, state, solution } = desk;
  const model = /** @type {import("../loom/scene.js").Facts} */ (facts).model;
  return study.stages.map(({ site }) => {
    const stream = solution?.values.get(site);
    if (!stream) return undefined;
    const D = stream.shape[1];
    const row = { shape: [1, D], data: stream.data.slice(state.position * D, (state.position + 1) * D) };
    const [{ token, p }] = seenAt(model, row);
    return { token: model.vocab.tokens[token] ?? String(token), name: desk.name(token), p, row: row.data };
  });
}

/**
 * Whether the streams are equally wide, so that they can be held against each other.
 * @param {Desk[]} desks
 */
const isAlike = ([a, b]) => a.config.d_model === b.config.d_model;

/**
 * How far two rows of the stream are from each other, as a share of the longer.
 * @param {Prediction} one
 * @param {Prediction} other
 */
function distance({ row: x }, { row: y }) {
  const longer = Math.max(Math.hypot(...x), Math.hypot(...y));
  return longer ? Math.hypot(...x.map((a, d) => a - y[d])) / longer : 0;
}

/**
 * @param {HTMLElement} body
 * @param {string[][]} rows the first cell of each is its heading
 */
function cells(body, rows) {
  each(
    body,
    rows,
    () => el("tr"),
    (row, texts) =>
      each(
        row,
        texts,
        (i) => (i ? el("td") : /** @type {any} */ (el("th", { scope: "row" }))),
        (cell, text) => say(cell, text),
      ),
  );
}
