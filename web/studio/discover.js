/**
 * Discover: search for constructions, watch the best grow, and draw one's own.
 *
 * @typedef {import("./shell.js").Shell} Shell
 * @typedef {import("./job_book.js").Run} Run
 */
import { messageOf } from "../loom/desk.js";
import { el } from "../loom/dom.js";
import { DiscoverForm } from "./discover_form.js";
import { DiscoveryView } from "./discovery_view.js";
import { RunList } from "./run_list.js";

const PAUSE = 700; // ms without a better one, after which the records are asked for

export class DiscoverScreen {
  /** @param {Shell} shell */
  constructor(shell) {
    this.shell = shell;
    this.book = shell.book;
    this.closed = new AbortController();
    this.side = el("aside", { class: "beside-run" });
    this.main = el("div", { class: "view" });
    this.element = el("div", { class: "two-columns" }, this.side, this.main);
    /** @type {DiscoveryView | undefined} */
    this.view = undefined;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.due = undefined;
  }

  /** @param {import("./address.js").Fields} fields */
  async open(fields) {
    const forms = await this.shell.forms();
    if (this.closed.signal.aborted) return;
    this.problems = forms.discover.problems;
    const look = (/** @type {string} */ problem) => this.shell.go({ screen: "discover", problem });
    this.form = new DiscoverForm(forms.discover, { start: (spec) => this.start(spec), look });
    this.list = new RunList(this.shell, "discover", fields.run);
    this.side.append(this.form.element, this.list.element);
    this.list.refresh();
    this.book.listen((run, event) => this.heard(run, event), this.closed.signal);
    const run = fields.run || (!fields.problem && (await this.book.running("discover")));
    if (run) await this.showRun(run);
    else await this.show(fields.problem || this.form.name, undefined);
  }

  /** @param {string} folder */
  async showRun(folder) {
    const found = await this.shell.api.post("/api/run", { run: folder });
    const run = this.book.run(folder);
    run.about = { ...found, ...run.about };
    if (!run.improved.length) run.improved = found.improved;
    await this.show(this.nameOf(found.problem), run);
  }

  /**
   * @param {string} name
   * @param {Run | undefined} run
   */
  async show(name, run) {
    const problem = await this.shell.api.post("/api/problem", { problem: name });
    if (this.closed.signal.aborted || !this.form) return;
    this.form.name = name;
    this.name = name;
    const does = { stop: () => this.stop(run), resume: (/** @type {number} */ seconds) => this.resume(run, seconds) };
    this.view = new DiscoveryView(this.shell, { ...problem, problem: name }, run, does);
    this.main.replaceChildren(this.view.element);
    this.element.classList.add("shown");
    this.view.later();
  }

  /**
   * A problem of a run, as it is asked for: that of a file by the name of the file.
   * @param {string} problem
   */
  nameOf(problem) {
    const [stem, rest] = problem.split(/:(.*)/s);
    const own = this.problems?.find((/** @type {any} */ one) => one.name.split("/").at(-1) === `${stem}.py`);
    return own ? `${own.name}${rest ? `:${rest}` : ""}` : problem;
  }

  /**
   * @param {Run | undefined} run
   * @param {import("./api.js").Event | undefined} event
   */
  heard(run, event) {
    if (this.view && (!run || run === this.view.run)) this.view.later();
    if (!event || ["begun", "done", "error"].includes(event.type)) this.list?.refresh();
    if (!this.view || run !== this.view.run || !event) return;
    if (event.type === "done") this.refresh();
    if (event.type === "improved") {
      clearTimeout(this.due);
      this.due = setTimeout(() => this.refresh(), PAUSE);
      this.list?.show();
    }
  }

  /** The records, after a search. */
  async refresh() {
    if (this.closed.signal.aborted) return;
    const { records } = await this.shell.api.post("/api/problem", { problem: this.name });
    this.view?.showRecords(records);
  }

  /** @param {object} spec */
  async start(spec) {
    const folder = await this.book.start({ kind: "discover", ...spec });
    if (!this.closed.signal.aborted) this.shell.go({ screen: "discover", run: folder });
  }

  /** @param {Run | undefined} run */
  stop(run) {
    return run && this.tried(() => this.book.halt(run));
  }

  /**
   * @param {Run | undefined} run
   * @param {number} seconds
   */
  resume(run, seconds) {
    return run && this.tried(() => this.book.start({ kind: "resume-discover", run: run.folder, seconds }));
  }

  /** @param {() => Promise<any>} act */
  async tried(act) {
    this.shell.fail("");
    try {
      await act();
    } catch (error) {
      this.shell.fail(messageOf(error));
    }
  }

  close() {
    this.closed.abort();
    this.view?.close();
  }
}
