/**
 * The film of all heads: what each attends to on one input, frame by frame, while the model learns. One picture per
 * head, one row per layer, and the head that is chosen large, with the tokens at its edges.
 *
 * @typedef {object} Frame
 * @property {number} step
 * @property {string[]} tokens
 * @property {number} layers
 * @property {number} heads
 * @property {number} size of a pattern: T × T
 * @property {Uint8Array} data (layers, heads, T, T), 255 for all of the attention
 */
import { each, el, say } from "../loom/dom.js";
import { drawPattern, patternCell } from "../loom/pattern.js";
import { tokenName } from "../loom/words.js";
import { Look } from "./look.js";
import { written } from "./ticks.js";

const PAUSE = 160; // ms a frame when it plays
const LARGE = 400; // pixels of the chosen head

export class Film {
  constructor() {
    /** @type {Frame[]} */
    this.frames = [];
    this.at = 0;
    this.follows = true; // shows the newest
    this.head = [0, 0]; // layer and head that is large
    this.timer = 0;
    /** @type {Uint32Array | undefined} */
    this.shades = undefined;
    this.play = el("button", { class: "chip", onclick: () => this.toggle() }, "play");
    const range = { type: "range", min: 0, max: 0, value: 0, "aria-label": "frame" };
    this.scrub = el("input", { ...range, oninput: () => this.go() });
    this.step = el("output", { class: "soft" });
    this.grid = el("div", { class: "heads" });
    this.name = el("strong");
    this.value = el("span", { class: "soft" });
    this.large = el("canvas", { role: "img" });
    this.large.addEventListener("pointermove", (event) => this.tell(event));
    this.large.addEventListener("pointerleave", () => say(this.value, ""));
    const one = el("div", { class: "large-head" }, el("p", {}, this.name, " ", this.value), this.large);
    const controls = el("div", { class: "controls" }, this.play, this.scrub, this.step);
    const about = el("p", { class: "soft" }, "Row: the position that looks. Column: where it looks, on one input.");
    this.element = el("section", { class: "film" }, el("h3", {}, "Heads"), about, controls);
    this.element.append(el("div", { class: "pictures" }, this.grid, one));
    this.look = new Look(this.grid, () => {
      this.shades = undefined;
      this.draw();
    });
  }

  close() {
    clearInterval(this.timer);
    this.look.close();
  }

  /** @param {Frame[]} frames in the order of their steps */
  show(frames) {
    this.element.hidden = !frames.length;
    const step = this.frames[this.at]?.step;
    this.frames = frames;
    if (!frames.length) return;
    const same = frames.findIndex((one) => one.step === step);
    this.at = this.follows || same < 0 ? frames.length - 1 : same;
    this.scrub.max = String(frames.length - 1);
    this.draw();
  }

  toggle() {
    if (this.timer) return this.stop();
    if (this.at >= this.frames.length - 1) this.at = 0;
    this.follows = false;
    this.timer = window.setInterval(() => {
      if (this.at >= this.frames.length - 1) this.stop();
      else this.at += 1;
      this.draw();
    }, PAUSE);
    say(this.play, "pause");
    return this.draw();
  }

  stop() {
    clearInterval(this.timer);
    this.timer = 0;
    this.follows = this.at >= this.frames.length - 1;
    say(this.play, "play");
  }

  /** Go to the frame of the scrubber. */
  go() {
    if (this.timer) this.stop();
    this.at = Number(this.scrub.value);
    this.follows = this.at >= this.frames.length - 1;
    this.draw();
  }

  draw() {
    const frame = this.frames[this.at];
    if (!frame || !this.element.isConnected) return;
    this.scrub.value = String(this.at);
    say(this.step, `step ${written(frame.step)}`);
    const { layers, heads } = frame;
    const names = Array.from({ length: layers * heads }, (_, i) => [Math.floor(i / heads), i % heads]);
    this.grid.style.setProperty("--heads", String(heads));
    const show = (/** @type {HTMLButtonElement} */ button, /** @type {number[]} */ name, /** @type {number} */ i) =>
      this.drawSmall(button, name, i, frame);
    each(this.grid, names, (i) => this.small(i), show);
    this.drawLarge(frame);
  }

  /** @param {number} i */
  small(i) {
    const choose = () => {
      const frame = this.frames[this.at];
      this.head = [Math.floor(i / frame.heads), i % frame.heads];
      this.draw();
    };
    return el("button", { class: "head", onclick: choose }, el("canvas"), el("span"));
  }

  /**
   * @param {HTMLButtonElement} button
   * @param {number[]} name
   * @param {number} i
   * @param {Frame} frame
   */
  drawSmall(button, name, i, { size, data }) {
    const canvas = /** @type {HTMLCanvasElement} */ (button.firstChild);
    if (canvas.width !== size || canvas.height !== size) canvas.width = canvas.height = size;
    const shades = (this.shades ??= shadesOf(this.look.colours.attention));
    const pixels = new ImageData(size, size);
    const words = new Uint32Array(pixels.data.buffer);
    const from = i * size * size;
    for (let k = 0; k < words.length; k++) words[k] = shades[data[from + k]];
    /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d")).putImageData(pixels, 0, 0);
    say(/** @type {Element} */ (button.lastChild), name.join("."));
    button.setAttribute("aria-label", `head ${name.join(".")}`);
    button.setAttribute("aria-pressed", String(name.join() === this.head.join()));
  }

  /** @param {Frame} frame */
  drawLarge(frame) {
    const { heads, layers } = frame;
    this.head = [Math.min(this.head[0], layers - 1), Math.min(this.head[1], heads - 1)];
    say(this.name, `Head ${this.head.join(".")}`);
    this.large.setAttribute("aria-label", `what head ${this.head.join(".")} attends to at step ${frame.step}`);
    drawPattern(this.large, this.view(frame));
  }

  /** @param {Frame} frame */
  view({ heads, size, data, tokens }) {
    const from = (this.head[0] * heads + this.head[1]) * size * size;
    const pattern = Float64Array.from(data.subarray(from, from + size * size), (byte) => byte / 255);
    const room = Math.min(LARGE, this.element.clientWidth || LARGE);
    const causal = pattern.every((share, i) => i % size <= Math.floor(i / size) || share === 0);
    const rest = { head: 0, position: -99, causal, isOut: () => false };
    const named = { tokens: tokens.map(tokenName), colours: this.look.colours };
    return { ...rest, ...named, room, pattern: { shape: [1, size, size], data: pattern } };
  }

  /** @param {PointerEvent} event */
  tell(event) {
    const frame = this.frames[this.at];
    const view = this.view(frame);
    const cell = patternCell(view, event.offsetX, event.offsetY);
    if (!cell) return say(this.value, "");
    const share = view.pattern.data[cell.to * frame.size + cell.from];
    const place = (/** @type {number} */ t) => `${t} “${view.tokens[t]}”`;
    return say(this.value, `${place(cell.to)} looks at ${place(cell.from)}: ${Math.round(100 * share)} %`);
  }
}

/**
 * The colour of each byte, as a canvas has it.
 * @param {(share: number) => string} attention
 */
function shadesOf(attention) {
  return Uint32Array.from({ length: 256 }, (_, byte) => {
    const colour = attention(byte / 255);
    const [r, g, b] = [1, 3, 5].map((i) => parseInt(colour.slice(i, i + 2), 16));
    return ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;
  });
}
