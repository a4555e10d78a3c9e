/**
 * Elements of the page. Text is always set as text: names, tokens and notes come from a model file, which is a
 * stranger's.
 *
 * @typedef {Record<string, string | number | boolean | ((event: any) => void)>} Given
 */

/**
 * An element with attributes, listeners (onclick and so on) and children.
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {Given} [given]
 * @param {...(Node | string)} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function el(tag, given = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(given)) {
    if (typeof value === "function") made.addEventListener(name.slice(2), value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false) made.setAttribute(name, String(value));
  }
  made.append(...children);
  return made;
}

/**
 * Set text only if it is another: writing to the page costs more than reading what one has written.
 * @param {Element} element
 * @param {string} text
 */
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/**
 * As many children as there are things to show; those that are there already are kept.
 * @template {HTMLElement} E
 * @template T
 * @param {Element} parent
 * @param {readonly T[]} things
 * @param {(index: number) => E} make
 * @param {(element: E, thing: T, index: number) => void} show
 */
export function each(parent, things, make, show) {
  while (parent.children.length > things.length) parent.lastElementChild?.remove();
  things.forEach((thing, i) => {
    if (i >= parent.children.length) parent.append(make(i));
    show(/** @type {E} */ (parent.children[i]), thing, i);
  });
}

/**
 * A canvas of this size in CSS pixels, cleared, with one unit per CSS pixel.
 * @param {HTMLCanvasElement} canvas
 * @param {number} width
 * @param {number} height
 * @returns {CanvasRenderingContext2D}
 */
export function fitted(canvas, width, height) {
  const ratio = Math.min(3, window.devicePixelRatio || 1);
  const [w, h] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== w || canvas.height !== h) {
    canvas.width = w;
    canvas.height = h;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
  }
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  return context;
}
