/**
 * Learn: start a run, watch it, stop it, resume it; and the runs that there are.
 *
 * @typedef {import("./shell.js").Shell} Shell
 * @typedef {import("./job_book.js").Run} Run
 */
import { messageOf } from "../loom/desk.js";
import { el } from "../loom/dom.js";
import { LearnForm } from "./learn_form.js";
import { RunList } from "./run_list.js";
import { RunView } from "./run_view.js";

export class LearnScreen {
  /** @param {Shell} shell */
  constructor(shell) {
    this.shell = shell;
    this.book = shell.book;
    this.closed = new AbortController();
    this.side = el("aside", { class: "beside-run" });
    this.main = el("div", { class: "view" });
    this.element = el("div", { class: "two-columns" }, this.side, this.main);
    /** @type {RunView | undefined} */
    this.view = undefined;
  }

  /** @param {import("./address.js").Fields} fields */
  async open(fields) {
    const forms = await this.shell.forms();
    if (this.closed.signal.aborted) return;
    this.form = new LearnForm(forms.learn, (spec) => this.start(spec));
    this.list = new RunList(this.shell, "learn", fields.run);
    this.side.append(this.form.element, this.list.element);
    if (fields.task) this.form.task.value = fields.task;
    this.form.about();
    this.list.refresh();
    this.book.listen((run, event) => this.heard(run, event), this.closed.signal);
    const folder = fields.run || (!fields.task && (await this.book.running("learn")));
    if (folder) await this.show(folder);
    else this.main.append(this.form.offers());
  }

  /** @param {string} folder */
  async show(folder) {
    const run = this.book.run(folder);
    const resume = (/** @type {number | null} */ steps) => this.resume(run, steps);
    const does = { stop: () => this.stop(run), resume };
    this.view = new RunView(this.shell, run, does);
    this.main.replaceChildren(this.view.element);
    this.element.classList.add("shown");
    const found = await this.shell.api.post("/api/run", { run: folder });
    read(run, found);
    this.view.later();
    if (run.frames.length || run.isRunning || !found.kept.length) return;
    const frames = await this.shell.api.post("/api/film", { run: folder });
    for (const frame of frames) run.hear({ ...frame, type: "frame", id: 0 });
    this.view.later();
  }

  /**
   * @param {Run | undefined} run
   * @param {import("./api.js").Event | undefined} event
   */
  heard(run, event) {
    if (this.view && (!run || run === this.view.run)) this.view.later();
    if (!event || event.type === "begun" || event.type === "done" || event.type === "error") this.list?.refresh();
    if (event?.type === "evaluation") this.list?.show();
  }

  /** @param {object} spec */
  async start(spec) {
    const folder = await this.book.start({ kind: "learn", ...spec });
    if (!this.closed.signal.aborted) this.shell.go({ screen: "learn", run: folder });
  }

  /** @param {Run} run */
  stop = (run) => this.tried(() => this.book.halt(run));

  /**
   * @param {Run} run
   * @param {number | null} steps
   */
  resume(run, steps) {
    const { about } = run;
    const more = steps ?? (about.step >= about.steps ? 2 * about.steps : null);
    return this.tried(() => this.book.start({ kind: "resume", run: run.folder, steps: more }));
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

/**
 * What a run's folder says, as far as no event has said it.
 * @param {Run} run
 * @param {any} found
 */
function read(run, found) {
  run.about = { ...found, ...run.about };
  for (const line of found.lines) if (!run.lines.has(line.step)) run.lines.set(line.step, line);
  for (const { step, file } of found.kept) run.kept.set(step, file);
}
