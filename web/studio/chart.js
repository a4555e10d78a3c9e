/**
 * A chart of values over the steps of a run, on a canvas: lines, a crosshair with the values at a step, and a linear or
 * logarithmic scale.
 *
 * @typedef {{ x: number, y: number }} Point
 *
 * @typedef {object} Series
 * @property {string} name
 * @property {string} look a named colour of the page
 * @property {boolean} [dots] marks each value: there are few
 * @property {boolean} [dashed]
 *
 * @typedef {object} Form
 * @property {string} title
 * @property {Series[]} series
 * @property {(value: number) => string} show a value in words
 * @property {[number, number]} [range] of values, if it is always the same
 * @property {boolean} [linear] is never drawn on a logarithmic scale
 * @property {string} [over] what x counts
 * @property {number} [height]
 */
import { el, fitted, say } from "../loom/dom.js";
import { SANS } from "../loom/surface.js";
import { Look } from "./look.js";
import { logTicks, ticks, written } from "./ticks.js";

const [LEFT, RIGHT, TOP, BOTTOM] = [52, 14, 10, 26];
const SMALL = `11px ${SANS}`;

export class Chart {
  /** @param {Form} form */
  constructor(form) {
    this.form = form;
    this.logarithmic = false;
    /** @type {Point[][]} */
    this.points = form.series.map(() => []);
    this.most = 0; // the last step that the run is meant to have
    /** @type {number[]} */
    this.joints = []; // steps at which it was resumed
    /** @type {number | undefined} */
    this.at = undefined; // the step under the pointer
    this.canvas = el("canvas", { role: "img", tabindex: 0, "aria-label": form.title });
    this.values = form.series.map(() => el("b"));
    this.scale = el("button", { class: "chip", "aria-pressed": "false", onclick: () => this.turn() }, "log");
    this.scale.hidden = Boolean(form.range ?? form.linear);
    this.title = el("strong", {}, form.title);
    const legend = form.series.map(({ name, look, dashed }, i) =>
      el("span", { class: `key ${look}${dashed ? " dashed" : ""}` }, el("i"), `${name} `, this.values[i]),
    );
    const head = el("figcaption", {}, this.title, ...legend, this.scale);
    this.element = el("figure", { class: "chart" }, head, this.canvas);
    this.canvas.addEventListener("pointermove", (event) => this.point(this.stepAt(event.offsetX)));
    this.canvas.addEventListener("pointerleave", () => this.point(undefined));
    this.canvas.addEventListener("keydown", (event) => this.key(event));
    this.look = new Look(this.element, () => this.draw());
  }

  close() {
    this.look.close();
  }

  get named() {
    return this.look.colours.named;
  }

  /**
   * @param {Point[][]} points of each series, in the order of x
   * @param {number} most
   * @param {number[]} [joints]
   */
  show(points, most, joints = []) {
    this.points = points.map((some) => some.filter(({ y }) => Number.isFinite(y)));
    this.most = most;
    this.joints = joints;
    this.draw();
  }

  turn() {
    this.logarithmic = !this.logarithmic;
    this.scale.setAttribute("aria-pressed", String(this.logarithmic));
    this.draw();
  }

