/** Pictures that Python drew: SVG shown as an image, so that nothing in it can run. */
import { el } from "../loom/dom.js";

/**
 * @param {string} svg
 * @param {string} [alt] what it shows; without, it is an ornament
 */
export function svgImage(svg, alt = "") {
  const src = URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" }));
  const image = el("img", { src, alt });
  image.addEventListener("load", () => URL.revokeObjectURL(src));
  return image;
}
