import { el } from "../loom/dom.js";
export class CompareScreen {
  /** @param {any} shell */
  constructor(shell) {
    this.shell = shell;
    this.element = el("div");
  }
  open() {}
  close() {}
}