  /** @param {number | undefined} step */
  point(step) {
    this.at = step;
    this.draw();
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const way = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!way) return;
    event.preventDefault();
    const steps = [...new Set(this.points.flat().map(({ x }) => x))].sort((a, b) => a - b);
    const now = this.at === undefined ? (way > 0 ? -1 : steps.length) : steps.findIndex((x) => x >= Number(this.at));
    this.point(steps[Math.min(steps.length - 1, Math.max(0, now + way))]);
  }

  /** The range of x and of y that is drawn. */
  ranges() {
    const all = this.points.flat();
    const low = Math.min(0, ...all.map(({ x }) => x));
    const across = /** @type {[number, number]} */ ([low, Math.max(this.most, low + 1, ...all.map(({ x }) => x))]);
    if (this.form.range) return { across, up: this.form.range };
    const values = all.map(({ y }) => y).filter((y) => !this.isLog() || y > 0);
    if (!values.length) return { across, up: /** @type {[number, number]} */ ([0, 1]) };
    const [least, largest] = [Math.min(...values), Math.max(...values)];
    if (this.isLog()) return { across, up: /** @type {[number, number]} */ ([least / 1.15, largest * 1.15]) };
    const room = (largest - least || Math.abs(largest) || 1) * 0.08;
    const bottom = least >= 0 && least < 0.35 * largest ? 0 : least - room;
    return { across, up: /** @type {[number, number]} */ ([bottom, largest + room]) };
  }

  isLog() {
    return this.logarithmic && this.points.flat().some(({ y }) => y > 0);
  }

  /** Functions from a step and a value to their place. */
  places() {
    const { across, up } = this.ranges();
    const [width, height] = [this.width - LEFT - RIGHT, this.height - TOP - BOTTOM];
    const level = this.isLog() ? Math.log : (/** @type {number} */ y) => y;
    const [bottom, top] = up.map(level);
    const x = (/** @type {number} */ step) => LEFT + (width * (step - across[0])) / (across[1] - across[0]);
    const y = (/** @type {number} */ v) => TOP + height * (1 - (level(v) - bottom) / (top - bottom));
    return { across, up, x, y };
  }

  get width() {
    return Math.max(180, this.element.clientWidth);
  }

  get height() {
    return this.form.height ?? 210;
  }

  /** @param {number} left in pixels */
  stepAt(left) {
    const { across } = this.ranges();
    return across[0] + ((across[1] - across[0]) * (left - LEFT)) / (this.width - LEFT - RIGHT);
  }

  draw() {
    if (!this.element.isConnected) return;
    const context = fitted(this.canvas, this.width, this.height);
    const places = this.places();
    this.axes(context, places);
    context.save();
    context.beginPath();
    context.rect(LEFT - 4, TOP - 4, this.width - LEFT - RIGHT + 8, this.height - TOP - BOTTOM + 8);
    context.clip();
    this.form.series.forEach((series, i) => this.line(context, series, this.points[i], places));
    context.restore();
    this.tell(context, places);
  }

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {ReturnType<Chart["places"]>} places
   */
  axes(context, { across, up, x, y }) {
    const { line, soft, faint } = this.named;
    context.font = SMALL;
    context.fillStyle = soft;
    context.lineWidth = 1;
    context.textAlign = "right";
    const whole = !this.form.range && this.points.flat().every((point) => Number.isInteger(point.y));
    for (const value of this.isLog() ? logTicks(...up) : ticks(...up, 4, whole)) {
      context.strokeStyle = line;
      stroke(context, [LEFT, Math.round(y(value)) + 0.5], [this.width - RIGHT, Math.round(y(value)) + 0.5]);
      context.fillText(this.form.range ? this.form.show(value) : written(value, 3), LEFT - 7, y(value) + 4);
    }
    context.textAlign = "center";
    for (const step of ticks(...across, Math.max(2, Math.floor(this.width / 110)), true)) {
      context.fillText(written(step), Math.min(this.width - 20, x(step)), this.height - 8);
    }
    context.strokeStyle = faint;
    context.setLineDash([2, 4]);
    for (const step of this.joints) stroke(context, [x(step), TOP], [x(step), this.height - BOTTOM]);
    context.setLineDash([]);
  }

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {Series} series
   * @param {Point[]} points
   * @param {ReturnType<Chart["places"]>} places
   */
  line(context, { look, dots, dashed }, points, { x, y }) {
    const seen = points.filter((point) => !this.isLog() || point.y > 0);
    context.strokeStyle = context.fillStyle = this.named[look];
    context.lineWidth = dots ? 1.9 : 1.3;
    context.lineJoin = "round";
    context.setLineDash(dashed ? [5, 4] : []);
    context.beginPath();
    for (const point of seen) context.lineTo(x(point.x), y(point.y));
    context.stroke();
    context.setLineDash([]);
    const shown = dots && seen.length <= 80 ? seen : seen.slice(-1);
    for (const point of shown) disc(context, x(point.x), y(point.y), shown.length > 1 ? 2.3 : 3);
  }

  /**
   * The crosshair, and the values there; without one, the last values.
   * @param {CanvasRenderingContext2D} context
   * @param {ReturnType<Chart["places"]>} places
   */
  tell(context, { x, y }) {
    const { at } = this;
    const found = this.points.map((some) => (at === undefined ? some.at(-1) : nearest(some, at)));
    const step = at === undefined ? undefined : nearest(found.filter(isThere), at)?.x;
    if (step !== undefined) {
      context.strokeStyle = this.named.soft;
      context.lineWidth = 1;
      stroke(context, [x(step), TOP], [x(step), this.height - BOTTOM]);
      context.fillStyle = this.named.ink;
      for (const point of found.filter(isThere)) disc(context, x(point.x), y(point.y), 3);
    }
    const words = found.map((point) => (point ? this.form.show(point.y) : "–"));
    words.forEach((word, i) => say(this.values[i], word));
    const { title, over = "step" } = this.form;
    say(this.title, step === undefined ? title : `${title} at ${over} ${written(step)}`);
    const told = this.form.series.map(({ name }, i) => `${name} ${words[i]}`);
    this.canvas.setAttribute("aria-label", `${this.form.title}: ${told.join(", ")}`);
  }
}

/**
 * @param {Point | undefined} point
 * @returns {point is Point}
 */
const isThere = (point) => point !== undefined;

/**
 * The point that is nearest to a step.
 * @param {Point[]} points
 * @param {number} step
 */
function nearest(points, step) {
  let [low, high] = [0, points.length - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (points[middle].x < step) low = middle + 1;
    else high = middle;
  }
  const [before, after] = [points[low - 1], points[low]];
  return before && after && step - before.x < after.x - step ? before : (after ?? before);
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {[number, number]} from
 * @param {[number, number]} to
 */
function stroke(context, from, to) {
  context.beginPath();
  context.moveTo(...from);
  context.lineTo(...to);
  context.stroke();
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {number} x
 * @param {number} y
 * @param {number} radius
 */
function disc(context, x, y, radius) {
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
  context.fill();
}
