/**
 * The part of the panel about the stream at the selected position and stage: each direction on its own scale with a
 * tick for what was there before this stage, what further readings tell, and what would be predicted from here.
 *
 * @typedef {import("./desk.js").Desk} Desk
 * @typedef {import("./scene.js").Facts} Facts
 * @typedef {import("./readings.js").Reading} Reading
 * @typedef {object} Row
 * @property {string} name
 * @property {number} now
 * @property {number} before this stage
 * @property {number} usual without edits
 * @property {number} scale
 * @property {string} words
 * @property {boolean} ballast
 */
import { each, el, say } from "./dom.js";
import { lens, probabilities, rowOf } from "./lens.js";
import { holds, numbers, valueName } from "./readings.js";
import { onScale } from "./scale.js";
import { number, percent } from "./words.js";

const MOST = 5; // predictions
const NEAR = 1e-4; // of its scale: as good as 0
const ROUNDING = 1e-7; // of its scale that a direction may differ and be the same

export class StreamPanel {
  /** @param {Desk} desk */
  constructor(desk) {
    this.desk = desk;
    this.title = el("h3");
    this.rows = el("div", { class: "rows" });
    this.ballast = el("div", { class: "rows" });
    this.folded = el("details", { class: "ballast" }, el("summary", {}, "⚓ ballast"), this.ballast);
    this.told = el("dl", { class: "told" });
    this.key = el("p", { class: "soft" });
    this.next = el("div", { class: "rows" });
    this.nextTitle = el("h3");
    this.element = el(
      "section",
      {},
      this.title,
      this.told,
      this.rows,
      this.folded,
      this.key,
      this.nextTitle,
      this.next,
    );
  }

  /** @param {Facts} facts */
  show(facts) {
    const rows = rowsOf(this.desk, facts);
    const has = rows.length > 0;
    say(this.title, "The stream here, direction by direction");
    this.title.hidden = this.key.hidden = !has;
    say(this.key, "Bar: now, on the direction’s own scale. Tick: before this stage. Bold: changed by your edits.");
    const make = () =>
      el("div", { class: "bar-row" }, el("span"), el("i", { class: "bar both" }, el("i"), el("u")), el("b"));
    const show = (/** @type {HTMLElement} */ row, /** @type {Row} */ one) => this.bar(row, one);
    each(
      this.rows,
      rows.filter(({ ballast }) => !ballast),
      make,
      show,
    );
    const ballast = rows.filter((row) => row.ballast);
    each(this.ballast, ballast, make, show);
    this.folded.hidden = !ballast.length;
    this.tell(facts);
    this.predict(facts);
  }

  /**
   * @param {HTMLElement} row
   * @param {Row} one
   */
  bar(row, { name, now, before, usual, scale, words }) {
    const [label, bar, value] = /** @type {HTMLElement[]} */ ([...row.children]);
    const [fill, tick] = /** @type {HTMLElement[]} */ ([...bar.children]);
    const [x, was] = [onScale(now, scale), onScale(before, scale)];
    say(label, name);
    const left = x < 0 ? 50 + 50 * x : 50;
    fill.style.cssText = `left:${left}%;width:${50 * Math.abs(x)}%;background:${this.desk.colours.signed(x)}`;
    tick.style.left = `${50 + 50 * was}%`;
    const near = now !== 0 && Math.abs(now) < NEAR * scale ? "≈ 0" : number(now);
    say(value, words && words !== near ? `${near} → ${words}` : near);
    const changed = Math.abs(now - usual) > ROUNDING * scale;
    value.classList.toggle("changed", changed);
    const without = changed ? `; without edits ${usual}` : "";
    value.title = `${now}; before this stage ${before}; scale ±${number(scale)}${without}`;
  }

  /**
   * What readings tell in words.
   * @param {Facts} facts
   */
  tell({ solution, before, strands }) {
    const { desk } = this;
    const { site } = desk.stage;
    const [stream, usual] = [solution.values.get(site), before.values.get(site)];
    const drawn = new Set(strands.filter(({ kind }) => kind === "thread").map(({ reading }) => reading));
    const told = desk.study.readings.filter((one) => one.kind !== "ballast" && holds(one, site) && !drawn.has(one));
    const lines = stream && usual ? told.flatMap((one) => line(one, stream, usual, desk.state.position)) : [];
    const make = () => el("div", {}, el("dt"), el("dd"));
    each(this.told, lines, make, (row, { name, words, was }) => {
      say(row.children[0], name);
      say(row.children[1], was === words ? words : `${words} (was ${was})`);
      row.children[1].classList.toggle("changed", was !== words);
    });
    this.told.hidden = !lines.length;
  }

