/**
 * A matrix of weights as numbers to drag, to type and to step with the arrow keys. What has been changed is bold, and
 * its number before stands in its title. A large one is a picture: a click takes one number of it to be changed.
 *
 * @typedef {import("../engine/tensor.js").Tensor} Tensor
 * @typedef {object} MatrixView
 * @property {string} what the name of the array, such as layers.2.W_V
 * @property {number[]} fixed the first indices, such as the head
 * @property {string[]} rows
 * @property {string[]} columns
 * @property {Tensor} now
 * @property {Tensor} was
 * @property {import("./colour.js").Colours} colours
 *
 * @typedef {(what: string, at: number[], value: number, continues: boolean) => void} Change
 */
import { each, el, fitted, say } from "./dom.js";
import { place } from "./edits.js";
import { number } from "./words.js";

const MOST_CELLS = 240; // as numbers side by side
const MOST_COLUMNS = 14;
const FINE = 0.01; // of its size a number changes with each pixel or key

export class Matrix {
  /**
   * @param {Change} change
   */
  constructor(change) {
    this.change = change;
    this.title = el("summary", { class: "name" });
    this.table = el("table", { class: "matrix" });
    this.picture = el("canvas", { class: "large", onclick: (event) => this.pick(event) });
    this.one = el("div", { class: "one" });
    this.element = el(
      "details",
      { open: true, ontoggle: () => this.view && this.show(this.view) },
      this.title,
      el("div", { class: "scroll" }, this.table, this.picture),
      this.one,
    );
    /** @type {MatrixView | undefined} */
    this.view = undefined;
    this.picked = [0, 0];
    this.key = "";
  }

  /** @param {MatrixView} view */
  show(view) {
    this.view = view;
    const { what, fixed, rows, columns } = view;
    const small = rows.length * columns.length <= MOST_CELLS && columns.length <= MOST_COLUMNS;
    const key = `${what}[${fixed}] ${rows.length} ${columns.length}`;
    if (key !== this.key) {
      this.key = key;
      this.picked = [0, 0];
      this.element.open = small;
    }
    say(this.title, fixed.length ? `${what}[${fixed}]` : what);
    if (!this.element.open) return;
    this.table.hidden = !small;
    this.picture.hidden = small;
    if (small) this.showTable(view);
    else this.showPicture(view);
    each(
      this.one,
      small ? [] : [this.picked],
      () => this.row(),
      (row, at) => this.showOne(row, at),
    );
  }

  /** @param {MatrixView} view */
  showTable(view) {
    const { rows, columns } = view;
    const largest = sizeOf(view);
    each(
      this.table,
      [-1, ...rows.keys()],
      () => el("tr"),
      (tr, i) => {
        each(
          tr,
          [-1, ...columns.keys()],
          (j) => (j === 0 ? el(i < 0 ? "td" : "th") : i < 0 ? el("th") : el("td", {}, this.input())),
          (cell, j) => {
            if (i < 0 || j < 0) say(cell, i < 0 ? (columns[j] ?? "") : rows[i]);
            else this.showNumber(/** @type {HTMLInputElement} */ (cell.firstElementChild), [i, j], largest);
          },
        );
      },
    );
  }

  /**
   * @param {HTMLInputElement} input
   * @param {number[]} at row and column
   * @param {number} largest
   */
  showNumber(input, at, largest) {
    const { what, fixed, rows, columns, now, was, colours } = /** @type {MatrixView} */ (this.view);
    const index = [...fixed, ...at.slice(at.length - (now.shape.length - fixed.length))];
    const i = place(now.shape, index);
    const [value, before] = [now.data[i], was.data[i]];
    input.dataset.at = String(index);
    if (document.activeElement !== input || input.dataset.drag) input.value = value === 0 ? "·" : number(value);
    else if (Number(input.value) !== value && input.dataset.step) input.value = String(value);
    const share = value === 0 ? 0 : Math.sign(value) * (0.25 + 0.75 * symlog(value, largest));
    input.style.borderBottomColor = value === 0 ? "transparent" : colours.signed(share);
    input.classList.toggle("changed", value !== before);
    input.title = value === before ? `${value}` : `${value}, was ${before}`;
    input.setAttribute("aria-label", `${what}, ${rows[at[0]]}, ${columns[at[1]]}`);
  }

  input() {
    const input = el("input", { type: "text", inputmode: "decimal", autocomplete: "off", spellcheck: "false" });
    input.addEventListener("change", () => this.typed(input));
    input.addEventListener("focus", () => (input.value = String(this.value(input))));
    input.addEventListener("blur", () => {
      delete input.dataset.step;
      if (this.view) this.show(this.view);
    });
    input.addEventListener("keydown", (event) => this.stepped(input, event));
    input.addEventListener("pointerdown", (event) => this.grasped(input, event));
    return input;
  }

  /** @param {HTMLInputElement} input */
  typed(input) {
    const value = Number(input.value.replaceAll("−", "-").replaceAll(",", "."));
    if (input.value.trim() && Number.isFinite(value)) this.put(input, value, false);
    else if (this.view) this.show(this.view);
  }

