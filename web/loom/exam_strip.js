/**
 * The exam's strip: a cell for every input, blue if the model's answer is right and red if it is wrong, while a weight
 * is dragged. A click loads the input.
 *
 * @typedef {import("./desk.js").Desk} Desk
 * @typedef {import("./exam.js").Marks} Marks
 */
import { each, el, say } from "./dom.js";
import { markAll } from "./exam.js";
import { Background } from "./workers.js";

export class ExamStrip {
  /**
   * @param {Desk} desk
   * @param {import("./workers.js").Setup} setup
   */
  constructor(desk, setup) {
    this.desk = desk;
    this.setup = setup;
    this.pairs = desk.page.exam ?? [];
    this.score = el("b", { class: "score", "aria-live": "polite" });
    this.time = el("span", { class: "soft" });
    const hint = el("span", { class: "soft hint" }, "inputs of the task, judged by its oracle; a click loads one");
    this.cells = el("div", { class: "cells", role: "group", "aria-label": "Inputs of the exam" });
    this.element = el(
      "section",
      { class: "exam", "aria-label": "Exam" },
      el("div", { class: "line" }, el("span", { class: "title" }, "exam"), this.score, hint, this.time),
      this.cells,
    );
    this.element.hidden = !this.pairs.length;
    /** @type {readonly import("./state.js").Edit[] | undefined} */
    this.asked = undefined;
    /** @type {Marks | undefined} */
    this.found = undefined;
    /** @type {Background | undefined} */
    this.worker = undefined;
    this.pointed = "";
    each(
      this.cells,
      this.pairs,
      (i) => this.cell(i),
      () => undefined,
    );
    this.cells.addEventListener("keydown", (event) => this.moved(event));
  }

  /** @param {number} i */
  cell(i) {
    return el("button", {
      tabindex: i ? -1 : 0,
      "aria-label": this.desk.decode(this.pairs[i][0]),
      onclick: () => this.load(i),
      onmouseenter: () => this.name(i),
      onfocus: () => this.name(i),
    });
  }

  /** @param {number} i */
  load(i) {
    this.desk.select({ text: this.desk.decode(this.pairs[i][0]), position: -1 });
  }

  /** Mark the inputs again if the edits are others. */
  show() {
    const { edits } = this.desk.state;
    const prompt = String(this.desk.solution?.prompt);
    if (!this.pairs.length) return;
    if (edits !== this.asked) {
      this.asked = edits;
      this.worker ??= Background.start(this.setup);
      const question = { pairs: this.pairs, edits };
      const answered = (/** @type {Marks & { error?: string }} */ found) => this.answered(found);
      if (this.worker) this.worker.ask("exam", question, answered);
      else answered(markAll(this.desk.study.model, this.pairs, edits));
    }
    if (prompt !== this.pointed) this.point();
    this.pointed = prompt;
  }

  /** @param {Marks & { error?: string }} found */
  answered(found) {
    if (found.error) return say(this.score, found.error);
    this.found = found;
    const cells = this.cells.children;
    found.marks.forEach(({ right }, i) => {
      const word = right ? "right" : "wrong";
      if (cells[i].className === word) return;
      cells[i].className = word;
      cells[i].setAttribute("aria-label", `${this.desk.decode(this.pairs[i][0])}, ${word}`);
    });
    const count = found.marks.filter(({ right }) => right).length;
    say(this.score, `${count} of ${found.marks.length} right`);
    this.score.classList.toggle("bad", count < found.marks.length);
    say(this.time, `${found.ms.toFixed(0)} ms`);
    this.element.dataset.right = String(count);
  }

  /** Mark the cell of the input that is shown. */
  point() {
    const here = this.desk.solution?.prompt.join();
    const first = this.pairs.findIndex(([prompt]) => prompt.join() === here);
    this.pairs.forEach((_, i) => this.cells.children[i].toggleAttribute("aria-current", i === first));
  }

  /**
   * The input's name and answers, when someone points at it.
   * @param {number} i
   */
  name(i) {
    const { desk } = this;
    const [prompt, answer] = this.pairs[i];
    const mark = this.found?.marks[i];
    const wrong = mark && !mark.right ? `, wrong at ${mark.got < 0 ? "its end" : `“${desk.name(mark.got)}”`}` : "";
    const cell = this.cells.children[i];
    cell.setAttribute("title", `${desk.decode(prompt)} → ${desk.decode(answer)}${wrong}`);
  }

  /** @param {KeyboardEvent} event */
  moved(event) {
    const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: 20, ArrowUp: -20 }[event.key];
    const cells = /** @type {HTMLElement[]} */ ([...this.cells.children]);
    const now = cells.indexOf(/** @type {HTMLElement} */ (document.activeElement));
    const next = step && cells[now + step];
    if (!next) return;
    event.preventDefault();
    event.stopPropagation();
    next.focus();
  }

  close() {
    this.worker?.close();
  }

  /** Go to the first wrong input, or the first. */
  focus() {
    const first = this.found?.marks.findIndex(({ right }) => !right) ?? 0;
    /** @type {HTMLElement | undefined} */ (this.cells.children[Math.max(0, first)])?.focus();
  }
}