  /**
   * The tokens that the stream would predict if it ended here.
   * @param {Facts} facts
   */
  predict({ model, solution }) {
    const { desk } = this;
    const { stages } = desk.study;
    const stream = solution.values.get(desk.stage.site);
    if (!stream) return;
    const last = desk.state.stage === stages.length - 1;
    say(this.nextTitle, last ? "What it predicts" : "What it would predict from here (logit lens)");
    const logits = lens(model, rowOf(stream, desk.state.position)).data;
    const p = probabilities(logits);
    const best = Array.from(logits.keys())
      .sort((a, b) => logits[b] - logits[a])
      .slice(0, MOST);
    const make = () =>
      el("div", { class: "bar-row" }, el("span", { class: "token" }), el("i", { class: "bar" }, el("i")), el("b"));
    each(this.next, best, make, (row, token) => {
      const [label, bar, value] = /** @type {HTMLElement[]} */ ([...row.children]);
      say(label, desk.name(token));
      /** @type {HTMLElement} */ (bar.firstElementChild).style.cssText =
        `left:0;width:${100 * p[token]}%;background:${desk.colours.named.blue}`;
      say(value, `${percent(p[token])} · ${number(logits[token])}`);
      value.title = `probability ${p[token]}, logit ${logits[token]}`;
    });
  }
}

/**
 * The numbers of all readings that are numbers, here.
 * @param {Desk} desk
 * @param {Facts} facts
 * @returns {Row[]}
 */
function rowsOf(desk, { solution, before }) {
  const { stages, readings } = desk.study;
  const { position, stage } = desk.state;
  const { site } = stages[stage];
  const shown = readings.filter(
    (one) => (one.kind === "number" || one.kind === "ballast") && holds(one, site) && one.vectors.length <= 4,
  );
  return shown.flatMap((reading) => {
    const at = (/** @type {import("./compute.js").Solution} */ run, /** @type {number} */ s) => {
      const stream = run.values.get(stages[s]?.site ?? "");
      return stream ? numbers(reading, stream.data, position) : reading.vectors.map(() => 0);
    };
    const [now, earlier, usual] = [at(solution, stage), at(solution, stage - 1), at(before, stage)];
    const scale = largest(reading, before, stages);
    const words = reading.points.length && now.length === 1 ? valueName(reading, now) : "";
    return now.map((one, i) => ({
      name: now.length > 1 ? `${reading.name} ${i + 1}` : reading.name,
      now: one,
      before: earlier[i],
      usual: usual[i],
      scale: scale[i],
      words,
      ballast: reading.kind === "ballast",
    }));
  });
}

/** @type {WeakMap<import("./compute.js").Solution, Map<Reading, number[]>>} */
const scales = new WeakMap();

/**
 * The largest size of each number of a reading in a run.
 * @param {Reading} reading
 * @param {import("./compute.js").Solution} run
 * @param {import("./stages.js").Stage[]} stages
 */
function largest(reading, run, stages) {
  const known = scales.get(run) ?? new Map();
  scales.set(run, known);
  const kept = known.get(reading);
  if (kept) return kept;
  const most = reading.vectors.map(() => 1e-9);
  for (const { site } of stages) {
    const stream = run.values.get(site);
    if (!stream || !holds(reading, site)) continue;
    for (let t = 0; t < run.ids.length; t++) {
      numbers(reading, stream.data, t).forEach((one, i) => (most[i] = Math.max(most[i], Math.abs(one))));
    }
  }
  known.set(reading, most);
  return most;
}

/**
 * @param {Reading} reading
 * @param {import("../engine/tensor.js").Tensor} stream
 * @param {import("../engine/tensor.js").Tensor} usual
 * @param {number} t
 */
function line(reading, stream, usual, t) {
  if (reading.kind === "number") return []; // it has a bar
  const [now, was] = [numbers(reading, stream.data, t), numbers(reading, usual.data, t)];
  const say = (/** @type {number[]} */ found) => {
    if (reading.points.length) return valueName(reading, found);
    if (reading.kind !== "angle" || found.length !== 2) return found.map((one) => number(one, 3)).join(", ");
    return `${number((Math.atan2(found[1], found[0]) * 180) / Math.PI, 3)}°`;
  };
  return [{ name: reading.name, words: say(now), was: say(was) }];
}
