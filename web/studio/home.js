/**
 * Home: programs, runs and files, each a link to what can be done with it.
 *
 * @typedef {import("./shell.js").Shell} Shell
 */
import { el } from "../loom/dom.js";

export class HomeScreen {
  /** @param {Shell} shell */
  constructor(shell) {
    this.shell = shell;
    this.element = el("div", { class: "home" });
  }

  open() {
    const { home, link } = this.shell;
    const item = (/** @type {string} */ model, /** @type {string} */ about) =>
      el("li", {}, el("a", { href: link({ screen: "run", model }) }, model), " ", el("span", { class: "soft" }, about));
    this.element.append(
      el("h1", {}, "handloom studio"),
      el("h2", {}, "Programs"),
      el("ul", {}, ...home.programs.map((/** @type {any} */ one) => item(one.name, one.about))),
    );
  }

  close() {}
}
