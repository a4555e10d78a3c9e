/**
 * Drawings that Python describes by their shapes, drawn again as elements of SVG: with the page's colours, their hints,
 * and a link wherever a head is named.
 *
 * @typedef {{ kind: string, part: string, hint?: string, [more: string]: any }} Shape
 * @typedef {{ title: string, width: number, height: number, shapes: Shape[] }} Drawing
 * @typedef {(text: string) => string | undefined} LinkTo where a name leads, if it leads anywhere
 */
const SVG = "http://www.w3.org/2000/svg";

/**
 * @param {Drawing} drawing
 * @param {LinkTo} linkTo
 * @returns {SVGElement}
 */
export function drawn({ title, width, height, shapes }, linkTo) {
  const given = { width, height, viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": title || "Picture" };
  return shape("svg", given, ...shapes.map((one) => linked(one, linkTo)));
}

/**
 * @param {Shape} one
 * @param {LinkTo} linkTo
 */
function linked(one, linkTo) {
  const made = element(one);
  made.setAttribute("class", one.part);
  if (one.hint) made.append(shape("title", {}, one.hint));
  const to = one.kind === "label" ? linkTo(one.text) : one.hint ? linkTo(one.hint) : undefined;
  return to === undefined ? made : shape("a", { href: to, class: "head" }, made);
}

/** @param {Shape} one */
function element(one) {
  if (one.kind === "disc") return shape("circle", { cx: one.x, cy: one.y, r: one.r });
  if (one.kind === "rect") {
    const { x, y, width, height, opacity } = one;
    return shape("rect", { x, y, width, height, "fill-opacity": opacity });
  }
  if (one.kind === "segment") {
    return shape("line", { x1: one.x, y1: one.y, x2: one.to_x, y2: one.to_y, "stroke-width": one.width });
  }
  if (one.kind === "polyline") {
    return shape("polyline", { points: one.points.join(" "), fill: "none", "stroke-width": one.width });
  }
  const { x, y, size, anchor, text } = one;
  const transform = `rotate(${one.upwards ? -90 : 0} ${x} ${y})`;
  return shape("text", { x, y, dy: ".36em", "font-size": size, "text-anchor": anchor, transform }, text);
}

/**
 * @param {string} tag
 * @param {Record<string, string | number>} given
 * @param {...(Node | string)} children
 */
function shape(tag, given, ...children) {
  const made = /** @type {SVGElement} */ (document.createElementNS(SVG, tag));
  for (const [name, value] of Object.entries(given)) made.setAttribute(name, String(value));
  made.append(...children);
  return made;
}
