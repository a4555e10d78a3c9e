/**
 * Run: the loom of one model, with its certificate, the kept steps of its run, and all ways to keep what was made.
 *
 * @typedef {import("./shell.js").Shell} Shell
 */
import { el } from "../loom/dom.js";
import { mountLoom } from "../loom/mount.js";
import { Certifier } from "./certify.js";
import { keepMenu } from "./keeping.js";

export class RunScreen {
  /** @param {Shell} shell */
  constructor(shell) {
    this.shell = shell;
    this.place = el("div", { class: "loom-page" });
    this.steps = el("nav", { class: "steps", "aria-label": "Kept steps of the run" });
    this.steps.hidden = true;
    this.element = el("div", { class: "run-screen" }, this.steps, this.place);
    this.closed = false;
  }

  /**
   * @param {import("./address.js").Fields} fields
   * @param {string} prefix
   */
  async open(fields, prefix) {
    const { model } = fields;
    const found = await this.shell.api.post("/api/model", { model, on: fields.in });
    if (this.closed) return;
    this.showSteps(found.page.kept, model);
    const loom = (this.loom = mountLoom(this.place, found.model, found.page, { prefix }));
    this.certifier = new Certifier(this.shell, loom.desk, model);
    loom.header.badge.element.after(this.certifier.element);
    const menu = keepMenu(this.shell, loom.desk, { name: model, body: () => ({ model }), python: model });
    loom.header.element.querySelector(".tools")?.append(menu);
    Object.assign(globalThis, { loom: loom.desk });
  }

  /**
   * The kept models of a run, each a link with the same input.
   * @param {{ step: number | null, model: string }[]} kept
   * @param {string} model the one that is open
   */
  showSteps(kept, model) {
    if (!kept.length) return;
    this.steps.hidden = false;
    const links = kept.map(({ step, model: name }) => {
      const label = step === null ? "newest" : step.toLocaleString("en-GB");
      const link = el("a", { href: this.shell.link({ screen: "run", model: name }) }, label);
      link.addEventListener("pointerdown", () => (link.href = this.linkTo(name)));
      link.addEventListener("focus", () => (link.href = this.linkTo(name)));
      if (name === model) link.setAttribute("aria-current", "true");
      return link;
    });
    this.steps.replaceChildren(el("span", { class: "soft" }, "after steps"), ...links);
  }

  /** @param {string} model */
  linkTo(model) {
    return this.shell.link({ screen: "run", model, in: this.loom?.desk.state.text ?? "" });
  }

  close() {
    this.closed = true;
    this.certifier?.close();
    this.loom?.close();
  }
}
