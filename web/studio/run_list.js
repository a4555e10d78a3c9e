/**
 * The runs of one kind: those at work, and those of the folder, each a link.
 *
 * @typedef {import("./shell.js").Shell} Shell
 */
import { el } from "../loom/dom.js";
import { JOBS, RUNNING } from "./job_book.js";
import { percent, written } from "./ticks.js";

/** @type {Record<string, string>} */
const SIGNS = { running: "▶", stopping: "◼", failed: "✗" };

export class RunList {
  /**
   * @param {Shell} shell
   * @param {string} kind
   * @param {string} [open] the run that is shown
   */
  constructor(shell, kind, open) {
    this.shell = shell;
    this.kind = kind;
    this.opened = open;
    this.list = el("ul");
    this.element = el("section", { class: "run-list" }, el("h2", {}, "Runs"), this.list);
    this.asking = false;
  }

  async refresh() {
    if (this.asking) return;
    this.asking = true;
    try {
      this.runs = await this.shell.api.get("/api/runs");
    } finally {
      this.asking = false;
    }
    this.show();
  }

  show() {
    const jobs = this.shell.book.of(JOBS[this.kind]);
    const runs = (this.runs ?? []).filter((/** @type {any} */ run) => run.kind === this.kind);
    const stateOf = (/** @type {string} */ folder) => jobs.find((job) => job.folder === folder)?.state ?? "";
    const first = (/** @type {any} */ run) => (RUNNING.includes(stateOf(run.run)) ? 0 : 1);
    const sorted = [...runs].sort((a, b) => first(a) - first(b));
    this.list.replaceChildren(...sorted.map((run) => this.row(run, stateOf(run.run))));
    this.element.hidden = !sorted.length;
  }

  /**
   * @param {any} run
   * @param {string} state
   */
  row(run, state) {
    const href = this.shell.link({ screen: this.kind, run: run.run });
    const current = run.run === this.opened && "true";
    const words = [run.run, ...this.reached(run), RUNNING.includes(state) || state === "failed" ? state : ""];
    const sign = el("span", { class: `sign ${state}`, "aria-hidden": "true" }, SIGNS[state] ?? "·");
    const about = el("span", { class: "soft" }, words.filter(Boolean).join(" · "));
    const title = el("b", {}, String(run.task ?? run.run));
    return el("li", {}, el("a", { href, "aria-current": current }, sign, title, about));
  }

  /**
   * What its folder said when it was asked, or newer events.
   * @param {any} run
   */
  reached(run) {
    const known = this.shell.book.runs.get(run.run);
    const line = known?.isRunning ? known.ordered.at(-1) : undefined;
    const { kind, step, steps, goal, loss, success, best, damaged } = { ...run, ...line };
    if (damaged) return ["damaged"];
    const found = known?.improved.at(-1)?.score ?? best;
    if (kind === "discover") return [found === null ? "nothing yet" : `best ${written(found)}`];
    const done = step ?? steps ?? 0;
    const words = done === goal ? `${written(goal)} steps` : `step ${written(done)} of ${written(goal ?? 0)}`;
    const share = success ?? undefined;
    return [words, share === undefined ? "" : percent(share), loss ?? undefined ? `loss ${written(loss, 3)}` : ""];
  }
}
