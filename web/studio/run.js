/**
 * Run: the loom of one model.
 *
 * @typedef {import("./shell.js").Shell} Shell
 */
import { el } from "../loom/dom.js";
import { mountLoom } from "../loom/mount.js";

export class RunScreen {
  /** @param {Shell} shell */
  constructor(shell) {
    this.shell = shell;
    this.element = el("div", { class: "loom-page" });
    this.closed = false;
  }

  /**
   * @param {import("./address.js").Fields} fields
   * @param {string} prefix
   */
  async open(fields, prefix) {
    const found = await this.shell.api.post("/api/model", { model: fields.model, on: fields.in });
    if (this.closed) return;
    this.loom = mountLoom(this.element, found.model, found.page, { prefix });
    Object.assign(globalThis, { loom: this.loom.desk });
  }

  close() {
    this.closed = true;
    this.loom?.close();
  }
}
