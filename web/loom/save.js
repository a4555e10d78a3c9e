/**
 * Saving the figure, whole, as SVG or PNG: drawn by the code that draws it on the page.
 *
 * @typedef {import("./loom_view.js").LoomView} LoomView
 */
import { el } from "./dom.js";
import { drawFigure } from "./figure.js";
import { onCanvas, onSvg } from "./surface.js";

const SHARP = 2; // pixels of a PNG to a pixel of the figure
const LARGEST = 8000; // pixels that a canvas surely holds

/**
 * @param {LoomView} view
 * @returns {string} the figure as SVG
 */
export function svgOf(view) {
  const scene = view.scene();
  if (!scene) return "";
  const { width, height } = scene.layout;
  const surface = onSvg(width, height);
  drawFigure(surface, scene, { x: 0, y: 0, width, height });
  return surface.done();
}

/**
 * @param {LoomView} view
 * @param {(file: Blob | null) => void} done
 */
export function pngOf(view, done) {
  const scene = view.scene();
  if (!scene) return;
  const { width, height } = scene.layout;
  const sharp = Math.min(SHARP, LARGEST / Math.max(width, height));
  const canvas = el("canvas", { width: Math.round(width * sharp), height: Math.round(height * sharp) });
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  context.scale(sharp, sharp);
  drawFigure(onCanvas(context), scene, { x: 0, y: 0, width, height });
  canvas.toBlob(done);
}

/**
 * @param {Blob} file
 * @param {string} name
 */
export function download(file, name) {
  const address = URL.createObjectURL(file);
  const link = el("a", { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
