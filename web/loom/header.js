/**
 * The top of the page: the model's name, the input and the output, the certificate, and what can be done.
 *
 * @typedef {import("./desk.js").Desk} Desk
 * @typedef {import("./scene.js").Facts} Facts
 * @typedef {{ save(kind: "svg" | "png"): void, help(): void, play(): void }} Does
 */
import { Badge } from "./badge.js";
import { el, say } from "./dom.js";
import { redone, undone } from "./state.js";

export class Header {
  /**
   * @param {Desk} desk
   * @param {Does} does
   */
  constructor(desk, does) {
    this.desk = desk;
    this.input = el("input", {
      class: "input",
      type: "text",
      "aria-label": "Input of the model",
      spellcheck: "false",
      placeholder: desk.page.takes ?? "",
      title: desk.page.takes ?? "",
      autocomplete: "off",
      autocapitalize: "off",
    });
    this.input.addEventListener("input", () => desk.select({ text: this.input.value, position: -1 }));
    this.input.addEventListener("keydown", ({ key }) => (key === "Enter" || key === "Escape") && this.input.blur());
    this.answer = el("output", { class: "answer" });
    this.was = el("span", { class: "was" });
    this.badge = new Badge(desk);
    this.error = el("p", { class: "error", role: "alert" });
    this.undo = button("↶", "undo (z)", () => desk.update(undone(desk.state)));
    this.redo = button("↷", "redo (Z)", () => desk.update(redone(desk.state)));
    this.view = button("ladder", "", () => desk.select({ view: desk.facts?.mode === "ladder" ? "threads" : "ladder" }));
    this.ballast = button("⚓", "show the ballast: directions that carry nothing", () =>
      desk.select({ ballast: !desk.state.ballast }),
    );
    const tools = el(
      "div",
      { class: "tools" },
      this.undo,
      this.redo,
      button("▶", "play: one stage after another (p)", does.play),
      this.ballast,
      this.view,
      button("SVG", "save the figure as SVG", () => does.save("svg")),
      button("PNG", "save the figure as PNG", () => does.save("png")),
      button("?", "keys", does.help),
    );
    const run = el(
      "div",
      { class: "run" },
      this.input,
      el("span", { class: "soft" }, "outputs"),
      this.answer,
      this.was,
    );
    this.element = el("header", {}, el("h1", {}, desk.page.name), run, this.badge.element, tools, this.error);
  }

  /** @param {Facts | undefined} facts */
  show(facts) {
    const { desk } = this;
    if (document.activeElement !== this.input || this.input.value === "") this.input.value = desk.state.text;
    say(this.error, desk.error);
    this.error.hidden = !desk.error;
    this.input.classList.toggle("bad", Boolean(desk.error));
    this.badge.show();
    this.undo.disabled = !desk.state.past.length;
    this.redo.disabled = !desk.state.future.length;
    if (!facts) return;
    const text = (/** @type {number[]} */ ids) => desk.decode(ids);
    const [now, was] = [text(facts.solution.answer), text(facts.before.answer)];
    say(this.answer, now || "nothing");
    say(this.was, now === was ? "" : `was ${was}`);
    const right = desk.rightAnswer();
    const isWrong = Boolean(right) && text(/** @type {number[]} */ (right)) !== now;
    this.answer.classList.toggle("wrong", isWrong);
    this.answer.classList.toggle("changed", !isWrong && now !== was);
    const named = desk.study.readings.length > 0;
    this.view.hidden = !named;
    say(this.view, facts.mode === "ladder" ? "threads" : "ladder");
    this.view.title = facts.mode === "ladder" ? "the named directions" : "what each stage would predict";
    this.ballast.hidden = facts.mode === "ladder" || !desk.study.readings.some(({ kind }) => kind === "ballast");
    this.ballast.setAttribute("aria-pressed", String(desk.state.ballast));
  }
}

/**
 * @param {string} text
 * @param {string} title
 * @param {() => void} onclick
 */
function button(text, title, onclick) {
  return el("button", { title, "aria-label": title || text, onclick }, text);
}
