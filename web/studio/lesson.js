/**
 * Lessons: all of them as cards, or one of them, with the loom that its links set.
 *
 * @typedef {import("./shell.js").Shell} Shell
 * @typedef {{ name: string, title: string, about: string, minutes: number, picture: string }} Card
 */
import { messageOf } from "../loom/desk.js";
import { el, say } from "../loom/dom.js";
import { download } from "../loom/save.js";
import { Reader } from "../lesson/reader.js";
import { fieldsOf } from "./address.js";
import { svgImage } from "./picture.js";

export class LessonScreen {
  /** @param {Shell} shell */
  constructor(shell) {
    this.shell = shell;
    this.element = el("div", { class: "lesson-screen" });
    this.closed = false;
  }

  /** @param {import("./address.js").Fields} fields */
  async open({ lesson }) {
    if (!lesson) return this.element.append(lessonsList(this.shell));
    const found = await this.shell.api.post("/api/lesson", { lesson });
    if (this.closed) return undefined;
    const ask = (/** @type {string} */ model) => this.shell.api.post("/api/lesson/model", { lesson, model });
    const href = (/** @type {string} */ to) => this.href(found.start, to);
    const certify = (/** @type {string} */ model) => this.shell.api.post("/api/lesson/certificate", { lesson, model });
    this.reader = new Reader(found, ask, href, certify, this.ending(found));
    this.element.append(this.reader.element);
    return this.reader.start();
  }

  /**
   * The same state in Run, for those who open the link elsewhere.
   * @param {string} begin the lesson's first state
   * @param {string} to
   */
  href(begin, to) {
    const { model } = { ...fieldsOf(begin), ...fieldsOf(to) };
    const state = to.replace(/^#(model=[^&]*&?)?/, "");
    return `${this.shell.link({ screen: "run", model })}&${state}`;
  }

  /** @param {import("../lesson/reader.js").Lesson} lesson */
  ending({ name, title }) {
    const { lessons } = this.shell.home;
    const next = lessons[lessons.findIndex((/** @type {Card} */ one) => one.name === name) + 1];
    const save = el("button", { class: "out", title: `“${title}” in one file, for offline` }, "Save as a page");
    save.addEventListener("click", () => this.save(name, save));
    const ending = el("footer", { class: "lesson-end" });
    if (next) {
      const href = this.shell.link({ screen: "lesson", lesson: next.name });
      ending.append(el("a", { href }, `Next: ${next.title} →`));
    }
    ending.append(save);
    return ending;
  }

  /**
   * @param {string} lesson
   * @param {HTMLElement} button
   */
  async save(lesson, button) {
    try {
      const { html } = await this.shell.api.post("/api/lesson/page", { lesson });
      download(new Blob([html], { type: "text/html" }), `${lesson}.html`);
    } catch (error) {
      say(button, messageOf(error));
    }
  }

  close() {
    this.closed = true;
    this.reader?.close();
  }
}

/** @param {Shell} shell */
function lessonsList(shell) {
  return el(
    "div",
    { class: "home-page" },
    el("h1", {}, "Lessons"),
    el("p", { class: "lead" }, "Short texts beside a model that computes. Their links change the model at once."),
    lessonCards(shell),
  );
}

/**
 * The lessons as cards.
 * @param {Shell} shell
 */
export function lessonCards({ home, link }) {
  const card = (/** @type {Card} */ { name, title, about, minutes, picture }, /** @type {number} */ i) => {
    const given = { class: "card", href: link({ screen: "lesson", lesson: name }) };
    return el(
      "a",
      { ...given, "data-text": `lesson ${name} ${title} ${about}` },
      svgImage(picture),
      el("strong", {}, `${i + 1}. ${title}`),
      el("span", { class: "soft" }, about),
      el("span", { class: "minutes" }, `${minutes} minutes`),
    );
  };
  return el("div", { class: "cards" }, ...home.lessons.map(card));
}
