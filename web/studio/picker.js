/**
 * The picker in the bar: a model by its name, out of programs, runs and files. Enter opens it on the screen that is
 * shown.
 *
 * @typedef {import("./shell.js").Shell} Shell
 */
import { el } from "../loom/dom.js";

/** The names of models that are known. */
export class Models {
  /** @param {any} home what the server says there is */
  constructor(home) {
    this.programs = home.programs.map((/** @type {any} */ one) => one.name);
    const runs = home.runs.filter((/** @type {any} */ one) => one.kind === "learn");
    this.others = [
      ...runs.map((/** @type {any} */ one) => one.run),
      ...home.files.map((/** @type {any} */ one) => one.file),
      ...home.start.given.map((/** @type {any} */ one) => one.name),
    ];
    this.list = el("datalist", { id: "models" });
    for (const name of new Set([...this.programs, ...this.others])) this.offer(name);
  }

  /** @param {string} name */
  offer(name) {
    this.list.append(el("option", { value: name }));
  }

  /**
   * A file that is there from now on.
   * @param {string} name
   */
  add(name) {
    this.others.push(name);
    this.offer(name);
  }

  /**
   * Models that may be of the same task as this one: programs that share a word with its name, and what is in the
   * folder.
   * @param {string} model
   */
  like(model) {
    const words = (/** @type {string} */ name) => (name.split(":")[0].split("/").at(-1) ?? "").split("-");
    const shares = (/** @type {string} */ name) => words(name).some((word) => words(model).includes(word));
    return [...new Set([...this.programs.filter(shares), ...this.others])].filter((name) => name !== model);
  }

  /** @param {string} name */
  isProgram(name) {
    return this.programs.includes(name.split(":")[0]);
  }
}

/**
 * A field that asks for a model.
 * @param {{ label: string, value?: string, chosen: (name: string) => void }} given
 */
export function picker({ label, value = "", chosen }) {
  const input = el("input", {
    class: "picker",
    type: "text",
    list: "models",
    value,
    "aria-label": label,
    placeholder: label,
    title: `${label}: a program, a run or a file; Enter opens it`,
    spellcheck: "false",
    autocomplete: "off",
  });
  const choose = () => {
    if (!input.value.trim()) return;
    input.blur();
    chosen(input.value.trim());
  };
  input.addEventListener("focus", () => input.select());
  input.addEventListener("keydown", ({ key }) => key === "Enter" && choose());
  input.addEventListener("input", (event) => isFromList(event) && choose());
  return input;
}

/**
 * Whether the whole value came from the list of suggestions: typing says how it was typed.
 * @param {Event} event
 */
const isFromList = (event) => !(event instanceof InputEvent) || event.inputType === "insertReplacementText";