  /**
   * @param {HTMLInputElement} input
   * @param {KeyboardEvent} event
   */
  stepped(input, event) {
    const up = { ArrowUp: 1, ArrowDown: -1 }[event.key];
    if (event.key === "Enter") return input.blur();
    if (event.key === "Escape" && this.view) {
      input.value = String(this.value(input));
      return input.blur();
    }
    if (!up) return;
    event.preventDefault();
    const value = this.value(input);
    const next = rounded(value + up * (event.shiftKey ? 10 : 1) * FINE * this.unit(value));
    input.dataset.step = "1";
    this.put(input, next, event.repeat);
  }

  /**
   * A drag to the right makes the number larger, to the left smaller.
   * @param {HTMLInputElement} input
   * @param {PointerEvent} down
   */
  grasped(input, down) {
    const value = this.value(input);
    const unit = FINE * this.unit(value);
    let moved = false;
    const move = (/** @type {PointerEvent} */ event) => {
      const far = event.clientX - down.clientX;
      if (!moved && Math.abs(far) < 3) return;
      event.preventDefault();
      input.dataset.drag = "1";
      this.put(input, rounded(value + far * unit * (event.shiftKey ? 0.1 : 1)), moved);
      moved = true;
    };
    const up = () => {
      delete input.dataset.drag;
      input.removeEventListener("pointermove", move);
      if (moved) input.blur();
    };
    input.setPointerCapture(down.pointerId);
    input.addEventListener("pointermove", move);
    input.addEventListener("pointerup", up, { once: true });
    input.addEventListener("pointercancel", up, { once: true });
  }

  /**
   * @param {HTMLInputElement} input
   * @param {number} value
   * @param {boolean} continues
   */
  put(input, value, continues) {
    const at = (input.dataset.at ?? "").split(",").map(Number);
    if (this.view && value !== this.value(input)) this.change(this.view.what, at, value, continues);
  }

  /** @param {HTMLInputElement} input */
  value(input) {
    const { now } = /** @type {MatrixView} */ (this.view);
    return now.data[place(now.shape, (input.dataset.at ?? "").split(",").map(Number))];
  }

  /**
   * What a number is changed in parts of: its size, or, at 0, a tenth of the largest.
   * @param {number} value
   */
  unit(value) {
    return Math.abs(value) || sizeOf(/** @type {MatrixView} */ (this.view)) / 10;
  }

  /** @param {MatrixView} view */
  showPicture(view) {
    const { rows, columns, now, fixed, colours } = view;
    const [n, m] = [rows.length, columns.length];
    const size = Math.max(2, Math.min(8, Math.floor(330 / m)));
    const context = fitted(this.picture, m * size, Math.min(n, 400) * size);
    const [first, largest] = [
      place(now.shape, [...fixed, ...Array(now.shape.length - fixed.length).fill(0)]),
      sizeOf(view),
    ];
    for (let i = 0; i < Math.min(n, 400); i++) {
      for (let j = 0; j < m; j++) {
        const value = now.data[first + i * m + j];
        context.fillStyle =
          value === 0 ? colours.named.paper : colours.signed(Math.sign(value) * symlog(value, largest));
        context.fillRect(j * size, i * size, size, size);
      }
    }
    context.strokeStyle = colours.named.ink;
    context.strokeRect(this.picked[1] * size, this.picked[0] * size, size, size);
  }

  /** @param {MouseEvent} event */
  pick(event) {
    if (!this.view) return;
    const { rows, columns } = this.view;
    const size = Math.max(2, Math.min(8, Math.floor(330 / columns.length)));
    this.picked = [
      Math.min(rows.length - 1, Math.floor(event.offsetY / size)),
      Math.min(columns.length - 1, Math.floor(event.offsetX / size)),
    ];
    this.show(this.view);
  }

  row() {
    return el("label", {}, el("span"), this.input());
  }

  /**
   * @param {HTMLElement} row
   * @param {number[]} at
   */
  showOne(row, at) {
    if (!this.view) return;
    const { rows, columns } = this.view;
    say(row.children[0], `${rows[at[0]]}, ${columns[at[1]]}`);
    this.showNumber(/** @type {HTMLInputElement} */ (row.children[1]), at, sizeOf(this.view));
  }
}

/**
 * The largest size of a number in the array as it was.
 * @param {MatrixView} view
 */
function sizeOf({ was }) {
  let most = 0;
  for (const one of was.data) most = Math.max(most, Math.abs(one));
  return most || 1;
}

/**
 * From 0 to 1, by the logarithm: one model may have 0.001 and 70,000.
 * @param {number} value
 * @param {number} largest
 */
const symlog = (value, largest) => Math.min(1, Math.log1p((1e3 * Math.abs(value)) / largest) / Math.log1p(1e3));

/** @param {number} x */
const rounded = (x) => Number(x.toPrecision(5));
