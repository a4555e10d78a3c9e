/**
 * The shell: the bar with the screens, and the screen that the address names. A screen is made when it is opened and
 * closed when another is; what lasts (runs) is the server's.
 *
 * @typedef {import("./address.js").Fields} Fields
 *
 * @typedef {object} Screen
 * @property {HTMLElement} element
 * @property {(fields: Fields, prefix: string) => Promise<void> | void} open shows what the address says; `prefix` is
 *     what a loom writes before its own state
 * @property {() => void} close
 *
 * @typedef {object} Kind
 * @property {string} title
 * @property {string[]} about the fields that say what the screen is about; if one changes, it is opened anew
 * @property {(shell: Shell) => Screen} make
 */
import { el, say } from "../loom/dom.js";
import { messageOf } from "../loom/desk.js";
import { fieldsOf, hashOf } from "./address.js";
import { Api } from "./api.js";
import { CompareScreen } from "./compare.js";
import { DiscoverScreen } from "./discover.js";
import { HomeScreen } from "./home.js";
import { JobBook } from "./job_book.js";
import { LearnScreen } from "./learn.js";
import { LessonScreen } from "./lesson.js";
import { Models, picker } from "./picker.js";
import { ReadScreen } from "./read.js";
import { RunScreen } from "./run.js";
import { TextScreen } from "./text.js";

/** @type {Record<string, Kind>} */
const SCREENS = {
  home: { title: "Home", about: [], make: (shell) => new HomeScreen(shell) },
  lesson: { title: "Lessons", about: ["lesson"], make: (shell) => new LessonScreen(shell) },
  run: { title: "Run", about: ["model"], make: (shell) => new RunScreen(shell) },
  text: { title: "Text", about: ["model"], make: (shell) => new TextScreen(shell) },
  learn: { title: "Learn", about: ["run", "task"], make: (shell) => new LearnScreen(shell) },
  discover: { title: "Discover", about: ["problem", "run"], make: (shell) => new DiscoverScreen(shell) },
  read: { title: "Read", about: ["model", "reading"], make: (shell) => new ReadScreen(shell) },
  compare: { title: "Compare", about: ["model", "beside"], make: (shell) => new CompareScreen(shell) },
};
const SECRET = "handloom-key";

export class Shell {
  /** @param {HTMLElement} element */
  constructor(element) {
    this.element = element;
    this.api = new Api(keyFromAddress());
    this.models = /** @type {Models} */ (/** @type {unknown} */ (undefined)); // known when it has started
    this.book = new JobBook(this.api);
    /** @type {Promise<any> | undefined} */
    this.asked = undefined;
    this.model = "hello"; // that of the last screen which had one
    /** @type {Screen | undefined} */
    this.screen = undefined;
    this.prefix = "";
    this.links = Object.fromEntries(Object.entries(SCREENS).map(([name, { title }]) => [name, el("a", {}, title)]));
    this.lost = el("p", { class: "error lost", role: "alert" }, "The studio has ended; runs are saved.");
    this.lost.hidden = true;
    this.error = el("p", { class: "error", role: "alert", id: "refusal" });
    this.notice = el("p", { class: "notice", role: "status" });
    this.notice.hidden = true;
    this.picker = picker({ label: "model", chosen: (model) => this.open(model) });
    this.main = el("main", { id: "screen" });
    const brand = el("span", { class: "brand" }, "handloom");
    this.bar = el("nav", { "aria-label": "Screens" }, brand, ...Object.values(this.links), this.picker);
    element.append(this.bar, this.lost, this.error, this.notice, this.main);
  }

  async start() {
    this.api.connected = (connected) => {
      this.lost.hidden = connected;
    };
    addEventListener("hashchange", () => this.show());
    if (!this.api.key) return this.fail("The key is missing; open the address that `handloom studio` printed.");
    try {
      this.home = await this.api.get("/api/home");
    } catch (error) {
      return this.fail(messageOf(error));
    }
    this.models = new Models(this.home);
    this.element.append(this.models.list);
    this.api.follow();
    if (!fieldsOf(location.hash).screen) this.begin();
    return this.show();
  }

  /** Go to what the command line named. */
  begin() {
    const [first, second] = this.home.start.given;
    if (!first) return this.go({ screen: "home" });
    if (first.kind === "model" && second?.kind === "model")
      return this.go({ screen: "compare", model: first.name, beside: second.name });
    if (first.kind === "problem") return this.go({ screen: "discover", problem: first.name });
    if (first.kind === "model") return this.go({ screen: "run", model: first.name });
    return this.go({ screen: first.kind, run: first.name });
  }

  /** What the forms of Learn and Discover ask. */
  forms() {
    this.asked ??= this.api.get("/api/forms");
    return this.asked;
  }

  /**
   * A link to a screen.
   * @param {Fields} fields
   */
  link = (fields) => `#${hashOf(fields)}`;

  /** @param {string} screen whether there is one of that name */
  has = (screen) => Object.hasOwn(SCREENS, screen);

  /** @param {Fields} fields */
  go(fields) {
    location.hash = this.link(fields);
  }

  /**
   * Open a model on the screen that is shown, if it is about one.
   * @param {string} model
   */
  open(model) {
    const fields = fieldsOf(location.hash);
    const isAbout = Object.hasOwn(SCREENS, fields.screen) && SCREENS[fields.screen].about.includes("model");
    this.go({ screen: isAbout ? fields.screen : "run", model, ...(fields.beside ? { beside: fields.beside } : {}) });
  }

  /** Show what the address says. */
  async show() {
    const fields = fieldsOf(location.hash);
    const name = Object.hasOwn(SCREENS, fields.screen) ? fields.screen : "home";
    const kind = SCREENS[name];
    if (kind.about.includes("model")) this.model = fields.model ||= this.model;
    const about = Object.fromEntries(kind.about.map((field) => [field, fields[field] ?? ""]));
    const prefix = `${hashOf({ screen: name, ...about })}&`;
    this.mark(name);
    if (this.screen && prefix === this.prefix) return;
    this.screen?.close();
    this.prefix = prefix;
    this.fail("");
    this.tell();
    if (kind.about.includes("model")) this.picker.value = this.model;
    const screen = (this.screen = kind.make(this));
    this.main.className = `screen ${name}`;
    this.main.replaceChildren(screen.element);
    document.title = `${fields.model ? `${fields.model} · ` : ""}${kind.title} · handloom`;
    try {
      await screen.open(fields, prefix);
    } catch (error) {
      if (screen === this.screen) this.fail(messageOf(error));
    }
  }

  /** @param {string} name the screen that is open */
  mark(name) {
    for (const [one, link] of Object.entries(this.links)) {
      const model = SCREENS[one].about.includes("model") ? this.model : "";
      link.setAttribute("href", this.link({ screen: one, model }));
      if (one === name) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
  }

  /**
   * Say what was done, until something else is.
   * @param {...(Node | string)} words
   */
  tell(...words) {
    this.notice.replaceChildren(...words);
    this.notice.hidden = !words.length;
  }

  /** @param {string} message */
  fail(message) {
    say(this.error, message);
    this.error.hidden = !message;
  }
}

/** The key, which is taken out of the address and kept for as long as this tab is open. */
function keyFromAddress() {
  const { key, ...fields } = fieldsOf(location.hash);
  if (key) {
    sessionStorage.setItem(SECRET, key);
    history.replaceState(null, "", `#${hashOf(fields)}`);
  }
  return key || (sessionStorage.getItem(SECRET) ?? "");
}
