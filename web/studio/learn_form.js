/**
 * The form of Learn: what is to be learned, and the settings. Those that matter most are in sight.
 *
 * @typedef {import("./fields.js").Option} Option
 * @typedef {{ name: string, about: string, written?: string, choices?: Record<string, any>, task?: string }} Named
 * @typedef {{ tasks: Named[], experiments: Named[], settings: Option[] }} Forms
 */
import { messageOf } from "../loom/desk.js";
import { el, say } from "../loom/dom.js";
import { Fields } from "./fields.js";

const FIRST = ["steps", "every", "layers", "heads", "width", "batch", "rate", "seed", "keep"];

export class LearnForm {
  /**
   * @param {Forms} forms
   * @param {(spec: object) => Promise<void>} start
   */
  constructor(forms, start) {
    this.forms = forms;
    this.start = start;
    const names = [...forms.tasks, ...forms.experiments];
    const options = names.map(({ name, about }) => el("option", { value: name }, about));
    const list = el("datalist", { id: "tasks" }, ...options);
    this.task = el("input", {
      ...{ id: "task", list: "tasks", placeholder: "s[3]==s[7]", autocomplete: "off", spellcheck: "false" },
      oninput: () => this.about(),
    });
    this.words = el("p", { class: "soft" });
    this.fields = new Fields(FIRST.flatMap((name) => forms.settings.filter((one) => one.name === name)));
    this.more = new Fields(forms.settings.filter(({ name }) => !FIRST.includes(name)));
    this.error = el("p", { class: "error", role: "alert" });
    this.error.hidden = true;
    this.button = el("button", { class: "act main" }, "Start");
    this.element = el("form", { class: "form", onsubmit: (event) => this.submit(event) }, el("h2", {}, "New run"));
    const about = el("div", { class: "subject" }, el("label", { for: "task" }, "task"), this.task, list, this.words);
    const folded = el("details", {}, el("summary", {}, "more settings"), this.more.element);
    this.element.append(about, this.fields.element, folded, this.button, this.error);
  }

  /** What there is to learn, to be chosen by a click. */
  offers() {
    const { tasks, experiments } = this.forms;
    const rule = { name: this.task.placeholder, about: "strings in which two digits are equal: any such rule" };
    return el(
      "div",
      { class: "offers" },
      el("p", { class: "soft" }, "Choose a task and start, or open a run of this folder."),
      el("h3", {}, "Tasks"),
      this.offered([rule, ...tasks.filter(({ name }) => name !== "strings")]),
      el("h3", {}, "Experiments, with their settings"),
      this.offered(experiments),
    );
  }

  /** @param {Named[]} things */
  offered(things) {
    const choose = (/** @type {string} */ name) => {
      this.task.value = name;
      this.about();
      this.button.focus();
    };
    const made = things.map(({ name, about }) => {
      const words = [el("b", {}, name), el("span", { class: "soft" }, about)];
      return el("li", {}, el("button", { class: "offer", onclick: () => choose(name) }, ...words));
    });
    return el("ul", {}, ...made);
  }

  /** Say what the task is, and show the settings of an experiment. */
  about() {
    const text = this.task.value.trim();
    const { tasks, experiments } = this.forms;
    const experiment = experiments.find(({ name }) => name === text);
    const named = tasks.find(({ name }) => name === text.split(":")[0]);
    const rule = /[=<>]/.test(text) && !named;
    const hint = "A rule such as s[3]==s[7], a task with parameters, a text file, or an experiment.";
    const strings = "Strings of 0 and 1 that the rule allows.";
    say(this.words, experiment?.about ?? (named ? taskWords(named) : rule ? strings : hint));
    for (const fields of [this.fields, this.more]) fields.suggest(experiment?.choices ?? {});
  }

  /** @param {SubmitEvent} event */
  async submit(event) {
    event.preventDefault();
    this.fail("");
    this.button.disabled = true;
    try {
      const task = this.task.value.trim() || this.task.placeholder;
      await this.start({ task, choices: { ...this.more.chosen, ...this.fields.chosen } });
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

/** @param {Named} task */
const taskWords = ({ about, written, name }) => (written && written !== name ? `${about}: ${written}` : about);
