/**
 * One run of learn: curves, kept steps, the film of its heads and samples; while it runs, and when it is read from its
 * folder.
 *
 * @typedef {import("./shell.js").Shell} Shell
 * @typedef {import("./job_book.js").Run} Run
 * @typedef {import("./job_book.js").Event} Event
 */
import { el } from "../loom/dom.js";
import { Chart } from "./chart.js";
import { Film } from "./film.js";
import { RunHead, progress } from "./run_head.js";
import { Samples } from "./samples.js";
import { percent, written } from "./ticks.js";

const LOSSES = [
  { name: "training", look: "faint" },
  { name: "held out", look: "blue", dots: true },
];
const SHARES = [
  { name: "right", look: "blue", dots: true },
  { name: "right of the new", look: "orange", dashed: true },
];

export class RunView {
  /**
   * @param {Shell} shell
   * @param {Run} run
   * @param {import("./run_head.js").Does} does
   */
  constructor(shell, run, does) {
    this.shell = shell;
    this.run = run;
    this.head = new RunHead(does);
    this.loss = new Chart({ title: "Loss", series: LOSSES, show: (value) => written(value, 4) });
    this.success = new Chart({ title: "Success", series: SHARES, show: percent, range: [0, 1] });
    this.kept = el("p", { class: "kept" });
    this.film = new Film();
    this.samples = new Samples();
    this.settings = el("dl", { class: "told" });
    const more = el("details", {}, el("summary", {}, "Settings of this run"), this.settings);
    const charts = el("div", { class: "curves" }, this.loss.element, this.success.element);
    this.element = el("article", { class: "run-view" }, this.head.element, charts, this.kept);
    this.element.append(this.film.element, this.samples.element, more);
    this.due = 0;
    this.shown = ""; // the links
  }

  close() {
    cancelAnimationFrame(this.due);
    for (const part of [this.loss, this.success, this.film]) part.close();
  }

  /** Show it at the next frame, however many events came. */
  later() {
    this.due ||= requestAnimationFrame(() => this.show());
  }

  show() {
    this.due = 0;
    const { run } = this;
    const lines = run.ordered;
    const { steps } = progress(run);
    this.head.show(run);
    this.loss.show([losses(run, lines), curve(lines, "held_out")], steps, run.joints);
    this.success.show([curve(lines, "success"), curve(lines, "right_of_new")], steps, run.joints);
    this.success.element.hidden = lines.length > 0 && lines.every((line) => line.has_rule === false);
    this.loss.element.hidden = !lines.length && !run.losses.length;
    this.showKept();
    this.film.show(run.frames);
    this.samples.show(run.samples, `at step ${written(run.sampled)}`);
    const settings = Object.entries({ ...run.about.config, ...run.about.settings });
    const told = settings.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, String(value))));
    if (this.settings.children.length !== told.length) this.settings.replaceChildren(...told);
  }

  /** Links to the models that can be opened. */
  showKept() {
    const { run } = this;
    const link = (/** @type {string} */ name, /** @type {string} */ model) =>
      el("a", { class: "chip", href: this.shell.link({ screen: "run", model }) }, name);
    const steps = [...run.kept].sort(([a], [b]) => a - b);
    const named = [...(run.lines.size ? [["now", "model"], ["best", "best"]] : [])];
    const links = [
      ...steps.map(([step, file]) => link(`step ${written(step)}`, file)),
      ...named.map(([name, file]) => link(name, `${run.folder}/${file}.safetensors`)),
    ];
    const key = links.map((one) => one.href).join();
    if (key === this.shown) return;
    this.shown = key;
    this.kept.replaceChildren(el("span", { class: "soft" }, "Open in Run: "), ...links);
    this.kept.hidden = !links.length;
  }
}

/**
 * @param {any[]} lines
 * @param {string} name
 */
const curve = (lines, name) => {
  const other = name === "held_out" ? "trained_on" : name;
  return lines.map((line) => ({ x: line.step, y: line[name] ?? line[other] ?? NaN }));
};

/**
 * The losses of training: the means of evaluations, and between them what was told since.
 * @param {Run} run
 * @param {any[]} lines
 */
function losses(run, lines) {
  const told = run.losses.filter(({ y }) => Number.isFinite(y));
  const first = told[0]?.x ?? Infinity;
  const before = lines.filter(({ step }) => step < first).map(({ step, loss }) => ({ x: step, y: loss ?? NaN }));
  return [...before, ...told];
}
