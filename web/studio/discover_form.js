/**
 * The form of Discover: a problem with its parameters, how long to search, and the plan.
 *
 * @typedef {import("./fields.js").Option} Option
 * @typedef {{ name: string, about: string, parameters: { name: string, kind: string, default: any }[] }} Problem
 * @typedef {{ start: (spec: object) => Promise<void>, look: (problem: string) => void }} Does
 */
import { messageOf } from "../loom/desk.js";
import { el, say } from "../loom/dom.js";
import { Fields } from "./fields.js";

export class DiscoverForm {
  /**
   * @param {{ problems: Problem[], settings: Option[] }} forms with the user's own problems
   * @param {Does} does
   */
  constructor(forms, does) {
    this.does = does;
    this.problems = forms.problems;
    const options = this.problems.map(({ name }) => el("option", { value: name }, name));
    this.choice = el("select", { id: "problem", onchange: () => this.choose() }, ...options);
    this.words = el("p", { class: "soft" });
    this.place = el("div");
    const seconds = { name: "seconds", default: 60, about: "how long to search", kind: "float", least: 0 };
    this.first = new Fields([seconds, ...forms.settings.filter(({ name }) => name === "seed")]);
    this.more = new Fields(forms.settings.filter(({ name }) => name !== "seed"));
    this.error = el("p", { class: "error", role: "alert" });
    this.error.hidden = true;
    this.button = el("button", { class: "act main" }, "Start");
    const look = el("button", { type: "button", class: "act", onclick: () => does.look(this.name) }, "Show the board");
    const label = el("label", { for: "problem" }, "problem");
    const subject = el("div", { class: "subject" }, label, this.choice, this.words);
    const folded = el("details", {}, el("summary", {}, "more settings"), this.more.element);
    const buttons = el("div", { class: "buttons" }, this.button, look);
    this.element = el("form", { class: "form", onsubmit: (event) => this.submit(event) }, el("h2", {}, "New search"));
    this.element.append(subject, this.place, this.first.element, folded, buttons, this.error);
    this.choose();
  }

  choose() {
    const problem = this.problems.find(({ name }) => name === this.choice.value) ?? this.problems[0];
    say(this.words, problem.about);
    const options = problem.parameters.map((one) => ({ ...one, about: `${one.name} of ${problem.name}` }));
    this.parameters = new Fields(options);
    this.place.replaceChildren(this.parameters.element);
  }

  /** The problem's name with what was chosen: isosceles:n=10. */
  get name() {
    const chosen = Object.entries(this.parameters?.chosen ?? {}).map(([name, value]) => `${name}=${value}`);
    return this.choice.value + (chosen.length ? `:${chosen.join(",")}` : "");
  }

  /**
   * Show a problem that the address names.
   * @param {string} text
   */
  set name(text) {
    const whole = this.problems.find(({ name }) => name === text);
    const known = whole ?? this.problems.find(({ name }) => text.startsWith(`${name}:`));
    if (!known) return;
    this.choice.value = known.name;
    this.choose();
    const rest = text.slice(known.name.length + 1);
    const pairs = rest.split(/,(?=[a-z_]+=)/).map((pair) => pair.split(/=(.*)/s).slice(0, 2));
    this.parameters?.fill(Object.fromEntries(pairs));
  }

  /** @param {SubmitEvent} event */
  async submit(event) {
    event.preventDefault();
    this.fail("");
    this.button.disabled = true;
    try {
      const { seconds = 60, ...rest } = this.first.chosen;
      await this.does.start({ problem: this.name, seconds, choices: { ...this.more.chosen, ...rest } });
    } catch (error) {
      this.fail(messageOf(error));
    }
    this.button.disabled = false;
  }

  /** @param {string} message */
  fail(message) {
    say(this.error, message);
    this.error.hidden = !message;
  }
}
