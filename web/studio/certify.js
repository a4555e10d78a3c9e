/**
 * The certificate, asked for: a button beside the badge starts a job that holds the model against its task, shows how
 * far it is, and puts what it found into the badge, word for word.
 *
 * @typedef {import("./shell.js").Shell} Shell
 * @typedef {import("../loom/desk.js").Desk} Desk
 */
import { messageOf } from "../loom/desk.js";
import { el, say } from "../loom/dom.js";

export class Certifier {
  /**
   * @param {Shell} shell
   * @param {Desk} desk
   * @param {string} model
   */
  constructor(shell, desk, model) {
    this.shell = shell;
    this.desk = desk;
    this.model = model;
    this.page = /** @type {any} */ (desk.page);
    this.button = el("button", { class: "out", onclick: () => this.pressed() });
    this.words = el("span", { class: "soft", role: "status" });
    this.element = el("span", { class: "certify" }, this.button, this.words);
    this.end = new AbortController();
    /** @type {number | null} the job that runs */
    this.job = this.page.certifying ?? null;
    this.isListening = false;
    if (this.job !== null) this.listen();
    this.show();
  }

  show() {
    const { certificate, certifiable, without_exam: why } = this.page;
    this.button.hidden = !certifiable || (Boolean(certificate) && this.job === null);
    say(this.button, this.job === null ? "certify" : "stop");
    this.button.title =
      this.job === null ? "hold the model against its task: on all inputs, by a proof, or on samples" : "stop this";
    if (!certifiable) say(this.words, why);
  }

  async pressed() {
    const { api } = this.shell;
    try {
      if (this.job !== null) return void (await api.post("/api/jobs/halt", { job: this.job }));
      say(this.words, "begins …");
      const { digest } = this.page;
      const { id } = await api.post("/api/jobs", { kind: "certify", model: this.model, digest });
      this.job = id;
      this.show();
      this.listen();
    } catch (error) {
      say(this.words, messageOf(error));
    }
    return undefined;
  }

  listen() {
    if (this.isListening) return;
    this.isListening = true;
    this.shell.api.listen((event) => this.heard(event), this.end.signal);
  }

  /** @param {any} event */
  heard(event) {
    if (event.job !== this.job || this.job === null) return;
    if (event.type === "progress") say(this.words, `${event.done.toLocaleString("en-GB")} of ${most(event)} …`);
    if (event.type === "error") this.ended(event.message);
    if (event.type !== "done") return;
    if (event.certificate) this.page.certificate = { text: event.text, method: event.certificate.method };
    this.ended(event.certificate ? "" : "stopped");
    this.desk.draw();
  }

  /** @param {string} words */
  ended(words) {
    this.job = null;
    say(this.words, words);
    this.show();
  }

  close() {
    this.end.abort();
  }
}

/** @param {{ most: number | null }} event */
const most = ({ most }) => (most ? most.toLocaleString("en-GB") : "many");
