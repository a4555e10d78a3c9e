/**
 * Read: what can be found in a model. The readings stand at the left, what the chosen one shows at the right. A reading
 * is made in a process of its own; while it takes, the page says how far it is.
 *
 * @typedef {import("./shell.js").Shell} Shell
 * @typedef {{ name: string, title: string, says: string, asks: string[] }} Reading
 * @typedef {{ layers: number, heads: number, first: number, parts: number }} Shape
 */
import { messageOf } from "../loom/desk.js";
import { el, say } from "../loom/dom.js";
import { drawn } from "./drawing.js";
import { tableElement } from "./table.js";

/** The fields that a reading may ask for: what to call them, and an example. */
const FIELDS = {
  on: ["Input", "an example of its task"],
  other: ["Other input", "one with another answer"],
  answer: ["Answer", "the predicted token"],
  against: ["Against", "the mean of all tokens"],
  sites: ["Sites", "*.resid_pre"],
  site: ["Site", "in front of the last layer"],
};
const FIRST = "heads";

export class ReadScreen {
  /** @param {Shell} shell */
  constructor(shell) {
    this.shell = shell;
    this.element = el("div", { class: "read-page" });
    this.list = el("nav", { "aria-label": "Readings" });
    this.main = el("section", { class: "reading", "aria-live": "polite" });
    this.closed = false;
    this.asked = 0;
    /** @type {Record<string, string>} */
    this.fields = {};
  }

  /** @param {import("./address.js").Fields} fields */
  async open(fields) {
    const { api } = this.shell;
    this.model = fields.model;
    this.fields = { ...fields };
    /** @type {Reading[]} */
    const all = await api.get("/api/readings");
    if (this.closed) return;
    const chosen = all.find(({ name }) => name === fields.reading) ?? all.find(({ name }) => name === FIRST);
    this.list.append(...all.map((one) => this.item(one, one === chosen)));
    this.element.append(this.list, this.main);
    if (chosen) this.show(chosen);
  }

  /**
   * @param {Reading} reading
   * @param {boolean} current
   */
  item({ name, title, says }, current) {
    const href = this.shell.link({ screen: "read", model: this.model ?? "", reading: name });
    const link = el("a", { href }, el("strong", {}, title), el("span", { class: "soft" }, says));
    if (current) link.setAttribute("aria-current", "page");
    return link;
  }

  /** @param {Reading} reading */
  show(reading) {
    const { title, says, asks } = reading;
    this.status = el("p", { class: "status", role: "status" });
    this.error = el("p", { class: "error", role: "alert" });
    this.found = el("div", { class: "found" });
    const form = this.form(reading);
    const words = el("p", { class: "lead" }, says);
    this.main.append(el("h1", {}, title), words, ...(asks.length ? [form] : []), this.status, this.error, this.found);
    this.read(reading.name);
  }

  /** @param {Reading} reading */
  form({ name, asks }) {
    const inputs = asks.map((field) => {
      const [label, placeholder] = FIELDS[/** @type {keyof typeof FIELDS} */ (field)];
      const input = el("input", { name: field, placeholder, value: this.fields[field] ?? "", spellcheck: "false" });
      return el("label", {}, label, input);
    });
    const form = el("form", {}, ...inputs, el("button", { class: "out" }, "Read"));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      for (const input of form.querySelectorAll("input")) this.fields[input.name] = input.value;
      this.read(name);
    });
    return form;
  }

  /** @param {string} reading */
  async read(reading) {
    const asked = ++this.asked;
    const { api } = this.shell;
    const isOver = () => this.closed || asked !== this.asked;
    await this.stop();
    this.tell("reading …", "");
    try {
      const { on, other, answer, against, sites, site } = this.fields;
      const question = { model: this.model, reading, on, other, answer, against, sites, site };
      let told = await api.post("/api/read", question);
      while (told.state === "reading" && !isOver()) {
        this.id = told.id;
        this.tell(progressOf(told), "");
        told = await api.post("/api/reading", { id: told.id });
      }
      this.id = undefined;
      if (isOver()) return;
      if (told.state !== "read") return this.tell("", told.error ?? "stopped");
      this.tell("", "");
      this.fill(told.result);
    } catch (error) {
      if (!isOver()) this.tell("", messageOf(error));
    }
  }

  /**
   * @param {string} status
   * @param {string} error
   */
  tell(status, error) {
    if (!this.status || !this.error) return;
    say(this.status, status);
    say(this.error, error);
    this.status.hidden = !status;
    this.error.hidden = !error;
    this.found?.classList.toggle("old", Boolean(status || error));
  }

  /** @param {any} result */
  fill({ words, tables, drawings, on, shape }) {
    const { link } = this.shell;
    const linkTo = (/** @type {string} */ text) => runLink(text, shape, (at) => `${link(this.run(on))}&at=${at}`);
    const figures = drawings.map((/** @type {any} */ one) => {
      const caption = one.title ? [el("figcaption", {}, one.title)] : [];
      return el("figure", {}, ...caption, el("div", { class: "broad" }, drawn(one, linkTo)));
    });
    const given = on ? [el("p", { class: "on" }, "on ", el("code", {}, on))] : [];
    const lines = words.map((/** @type {string} */ line) => el("p", {}, line));
    const rows = tables.map((/** @type {any} */ one) => tableElement(one, linkTo));
    this.found?.replaceChildren(...given, ...lines, ...figures, ...rows);
  }

  /**
   * What Run shows of the model.
   * @param {string} on
   * @returns {import("./address.js").Fields}
   */
  run(on) {
    return { screen: "run", model: this.model ?? "", ...(on ? { in: on } : {}) };
  }

  /** End what is being read for nobody. */
  async stop() {
    const id = this.id;
    this.id = undefined;
    if (id !== undefined) await this.shell.api.post("/api/reading/stop", { id }).catch(() => undefined);
  }

  close() {
    this.closed = true;
    this.stop();
  }
}

/**
 * How far a reading is.
 * @param {{ done?: number, most?: number }} told
 */
function progressOf({ done = 0, most }) {
  return most ? `reading: ${done.toLocaleString("en")} of at most ${most.toLocaleString("en")}` : "reading …";
}

/**
 * Where a text that names a head leads: to that head in Run. The end of an edge, such as 1.0.k, names its head; in an
 * edge it is the head that reads.
 * @param {string} text
 * @param {Shape} shape
 * @param {(at: string) => string} href
 */
export function runLink(text, shape, href) {
  const edge = text.split(/ → | ← /).at(-1) ?? "";
  const found = /^(?:head )?(\d+)\.(\d+)(?=$|[ .:](?:$|[^\d]))/.exec(edge);
  if (!found) return undefined;
  const [layer, head] = [Number(found[1]), Number(found[2])];
  if (layer >= shape.layers || head >= shape.heads) return undefined;
  return href(`-1,${shape.first + layer * shape.parts},${head}`);
}
