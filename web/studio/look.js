/**
 * What a drawing has to know of its place on the page: the colours, light or dark, which are read once, and when it has
 * to be drawn again.
 *
 * @typedef {import("../loom/colour.js").Colours} Colours
 */
import { coloursOf } from "../loom/colour.js";

export class Look {
  /**
   * @param {HTMLElement} element
   * @param {() => void} redraw after another size or other colours
   */
  constructor(element, redraw) {
    this.element = element;
    /** @type {Colours | undefined} */
    this.read = undefined;
    this.dark = matchMedia("(prefers-color-scheme: dark)");
    this.changed = () => {
      this.read = undefined;
      redraw();
    };
    this.dark.addEventListener("change", this.changed);
    this.sizes = new ResizeObserver(redraw);
    this.sizes.observe(element);
  }

  /** @returns {Colours} of an element that is on the page */
  get colours() {
    this.read ??= coloursOf(this.element);
    return this.read;
  }

  close() {
    this.dark.removeEventListener("change", this.changed);
    this.sizes.disconnect();
  }
}
