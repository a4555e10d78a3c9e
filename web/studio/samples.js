/**
 * Samples of a model: each with a sign and a colour for what the task thinks of it, and the places that the rule reads
 * underlined.
 *
 * @typedef {{ text: string, mark: string, marked?: number[] }} Sample
 */
import { el } from "../loom/dom.js";

/** @type {Record<string, [string, string]>} the sign of a mark, and what it means */
const MARKS = {
  right: ["✓", "right"],
  new: ["+", "new"],
  known: ["=", "right, and in the training set"],
  wrong: ["✗", "wrong"],
  malformed: ["∅", "malformed"],
};

export class Samples {
  constructor() {
    this.title = el("h3", {}, "Samples");
    this.legend = el("p", { class: "soft legend" });
    this.list = el("ol", { class: "strings" });
    this.element = el("section", { class: "samples" }, this.title, this.legend, this.list);
  }

  /**
   * @param {Sample[]} samples
   * @param {string} when
   */
  show(samples, when) {
    this.element.hidden = !samples.length;
    this.title.textContent = `Samples ${when}`;
    const there = Object.keys(MARKS).filter((mark) => samples.some((one) => one.mark === mark));
    const key = (/** @type {string} */ mark) =>
      el("span", {}, el("span", { class: `sign ${mark}` }, MARKS[mark][0]), ` ${MARKS[mark][1]}`);
    const ruled = samples.some(({ marked }) => marked?.length);
    const underlined = el("span", {}, el("u", {}, "1"), " read by the rule");
    this.legend.replaceChildren(...there.map(key), ...(ruled ? [underlined] : []));
    this.list.style.columnWidth = `${4 + 0.55 * Math.max(0, ...samples.map(({ text }) => text.length))}rem`;
    this.list.replaceChildren(...samples.map(row));
  }
}

/** @param {Sample} sample */
function row({ text, mark, marked = [] }) {
  const [sign, meaning] = MARKS[mark] ?? ["·", mark];
  const places = new Set(marked);
  const parts = [...text].map((letter, i) => (places.has(i) ? el("u", {}, letter) : letter));
  const aloud = el("span", { class: "hidden" }, ` ${meaning} `);
  const look = el("span", { class: `sign ${mark}`, title: meaning }, sign, aloud);
  return el("li", { class: mark }, look, el("code", {}, ...parts));
}
