/**
 * Home: the lessons as cards, and below them whatever can be opened: programs, runs, files and problems, each with what
 * can be done with it. One box filters all.
 *
 * @typedef {import("./shell.js").Shell} Shell
 * @typedef {{ name: string, about: string, does: [string, import("./address.js").Fields][], state?: string }} Thing
 */
import { el, say } from "../loom/dom.js";
import { lessonCards } from "./lesson.js";

/** The groups of programs, by what stands before the slash. */
const GROUPS = {
  "": "Our own",
  book: "The Art of Transformer Programming: its constructions",
  exercise: "Answers to its exercises",
  compiled: "Compiled from a small language",
};

export class HomeScreen {
  /** @param {Shell} shell */
  constructor(shell) {
    this.shell = shell;
    this.element = el("div", { class: "home-page" });
    this.closed = false;
  }

  async open() {
    this.shell.home = await this.shell.api.get("/api/home"); // runs may have begun since the page was loaded
    if (this.closed) return;
    const find = el("input", { class: "find", type: "search", placeholder: "Find a program, a run, a lesson …" });
    find.setAttribute("aria-label", "Find");
    this.none = el("p", { class: "none", role: "status" });
    this.sections = this.made();
    find.addEventListener("input", () => this.filter(find.value));
    const words = el("p", { class: "lead" }, "See a transformer compute, change it, watch it learn. New here? ");
    const first = this.shell.link({ screen: "lesson", lesson: "hello" });
    words.append(el("a", { href: first }, "Begin with the first lesson."));
    const title = el("div", {}, el("h1", {}, "handloom studio"), words);
    this.element.append(el("div", { class: "top" }, title, find), ...this.sections, this.none);
  }

  /** @returns {HTMLElement[]} */
  made() {
    const { home } = this.shell;
    const runs = home.runs.map((/** @type {any} */ run) => this.run(run));
    const files = home.files.map((/** @type {any} */ { file, bytes }) => this.model(file, `${sizeOf(bytes)}`));
    const problems = home.problems.map((/** @type {any} */ { name, about }) => ({
      name,
      about,
      does: [["Discover", { screen: "discover", problem: name }]],
    }));
    const programs = Object.entries(GROUPS).map(([group, title]) => {
      const some = home.programs.filter((/** @type {any} */ { name }) => groupOf(name) === group);
      return part("h3", title, list(this, some.map((/** @type {any} */ one) => this.model(one.name, one.about))));
    });
    return [
      part("h2", "Lessons", lessonCards(this.shell)),
      ...(runs.length ? [part("h2", "Runs", list(this, runs))] : []),
      ...(files.length ? [part("h2", `Model files in ${home.folder}`, list(this, files))] : []),
      part("h2", "Programs", el("div", {}, ...programs)),
      part("h2", "Problems to discover something about", list(this, problems)),
    ];
  }

  /**
   * @param {string} model
   * @param {string} about
   * @returns {Thing}
   */
  model(model, about) {
    const does = /** @type {Thing["does"]} */ ([
      ["Run", { screen: "run", model }],
      ["Text", { screen: "text", model }],
      ["Read", { screen: "read", model }],
      ["Compare", { screen: "compare", model }],
    ]);
    return { name: model, about, does };
  }

  /**
   * @param {any} run
   * @returns {Thing}
   */
  run({ run, kind, task, reached, state }) {
    const watch = kind === "discover" ? "discover" : "learn";
    const about = [task, reached].filter(Boolean).join(" · ");
    const does = /** @type {Thing["does"]} */ ([[kind === "discover" ? "Discover" : "Learn", { screen: watch, run }]]);
    if (kind !== "discover") does.push(...this.model(run, "").does);
    return { name: run, about, does, state };
  }

  /** @param {string} wanted */
  filter(wanted) {
    const words = wanted.toLowerCase().split(/\s+/).filter(Boolean);
    let found = 0;
    for (const one of this.element.querySelectorAll("[data-text]")) {
      const text = (one.getAttribute("data-text") ?? "").toLowerCase();
      /** @type {HTMLElement} */ (one).hidden = !words.every((word) => text.includes(word));
      found += Number(!(/** @type {HTMLElement} */ (one).hidden));
    }
    for (const group of this.element.querySelectorAll("section")) {
      group.hidden = !group.querySelector("[data-text]:not([hidden])");
    }
    if (this.none) say(this.none, found ? "" : `Nothing here is called ${wanted}.`);
  }

  close() {
    this.closed = true;
  }
}

/** @param {string} name */
const groupOf = (name) => (name.includes("/") ? name.slice(0, name.indexOf("/")) : "");

/** @param {number} bytes */
const sizeOf = (bytes) => (bytes < 1e6 ? `${Math.ceil(bytes / 1e3)} kB` : `${(bytes / 1e6).toFixed(1)} MB`);

/**
 * @param {"h2" | "h3"} level
 * @param {string} title
 * @param {HTMLElement} content
 */
const part = (level, title, content) => el("section", {}, el(level, {}, title), content);

/**
 * @param {HomeScreen} screen
 * @param {Thing[]} things
 */
function list({ shell }, things) {
  const known = things.map(({ name, about, does, state }) => {
    const can = does.filter(([, { screen }]) => shell.has(screen));
    const [first] = can;
    const href = first ? shell.link(first[1]) : "";
    const link = first ? el("a", { class: "name", href }, name) : el("b", { class: "name" }, name);
    const words = el("span", { class: "soft" }, about);
    if (state === "running") words.append(" ", el("span", { class: "state" }, "running"));
    const links = can.map(([does, fields]) => el("a", { href: shell.link(fields) }, does));
    return el("li", { "data-text": `${name} ${about}` }, link, words, el("span", { class: "can" }, ...links));
  });
  return el("ul", { class: "things" }, ...known);
}
