/**
 * A text with the numbers of its lines, and a line that can be marked as wrong, with what is wrong below it. The text
 * is a textarea, so that typing, undo and screen readers work as everywhere.
 */
import { el, say } from "../loom/dom.js";

export class Editor {
  /** @param {{ label: string, changed?: () => void }} given without `changed` the text is only read */
  constructor({ label, changed }) {
    this.numbers = el("pre", { class: "numbers", "aria-hidden": "true" });
    this.mark = el("div", { class: "mark" });
    this.complaint = el("p", { class: "complaint", role: "alert" });
    this.area = el("textarea", {
      "aria-label": label,
      spellcheck: "false",
      autocomplete: "off",
      autocapitalize: "off",
      wrap: "off",
      readonly: !changed,
    });
    const page = el("div", { class: "sheet" }, this.numbers, this.mark, this.area);
    this.element = el("div", { class: "editor" }, page, this.complaint);
    this.lines = 0;
    /** @type {{ line: number, message: string } | undefined} */
    this.wrong = undefined;
    this.area.addEventListener("input", () => {
      this.count();
      changed?.();
    });
    this.area.addEventListener("scroll", () => this.scrolled());
    this.area.addEventListener("keydown", (event) => this.pressed(event));
    this.show();
  }

  get text() {
    return this.area.value;
  }

  set text(text) {
    this.area.value = text;
    this.count();
    this.area.scrollTop = 0;
    this.scrolled();
  }

  /**
   * Put another text in the place of this one as if it were typed, so that it can be undone.
   * @param {string} text
   */
  type(text) {
    const { area } = this;
    const { scrollTop } = area;
    area.focus();
    area.select();
    if (!document.execCommand("insertText", false, text)) this.text = text;
    area.setSelectionRange(0, 0);
    area.scrollTop = scrollTop;
    this.count();
  }

  count() {
    const lines = this.area.value.split("\n").length;
    if (lines === this.lines) return;
    this.lines = lines;
    say(this.numbers, Array.from({ length: lines }, (_, i) => i + 1).join("\n"));
  }

  /**
   * Mark a line as wrong, or none.
   * @param {{ line: number, message: string }} [wrong]
   */
  complain(wrong) {
    this.wrong = wrong;
    this.show();
  }

  show() {
    const { wrong } = this;
    this.mark.hidden = this.complaint.hidden = !wrong;
    this.area.setAttribute("aria-invalid", String(Boolean(wrong)));
    say(this.complaint, wrong?.message ?? "");
    this.scrolled();
  }

  scrolled() {
    const { scrollTop } = this.area;
    this.numbers.style.transform = `translateY(${-scrollTop}px)`;
    const line = (this.wrong?.line ?? 1) - 1;
    this.mark.style.transform = `translateY(calc(${line} * var(--line-height) - ${scrollTop}px))`;
  }

  /**
   * Bring a line into view.
   * @param {number} line
   */
  reveal(line) {
    const height = this.area.scrollHeight / Math.max(1, this.lines);
    this.area.scrollTop = Math.max(0, (line - 4) * height);
  }

  /** @param {KeyboardEvent} event Tab leaves the text, as everywhere; Enter keeps the indentation */
  pressed(event) {
    if (event.key !== "Enter" || event.ctrlKey || event.metaKey || this.area.readOnly) return;
    const { value, selectionStart } = this.area;
    const line = value.slice(value.lastIndexOf("\n", selectionStart - 1) + 1, selectionStart);
    const indent = /^[ \t]*/.exec(line)?.[0] ?? "";
    if (!indent) return;
    event.preventDefault();
    document.execCommand("insertText", false, `\n${indent}`);
  }
}
