/**
 * A problem: its best construction, the search that is at work on it with the log of its improvements, the board, and
 * the best records of the store.
 *
 * @typedef {import("./shell.js").Shell} Shell
 * @typedef {import("./job_book.js").Run} Run
 */
import { each, el, say } from "../loom/dom.js";
import { Board } from "./board.js";
import { indicesOf } from "./board_space.js";
import { Chart } from "./chart.js";
import { DrawPanel, beside, better } from "./draw_panel.js";
import { counted, lasting, written } from "./ticks.js";

/** @type {Record<string, string>} */
const STATES = { running: "searching", stopping: "stopping, saving", stopped: "stopped, saved" };
const THUMB = 132; // pixels

export class DiscoveryView {
  /**
   * @param {Shell} shell
   * @param {any} problem as the server tells it
   * @param {Run | undefined} run
   * @param {{ stop: () => void, resume: (seconds: number) => void }} does
   */
  constructor(shell, problem, run, does) {
    this.shell = shell;
    this.problem = problem;
    this.run = run;
    this.number = el("span", { class: "score" });
    this.badge = el("span", { class: "badge" });
    this.state = el("span", { class: "state", role: "status" });
    this.stop = el("button", { class: "act", onclick: does.stop }, "Stop");
    this.seconds = el("input", { inputmode: "decimal", size: 5, placeholder: "60", "aria-label": "seconds" });
    const again = () => does.resume(Number(this.seconds.value) || 60);
    const resume = el("button", { class: "act", onclick: again }, "Resume");
    this.again = el("span", { class: "again" }, resume, el("label", {}, " for ", this.seconds, " s"));
    this.progress = el("p", { class: "soft pace" });
    this.bar = el("div", { class: "progress" }, el("i"));
    this.message = el("p", { class: "error", role: "alert" });
    this.log = el("ol", { class: "log" });
    const axes = { over: "second", linear: true, height: 150 };
    this.chart = new Chart({ title: "Best over time", series: BEST, show: written, ...axes });
    this.gallery = el("div", { class: "gallery" });
    this.records = el("section", {}, el("h3", {}, "Best records"), this.gallery);
    /** @type {Board[]} */
    this.thumbs = [];
    this.due = 0;
    this.drawn = "";
    this.element = el("article", { class: "discovery" }, this.head(), this.middle(), this.records);
    this.showRecords(problem.records);
  }

  head() {
    const { problem, about, source, best_known: known } = this.problem;
    const title = el("div", { class: "title" }, el("h1", {}, problem), this.state, this.stop, this.again);
    const from = known !== null && source ? `. Best known: ${written(known)}, ${source}` : "";
    const words = el("p", { class: "soft" }, about, from);
    const verdict = el("div", { class: "verdict" }, this.number, this.badge);
    return el("header", { class: "run-head" }, title, words, verdict, this.bar, this.progress, this.message);
  }

  middle() {
    if (!this.problem.space.elements) return el("p", { class: "start-here" }, "This problem is too large for a board.");
    this.picture = new Board(this.problem.space);
    this.draw = new DrawPanel(this.shell, this.problem, (records) => this.showRecords(records));
    this.first = el("section", { class: "best" }, el("h3", {}, "Best"), this.picture.element);
    this.first.append(this.chart.element, this.log);
    return el("div", { class: "boards" }, this.first, this.draw.element);
  }

  close() {
    cancelAnimationFrame(this.due);
    for (const one of [this.picture, this.draw, this.chart, ...this.thumbs]) one?.close();
  }

  later() {
    this.due ||= requestAnimationFrame(() => this.show());
  }

  show() {
    this.due = 0;
    const improved = this.run?.improved ?? [];
    const best = improved.at(-1) ?? this.problem.records[0];
    this.showBest(best);
    this.showState();
    this.showLog(improved);
  }

