/**
 * A board to draw a construction on: click a cell, an edge, an element or a letter. What stands on it is a list of
 * indices, as Python has constructions; what is not allowed beside each other is marked.
 *
 * @typedef {import("./board_space.js").Space} Space
 * @typedef {import("./board_space.js").Layout} Layout
 * @typedef {(construction: number[]) => void} Changed
 */
import { el, say } from "../loom/dom.js";
import { drawBoard } from "./board_picture.js";
import { elementAt, layoutOf, nameOf } from "./board_space.js";
import { Look } from "./look.js";

const LARGEST = 560; // pixels of a side

export class Board {
  /**
   * @param {Space} space
   * @param {Changed} [changed] is called after each change by the user; without it nothing can be changed
   * @param {number} [largest]
   */
  constructor(space, changed, largest = LARGEST) {
    this.space = space;
    this.changed = changed;
    this.largest = largest;
    /** @type {number[]} */
    this.chosen = emptyOf(space);
    /** @type {number[][]} */
    this.offending = [];
    /** @type {number[][]} */
    this.past = [];
    this.cursor = -1;
    /** @type {number | undefined} the vertex from which an edge begins */
    this.from = undefined;
    this.words = el("p", { class: "hidden", role: "status" });
    this.canvas = el("canvas", { role: changed ? "application" : "img", "aria-label": this.label() });
    this.element = el("div", { class: "board" }, this.canvas, this.words);
    this.look = new Look(this.element, () => this.draw());
    if (changed) this.listens();
  }

  close() {
    this.look.close();
  }

  label() {
    const how = this.changed ? "; arrow keys move, space chooses" : "";
    return `a ${this.space.kind} of ${this.space.elements.length} elements${how}`;
  }

  listens() {
    const { canvas } = this;
    canvas.tabIndex = 0;
    canvas.addEventListener("pointerdown", (event) => this.press(event));
    canvas.addEventListener("pointermove", (event) => this.hover(event));
    canvas.addEventListener("pointerleave", () => this.point(-1));
    canvas.addEventListener("keydown", (event) => this.key(event));
    canvas.addEventListener("blur", () => this.point(-1));
  }

  /** The construction that is drawn. @param {number[]} construction */
  show(construction) {
    this.chosen = [...construction];
    this.draw();
  }

  /** @param {number[][]} sets indices of elements that are not allowed together */
  blame(sets) {
    this.offending = sets;
    this.draw();
  }

  /**
   * A change by the user, which can be undone.
   * @param {number[]} construction
   */
  change(construction) {
    this.past.push(this.chosen);
    this.offending = [];
    this.show(construction);
    this.changed?.(construction);
  }

  undo() {
    const before = this.past.pop();
    if (!before) return;
    this.offending = [];
    this.show(before);
    this.changed?.(before);
  }

  clear() {
    this.change(emptyOf(this.space));
  }

  /**
   * What a click on an element does: choose it or not; the next letter; another value of a row.
   * @param {number} i
   * @param {number} [by]
   */
  turn(i, by = 1) {
    const { kind, elements, length } = this.space;
    const now = [...this.chosen];
    if (kind === "word") {
      now[i] = (now[i] + by + elements.length) % elements.length;
    } else if (kind === "permutation") {
      const [row, value] = [Math.floor(i / length), i % length];
      [now[now.indexOf(value)], now[row]] = [now[row], value];
    } else if (now.includes(i)) now.splice(now.indexOf(i), 1);
    else now.push(i);
    this.change(kind === "word" || kind === "permutation" ? now : now.sort((a, b) => a - b));
    say(this.words, `${nameOf(this.space, i)} ${this.isOn(i) ? "chosen" : "not chosen"}`);
  }

  /** @param {number} i */
  isOn(i) {
    const { kind, length } = this.space;
    if (kind === "permutation") return this.chosen[Math.floor(i / length)] === i % length;
    return kind === "word" || this.chosen.includes(i);
  }

  /** @returns {Layout} */
  get layout() {
    const width = Math.max(120, Math.min(this.largest, this.element.clientWidth || this.largest));
    return layoutOf(this.space, width);
  }

  /** @param {PointerEvent} event */
  press(event) {
    const i = elementAt(this.space, this.layout, event.offsetX, event.offsetY, this.from);
    this.from = undefined;
    if (typeof i === "object") this.from = i.vertex;
    else if (i >= 0) this.turn(i, event.shiftKey ? -1 : 1);
    this.draw();
  }

  /** @param {PointerEvent} event */
  hover(event) {
    const i = elementAt(this.space, this.layout, event.offsetX, event.offsetY, this.from);
    const name = typeof i === "object" ? `vertex ${i.vertex}` : i >= 0 ? nameOf(this.space, i) : "";
    this.canvas.title = name;
    this.point(typeof i === "object" ? -1 : i);
  }

  /** @param {number} i */
  point(i) {
    if (i === this.cursor) return;
    this.cursor = i;
    this.draw();
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const { boxes } = this.layout;
    const [dx, dy] = ARROWS[event.key] ?? [0, 0];
    if (dx || dy) this.point(next(boxes, this.cursor, dx, dy));
    else if (event.key === " " || event.key === "Enter") this.turn((this.cursor = Math.max(0, this.cursor)));
    else if (event.key === "z" || event.key === "Backspace") this.undo();
    else if (this.space.kind === "word" && this.space.elements.includes(event.key)) this.letter(event.key);
    else return;
    event.preventDefault();
    const name = this.cursor < 0 ? "" : nameOf(this.space, this.cursor);
    say(this.words, `${name} ${this.cursor >= 0 && this.isOn(this.cursor) ? "chosen" : ""}`);
  }

  /** A letter typed at the cursor, which goes on. @param {string} letter */
  letter(letter) {
    const at = Math.max(0, this.cursor);
    this.change(this.chosen.map((one, i) => (i === at ? this.space.elements.indexOf(letter) : one)));
    this.point(Math.min(this.space.length - 1, at + 1));
  }

  draw() {
    if (!this.element.isConnected) return;
    drawBoard(this.canvas, this.layout, this, this.look.colours.named);
  }
}

/** @type {Record<string, [number, number]>} */
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

/** @param {Space} space */
export function emptyOf({ kind, length }) {
  if (kind === "word") return Array(length).fill(0);
  return kind === "permutation" ? [...Array(length).keys()] : [];
}

/**
 * The nearest box in a direction.
 * @param {import("./board_space.js").Box[]} boxes
 * @param {number} at
 * @param {number} dx
 * @param {number} dy
 */
function next(boxes, at, dx, dy) {
  if (at < 0) return 0;
  let [best, least] = [at, Infinity];
  boxes.forEach((box, i) => {
    const along = (box.x - boxes[at].x) * dx + (box.y - boxes[at].y) * dy;
    const aside = Math.abs((box.x - boxes[at].x) * dy) + Math.abs((box.y - boxes[at].y) * dx);
    if (along > 0.5 && along + 3 * aside < least) [best, least] = [i, along + 3 * aside];
  });
  return best;
}
