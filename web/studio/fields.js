/**
 * The fields of a form, made of what Python says of each option: its default, its limits, its help. A field that is
 * left empty is not sent, so that the default, or what an experiment chooses, holds.
 *
 * @typedef {object} Option
 * @property {string} name
 * @property {any} default
 * @property {string} about
 * @property {string} [kind] int, float, bool, choice, or text
 * @property {number | null} [least]
 * @property {number | null} [most]
 * @property {string[] | null} [choices]
 * @property {string | null} [written] the default, where it follows from other options
 */
import { el } from "../loom/dom.js";

let made = 0; // of ids of fields

export class Fields {
  /** @param {Option[]} options */
  constructor(options) {
    this.options = options;
    this.inputs = options.map((option) => input(option));
    this.element = el("div", { class: "fields" }, ...options.map((option, i) => this.row(option, this.inputs[i])));
  }

  /**
   * @param {Option} option
   * @param {HTMLInputElement | HTMLSelectElement} field
   */
  row({ name, about }, field) {
    field.id = `field-${++made}`;
    const label = el("label", { for: field.id, title: about }, name);
    return el("div", { class: "field" }, label, field);
  }

  /** What was chosen, by name. Raises an error for a number that is none. */
  get chosen() {
    const pairs = this.options.map((option, i) => [option.name, value(option, this.inputs[i])]);
    return Object.fromEntries(pairs.filter(([, one]) => one !== undefined));
  }

  /**
   * Fill in what is chosen already.
   * @param {Record<string, any>} values
   */
  fill(values) {
    this.options.forEach(({ name }, i) => {
      this.inputs[i].value = values[name] === undefined ? "" : String(values[name]);
    });
  }

  /**
   * Show other defaults, such as those of an experiment.
   * @param {Record<string, any>} values
   */
  suggest(values) {
    this.options.forEach((option, i) => {
      const field = this.inputs[i];
      const now = values[option.name] ?? (option.written || option.default);
      if (field instanceof HTMLInputElement) field.placeholder = words(now);
    });
  }
}

/** @param {any} value */
const words = (value) => (Array.isArray(value) ? value.join(", ") : String(value ?? ""));

/** @param {Option} option */
function input({ name, default: given, about, kind, choices, written }) {
  const options = kind === "bool" ? ["yes", "no"] : (choices ?? []);
  if (options.length) {
    const now = kind === "bool" ? (given ? "yes" : "no") : given;
    const empty = el("option", { value: "" }, words(now));
    const others = options.filter((one) => one !== now).map((one) => el("option", {}, one));
    return el("select", { name, title: about }, empty, ...others);
  }
  const mode = kind === "int" ? "numeric" : kind === "float" ? "decimal" : "text";
  const placeholder = words(written || given);
  return el("input", { name, title: about, placeholder, inputmode: mode, autocomplete: "off" });
}

/**
 * @param {Option} option
 * @param {HTMLInputElement | HTMLSelectElement} field
 */
function value({ name, kind, default: given }, field) {
  const text = field.value.trim();
  if (!text) return undefined;
  if (kind === "bool") return text === "yes";
  if (Array.isArray(given)) return text.split(/[\s,]+/).map((one) => (isNaN(Number(one)) ? one : Number(one)));
  if (kind !== "int" && kind !== "float") return text;
  const number = Number(text.replaceAll(",", ""));
  if (Number.isNaN(number)) throw new Error(`${name}: ${text} is no number; type one, or leave it empty`);
  return number;
}
