/**
 * Text: a model's .taotp text at the left, and its loom at the right, which follows at every pause. What cannot be read
 * is marked in its line, and the last good model stays. A compiled program shows its source.
 *
 * @typedef {import("./shell.js").Shell} Shell
 * @typedef {import("../loom/mount.js").Mounted} Mounted
 * @typedef {import("../loom/state.js").State} State
 */
import { messageOf } from "../loom/desk.js";
import { fits } from "../loom/edits.js";
import { el, say } from "../loom/dom.js";
import { mountLoom } from "../loom/mount.js";
import { withEdits, written } from "../loom/state.js";
import { askName } from "./dialogs.js";
import { Editor } from "./editor.js";
import { keepMenu, stem } from "./keeping.js";

const PAUSE = 80; // ms after the last key
const DRAFT = "handloom-draft:"; // of a text that was changed, for as long as the tab is open

export class TextScreen {
  /** @param {Shell} shell */
  constructor(shell) {
    this.shell = shell;
    this.model = "";
    this.original = "";
    this.editor = new Editor({ label: "Text of the model", changed: () => this.typed() });
    this.program = new Editor({ label: "Source of the program" });
    this.tabs = el("div", { class: "tabs", role: "tablist" });
    this.state = el("span", { class: "soft", role: "status" });
    this.back = el("button", { class: "out", onclick: () => this.restore() }, "as it was");
    this.save = el("button", { class: "out", onclick: () => this.askSave() }, "save …");
    this.take = el("button", { class: "out strong", onclick: () => this.takeOver() }, "write the edits into the text");
    this.lines = el("pre", { class: "lines" });
    this.edits = el("div", { class: "taken" }, this.lines, this.take);
    const tools = el("div", { class: "text-tools" }, this.tabs, this.state, this.back, this.save);
    this.side = el("section", { class: "text-side" }, tools, this.editor.element, this.program.element, this.edits);
    this.place = el("div", { class: "loom-page" });
    this.element = el("div", { class: "text-screen" }, this.side, this.place);
    this.edits.hidden = this.back.hidden = this.save.hidden = true;
    this.asked = 0;
    this.timer = 0;
    this.prefix = "";
    /** @type {Mounted | undefined} */
    this.loom = undefined;
    this.closed = false;
  }

  /**
   * @param {import("./address.js").Fields} fields
   * @param {string} prefix
   */
  async open(fields, prefix) {
    const { model } = fields;
    const { api } = this.shell;
    this.model = model;
    this.prefix = prefix;
    const asked = { model, on: fields.in };
    say(this.state, "reading …");
    const shown = api.post("/api/model", asked).then((found) => !this.closed && this.show(found));
    const [source] = await Promise.all([api.post("/api/source", asked), shown]);
    if (this.closed) return;
    say(this.state, "");
    this.original = source.text ?? "";
    this.showTabs(source);
    if (source.text === null) return;
    this.editor.text = sessionStorage.getItem(DRAFT + model) ?? source.text;
    this.changed();
    if (this.editor.text !== source.text) await this.read();
  }

  /** @param {{ text: string | null, why: string, source: { name: string, text: string } | null }} source */
  showTabs({ text, why, source }) {
    const tab = (/** @type {string} */ label, /** @type {Editor} */ editor) =>
      el("button", { role: "tab", onclick: () => this.choose(editor) }, label);
    if (source) {
      this.program.text = source.text;
      this.tabs.append(tab(source.name, this.program));
    }
    if (text !== null) this.tabs.append(tab(".taotp", this.editor));
    else say(this.state, why);
    this.choose(source ? this.program : this.editor);
    this.editor.area.disabled = text === null;
  }

  /** @param {Editor} chosen */
  choose(chosen) {
    const both = [this.program, this.editor];
    for (const editor of both) editor.element.hidden = editor !== chosen;
    const shown = both.filter((editor) => editor === this.editor || editor.text);
    [...this.tabs.children].forEach((tab, i) => tab.setAttribute("aria-selected", String(shown[i] === chosen)));
    this.back.hidden = this.save.hidden = chosen === this.program || this.editor.area.disabled;
  }

