/**
 * A lesson: the text at the left, and beside it a loom that the links of the text set. A link says what state the loom
 * takes: `#model=addition&in=865+230=&edits=2.z[0]=0`; without a model that of the loom which is there, without an
 * input the input which is there.
 *
 * @typedef {import("./article.js").Block} Block
 * @typedef {{ name: string, title: string, about: string, minutes: number, start: string, blocks: Block[] }} Lesson
 * @typedef {{ model: any, page: import("../loom/desk.js").PageData }} Opened
 * @typedef {(model: string) => Promise<Opened>} Open
 */
import { messageOf } from "../loom/desk.js";
import { el, say } from "../loom/dom.js";
import { fits } from "../loom/edits.js";
import { mountLoom } from "../loom/mount.js";
import { fromFragment, redone, undone, written } from "../loom/state.js";
import { fieldsOf } from "../studio/address.js";
import { blockElement } from "./article.js";

export class Reader {
  /**
   * @param {Lesson} lesson
   * @param {Open} open
   * @param {(to: string) => string} href what a link's address is, for those who open it elsewhere
   * @param {(model: string) => Promise<any>} certify the certificate of a model that came without
   * @param {...Node} ending what stands below the text
   */
  constructor(lesson, open, href, certify, ...ending) {
    this.lesson = lesson;
    this.open = open;
    this.certify = certify;
    /** @type {Record<string, Promise<Opened>>} */
    this.opened = {};
    this.model = "";
    this.asked = 0; // links that were followed
    const link = (/** @type {string} */ to, /** @type {Node[]} */ parts) => this.anchor(to, href(to), parts);
    this.error = el("p", { class: "error", role: "alert" });
    this.error.hidden = true;
    this.place = el("section", { class: "lesson-loom", "aria-label": "The model of the lesson" });
    this.article = el(
      "article",
      { class: "lesson-text", tabindex: "0" },
      el("p", { class: "eyebrow" }, `Lesson · ${lesson.minutes} minutes`),
      el("h1", {}, lesson.title),
      ...lesson.blocks.map((block) => blockElement(block, link)),
      ...ending,
    );
    this.end = new AbortController();
    document.addEventListener("keydown", (event) => this.key(event), { signal: this.end.signal });
    const right = el("div", { class: "beside-text" }, this.error, this.place);
    this.element = el("div", { class: "lesson-page" }, this.article, right);
  }

  /**
   * @param {string} to
   * @param {string} href
   * @param {Node[]} parts
   */
  anchor(to, href, parts) {
    const anchor = el("a", { href, class: "sets" }, ...parts);
    anchor.addEventListener("click", (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      this.follow(to, anchor);
    });
    return anchor;
  }

  /** Show the state that the lesson begins with. */
  start() {
    return this.follow(this.lesson.start);
  }

  /**
   * Set the state that a link says.
   * @param {string} to
   * @param {HTMLElement} [anchor]
   */
  async follow(to, anchor) {
    const asked = ++this.asked;
    this.mark(anchor);
    try {
      const { model = this.model } = fieldsOf(to);
      const opened = await (this.opened[model] ??= this.open(model));
      if (asked !== this.asked) return;
      if (model !== this.model || !this.loom) this.mount(model, opened);
      this.set(to);
      this.fail("");
    } catch (error) {
      this.fail(messageOf(error));
      throw error;
    }
  }

  /** @param {HTMLElement} [anchor] the link that says the state which is shown */
  mark(anchor) {
    for (const one of this.article.querySelectorAll("[aria-current]")) one.removeAttribute("aria-current");
    anchor?.setAttribute("aria-current", "true");
    anchor?.classList.add("seen");
  }

  /**
   * @param {string} model
   * @param {Opened} opened
   */
  mount(model, opened) {
    this.loom?.close();
    this.model = model;
    this.loom = mountLoom(this.place, opened.model, opened.page, { prefix: null, keys: this.place });
    Object.assign(globalThis, { loom: this.loom.desk });
    if (!opened.page.certificate) this.fillBadge(model, opened, this.loom.desk);
  }

  /**
   * @param {string} model
   * @param {Opened} opened
   * @param {import("../loom/desk.js").Desk} desk
   */
  async fillBadge(model, opened, desk) {
    opened.page.certificate = await this.certify(model).catch(() => null);
    desk.draw();
  }

  /**
   * Take the state of a link as one change, which can be undone.
   * @param {string} to
   */
  set(to) {
    const desk = this.desk();
    const { state } = desk;
    const next = fromFragment(state, to, (edit) => fits(desk.study.model, edit));
    const same = String(next.edits.map(written)) === String(state.edits.map(written));
    const past = [...state.past, state.edits];
    desk.update(same ? { ...next, edits: state.edits } : { ...next, past, future: [] });
  }

  desk() {
    return /** @type {import("../loom/mount.js").Mounted} */ (this.loom).desk;
  }

  /** @param {KeyboardEvent} event undo and redo work wherever one is, as in the loom */
  key(event) {
    const target = /** @type {Node} */ (event.target);
    if (event.ctrlKey || event.metaKey || event.altKey || !this.loom || this.place.contains(target)) return;
    const change = { z: undone, Z: redone }[event.key];
    if (!change) return;
    event.preventDefault();
    this.desk().update(change(this.desk().state));
  }

  /** @param {string} message */
  fail(message) {
    say(this.error, message);
    this.error.hidden = !message;
  }

  close() {
    this.asked += 1;
    this.end.abort();
    this.loom?.close();
  }
}