  /** @param {any} best */
  showBest(best) {
    const known = this.problem.best_known;
    say(this.number, best ? written(best.score, 8) : "–");
    const { minimise } = this.problem;
    const words = known === null ? "no best known value" : beside(best?.score, known, minimise);
    say(this.badge, best ? words : "nothing found yet");
    this.badge.className = `badge ${best && known !== null && !better(known, best.score, minimise) ? "good" : ""}`;
    this.number.hidden = !best;
    if (this.first) this.first.hidden = !best;
    if (!this.picture || !this.draw || !best) return;
    const indices = indicesOf(this.problem.space, best.construction);
    if (indices.join() !== this.picture.chosen.join()) this.picture.show(indices);
    else this.picture.draw();
    const top = this.problem.records[0];
    this.draw.best = top && better(top.score, best.score, minimise) ? top.construction : best.construction;
    this.draw.from.disabled = false;
  }

  showState() {
    const { run } = this;
    const running = Boolean(run?.isRunning);
    say(this.state, !run ? "" : run.state ? (STATES[run.state] ?? run.state) : "not running");
    this.state.className = `state ${run?.state ?? ""}`;
    this.stop.hidden = !running;
    this.again.hidden = running || !run;
    this.bar.hidden = !running;
    const now = run?.now;
    const share = now?.limit ? Math.min(1, now.seconds / now.limit) : 0;
    /** @type {HTMLElement} */ (this.bar.firstChild).style.width = `${100 * share}%`;
    const still = [run?.end?.text, run?.folder].filter(Boolean).join(" · ");
    say(this.progress, running && now ? words(now) : still);
    const failed = run?.end?.type === "error" && !running;
    say(this.message, failed ? run?.end.message : "");
    this.message.hidden = !failed;
  }

  /** @param {any[]} improved */
  showLog(improved) {
    const known = this.problem.best_known;
    const points = improved.map(({ seconds, score }) => ({ x: seconds ?? 0, y: score }));
    const end = points.at(-1);
    this.chart.element.hidden = points.length < 2;
    if (end && points.length > 1) {
      const last = Math.max(this.run?.now?.seconds ?? 0, end.x);
      const level = known === null ? [] : [0, last].map((x) => ({ x, y: known }));
      this.chart.show([stairs([...points, { x: last, y: end.y }]), level], 0);
    }
    const row = () => el("li", {}, el("b"), el("span"), el("span", { class: "soft" }));
    each(this.log, [...improved].reverse(), row, (item, { score, seconds, origin: from }) => {
      say(item.children[0], written(score, 8));
      say(item.children[1], Number.isFinite(seconds) ? `${seconds.toFixed(1)} s` : "");
      say(item.children[2], origin(from));
    });
  }

  /** @param {any[]} records */
  showRecords(records) {
    this.problem.records = records;
    this.records.hidden = !records.length;
    for (const thumb of this.thumbs) thumb.close();
    this.thumbs = [];
    this.gallery.replaceChildren(...records.map((record) => this.card(record)));
    this.later();
  }

  /** @param {any} record */
  card(record) {
    const { space } = this.problem;
    const about = el("span", { class: "soft" }, `record ${record.record}, ${record.origin}`);
    const words = [el("b", {}, written(record.score, 8)), about];
    if (!space.elements) return el("div", { class: "card" }, ...words);
    const board = new Board(space, undefined, THUMB);
    this.thumbs.push(board);
    board.chosen = indicesOf(space, record.construction);
    const take = () => this.draw?.board.change(board.chosen);
    return el("button", { class: "card", title: "put it on the board", onclick: take }, board.element, ...words);
  }
}

const BEST = [
  { name: "best", look: "blue" },
  { name: "best known", look: "green", dashed: true },
];

/** @param {import("./chart.js").Point[]} points */
const stairs = (points) => points.flatMap((point, i) => (i ? [{ x: point.x, y: points[i - 1].y }, point] : [point]));

/** @param {any} now */
function words({ stage, generation, seconds, limit, records, loss }) {
  const left = limit ? ` of ${lasting(limit)}` : "";
  const told = [`${lasting(seconds)}${left}`, `generation ${generation}`, stage, counted(records, "record")];
  return [...told, loss === null || loss === undefined ? "" : `loss ${written(loss, 3)}`].filter(Boolean).join(" · ");
}

/** @param {any} from */
function origin(from) {
  if (!from) return "";
  const symmetry = from.symmetry && from.symmetry !== "none" ? from.symmetry : "";
  return [from.how, symmetry, from.generation ? `generation ${from.generation}` : ""].filter(Boolean).join(", ");
}