  typed() {
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => this.read(), PAUSE);
    this.changed();
  }

  /** What depends on whether the text is another. */
  changed() {
    const isChanged = this.editor.text !== this.original;
    this.back.disabled = !isChanged;
    say(this.state, isChanged ? "changed" : "");
    if (isChanged) sessionStorage.setItem(DRAFT + this.model, this.editor.text);
    else sessionStorage.removeItem(DRAFT + this.model);
  }

  /** Read the text; of answers that overtake each other the last counts. */
  async read() {
    const number = ++this.asked;
    const text = this.editor.text;
    const body = { text, name: this.model, beside: this.model, on: this.loom?.desk.state.text };
    try {
      const found = await this.shell.api.post("/api/text", body);
      if (number !== this.asked || this.closed) return;
      this.editor.complain();
      this.show(found);
    } catch (error) {
      if (number !== this.asked || this.closed) return;
      const { line = 1 } = /** @type {any} */ (error).more ?? {};
      this.editor.complain({ line, message: messageOf(error) });
    }
  }

  /**
   * Mount the loom of a model, in the state in which the one before was.
   * @param {{ model: any, page: any }} found
   */
  show({ model, page }) {
    const before = this.loom?.desk.state;
    const scrolled = [".loom", ".panel"].map((part) => this.place.querySelector(part)?.scrollTop ?? 0);
    this.loom?.close();
    const loom = (this.loom = mountLoom(this.place, model, page, { prefix: this.prefix }));
    const { desk } = loom;
    if (before) desk.update(kept(before, desk));
    [".loom", ".panel"].forEach((part, i) => this.place.querySelector(part)?.scrollTo({ top: scrolled[i] }));
    desk.listeners.push(() => this.showEdits());
    const body = () => (this.editor.text ? { name: this.model, text: this.editor.text } : { model: this.model });
    const menu = keepMenu(this.shell, desk, { name: this.model, body, python: this.model });
    loom.header.element.querySelector(".tools")?.append(menu);
    Object.assign(globalThis, { loom: desk });
    this.edits.dataset.edits = "";
    this.showEdits();
  }

  /** What the edits of the loom would change in the text. */
  async showEdits() {
    const edits = (this.loom?.desk.state.edits ?? []).map(written);
    this.edits.hidden = !edits.length || this.editor.area.disabled;
    const key = `${edits.join(";")}`;
    if (this.edits.hidden || key === this.edits.dataset.edits) return undefined;
    this.edits.dataset.edits = key;
    await new Promise((go) => setTimeout(go, PAUSE));
    if (key !== this.edits.dataset.edits || this.closed) return undefined;
    this.take.disabled = true;
    if (this.editor.wrong) return say(this.lines, "Correct the text, then the edits can be written into it.");
    try {
      const { changes } = await this.rewritten();
      const words = changes.map((/** @type {any} */ one) => `line ${one.line}  ${brief(one.text)}`);
      if (key === this.edits.dataset.edits) say(this.lines, words.join("\n"));
      this.take.disabled = false;
    } catch (error) {
      say(this.lines, messageOf(error));
    }
    return undefined;
  }

  rewritten() {
    const edits = (this.loom?.desk.state.edits ?? []).map(written);
    return this.shell.api.post("/api/text/edits", { text: this.editor.text, edits });
  }

  /** Take the edits over into the text, where they are no edits any more. */
  async takeOver() {
    const { text, changes } = await this.rewritten();
    const desk = this.loom?.desk;
    if (!desk || this.closed) return;
    this.choose(this.editor);
    desk.update({ ...withEdits(desk.state, []), past: [], future: [] });
    this.editor.type(text);
    if (changes[0]) this.editor.reveal(changes[0].line);
    this.changed();
    clearTimeout(this.timer);
    await this.read();
  }

  restore() {
    this.editor.type(this.original);
    this.typed();
  }

  askSave() {
    const { text } = this.editor;
    askName({
      title: "Save the text",
      name: `${stem(this.model)}-2.taotp`,
      words: `in ${this.shell.home.folder}, the folder of the studio; an existing file is never written over`,
      save: async (path) => {
        const { model } = await this.shell.api.post("/api/save", { path, text, name: this.model });
        this.shell.models.add(model);
        sessionStorage.removeItem(DRAFT + this.model);
        this.shell.go({ screen: "text", model });
      },
    });
  }

  close() {
    this.closed = true;
    clearTimeout(this.timer);
    this.loom?.close();
  }
}

/**
 * The state of a desk as another can have it.
 * @param {State} state
 * @param {import("../loom/desk.js").Desk} desk
 * @returns {State}
 */
function kept(state, desk) {
  const edits = state.edits.filter((edit) => fits(desk.study.model, edit));
  return { ...state, edits: edits.length === state.edits.length ? state.edits : edits };
}

/** @param {string} text an entry of several lines, in a few */
function brief(text) {
  const lines = text.split("\n");
  return lines.length > 6 ? [...lines.slice(0, 5), `… ${lines.length - 5} lines more`].join("\n") : text;
}
