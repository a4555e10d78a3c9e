/**
 * The head of a run of learn: what it is, how far it is, how fast, and stop and resume.
 *
 * @typedef {import("./job_book.js").Run} Run
 * @typedef {object} Does
 * @property {() => void} stop
 * @property {(steps: number | null) => void} resume
 */
import { el, say } from "../loom/dom.js";
import { lasting, written } from "./ticks.js";

/** @type {Record<string, string>} */
const STATES = { running: "training", stopping: "stopping, saving", stopped: "stopped, saved" };

export class RunHead {
  /** @param {Does} does */
  constructor(does) {
    this.title = el("h1");
    this.state = el("span", { class: "state", role: "status" });
    this.stop = el("button", { class: "act", onclick: does.stop }, "Stop");
    this.goal = el("input", { inputmode: "numeric", "aria-label": "up to step", size: 8 });
    this.resume = el("button", { class: "act", onclick: () => does.resume(this.steps) }, "Resume");
    this.again = el("span", { class: "again" }, this.resume, el("label", {}, " up to step ", this.goal));
    this.bar = el("div", { class: "progress", role: "progressbar", "aria-label": "steps" }, el("i"));
    this.pace = el("p", { class: "soft pace" });
    this.claim = el("p", { class: "soft" });
    this.message = el("p", { class: "error", role: "alert" });
    const line = el("div", { class: "title" }, this.title, this.state, this.stop, this.again);
    this.element = el("header", { class: "run-head" }, line, this.claim, this.bar, this.pace, this.message);
  }

  /** The step to resume up to, null for that of the run's settings. */
  get steps() {
    const steps = Number(this.goal.value.replaceAll(",", ""));
    return steps > 0 ? steps : null;
  }

  /** @param {Run} run */
  show(run) {
    const { about, end } = run;
    const { step, steps } = progress(run);
    say(this.title, String(about.title ?? run.folder));
    say(this.claim, about.claim ?? "");
    this.claim.hidden = !about.claim;
    say(this.state, run.state ? (STATES[run.state] ?? run.state) : step >= steps ? "done" : "not running");
    this.state.className = `state ${run.state}`;
    this.stop.hidden = !run.isRunning;
    this.stop.disabled = run.state === "stopping";
    this.again.hidden = run.isRunning;
    this.goal.placeholder = written(step < steps ? steps : 2 * steps);
    /** @type {HTMLElement} */ (this.bar.firstChild).style.width = `${(100 * step) / Math.max(1, steps)}%`;
    this.bar.setAttribute("aria-valuenow", String(step));
    this.bar.setAttribute("aria-valuemax", String(steps));
    say(this.pace, this.words(run, step, steps));
    say(this.message, end?.type === "error" && !run.isRunning ? end.message : (about.damaged ?? ""));
    this.message.hidden = !this.message.textContent;
  }

  /**
   * @param {Run} run
   * @param {number} step
   * @param {number} steps
   */
  words(run, step, steps) {
    const words = [`step ${written(step)} of ${written(steps)}`];
    const { now, began, about } = run;
    if (run.isRunning && now && began && now.step > began.at && now.seconds > began.seconds) {
      const pace = (now.step - began.at) / (now.seconds - began.seconds);
      words.push(`${written(pace, 3)} steps per second`, `${lasting((steps - step) / pace)} left`);
    }
    if (about.parameters) words.push(`${written(about.parameters)} parameters`);
    return [...words, run.folder, about.data, about.engine].filter(Boolean).join(" · ");
  }
}

/**
 * The step that a run has reached, and the one it is meant to reach.
 * @param {Run} run
 */
export function progress({ about, now, lines, end }) {
  const told = [now?.step, end?.step, about.step, ...lines.keys()].filter((step) => Number.isFinite(step));
  const step = Math.max(0, ...told);
  return { step, steps: about.steps ?? step };
}
