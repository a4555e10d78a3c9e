/**
 * Surfaces: what a figure is drawn on. The same drawing code fills a canvas, and makes the SVG that is saved.
 *
 * @typedef {object} Ink
 * @property {string} [fill]
 * @property {string} [stroke]
 * @property {number} [width] of the stroke
 * @property {number} [alpha]
 * @property {number[]} [dash]
 *
 * @typedef {object} Letters
 * @property {string} fill
 * @property {number} [size]
 * @property {boolean} [bold]
 * @property {boolean} [mono]
 * @property {"start" | "middle" | "end"} [anchor]
 * @property {number} [turn] in degrees
 * @property {number} [alpha]
 *
 * @typedef {object} Surface
 * @property {(x: number, y: number, width: number, height: number, ink: Ink, round?: number) => void} rect
 * @property {(x: number, y: number, radius: number, ink: Ink) => void} circle
 * @property {(points: number[], ink: Ink) => void} polygon x, y, x, y, …
 * @property {(points: number[], ink: Ink) => void} line
 * @property {(points: number[], ink: Ink) => void} curve from a point, with two that pull, to a point: 8 numbers
 * @property {(x: number, y: number, text: string, letters: Letters) => void} text
 * @property {(x: number, y: number, width: number, height: number, dx: number, dy: number, draw: () => void) => void}
 *   window what is drawn, moved by (dx, dy), is seen only inside
 */
export const SANS = 'system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif';
export const MONO = '"DejaVu Sans Mono", Menlo, Consolas, monospace';
/** @type {number[]} */
const SOLID = []; // no dashes

/**
 * @param {CanvasRenderingContext2D} context
 * @returns {Surface}
 */
export function onCanvas(context) {
  let [font, filled, clear] = ["", "", NaN]; // as they are set: to set them again takes time
  const forget = () => ([font, filled, clear] = ["", "", NaN]);
  const filling = (/** @type {string} */ fill) => {
    if (filled !== fill) context.fillStyle = filled = fill;
  };
  const shading = (/** @type {number} */ alpha) => {
    if (clear !== alpha) context.globalAlpha = clear = alpha;
  };
  const paint = (/** @type {Ink} */ { fill, stroke, width = 1, alpha = 1, dash = SOLID }) => {
    shading(alpha);
    if (fill) {
      filling(fill);
      context.fill();
    }
    if (!stroke) return;
    context.strokeStyle = stroke;
    context.lineWidth = width;
    context.setLineDash(dash);
    context.stroke();
  };
  const trace = (/** @type {number[]} */ points) => {
    context.beginPath();
    context.moveTo(points[0], points[1]);
    for (let i = 2; i < points.length; i += 2) context.lineTo(points[i], points[i + 1]);
  };
  return {
    rect(x, y, width, height, ink, round = 0) {
      if (!round && ink.fill && !ink.stroke) {
        shading(ink.alpha ?? 1);
        filling(ink.fill);
        return context.fillRect(x, y, width, height);
      }
      context.beginPath();
      if (round) context.roundRect(x, y, width, height, round);
      else context.rect(x, y, width, height);
      return paint(ink);
    },
    circle(x, y, radius, ink) {
      context.beginPath();
      context.arc(x, y, radius, 0, 2 * Math.PI);
      paint(ink);
    },
    polygon(points, ink) {
      trace(points);
      context.closePath();
      paint(ink);
    },
    line(points, ink) {
      trace(points);
      paint(ink);
    },
    curve([x, y, ...rest], ink) {
      context.beginPath();
      context.moveTo(x, y);
      context.bezierCurveTo(rest[0], rest[1], rest[2], rest[3], rest[4], rest[5]);
      context.lineCap = "round";
      paint(ink);
      context.lineCap = "butt";
    },
    text(x, y, text, { fill, size = 12, bold, mono, anchor = "start", turn = 0, alpha = 1 }) {
      shading(alpha);
      const wanted = `${bold ? 600 : 400} ${size}px ${mono ? MONO : SANS}`;
      if (font !== wanted) context.font = font = wanted;
      filling(fill);
      context.textAlign = anchor === "middle" ? "center" : anchor;
      if (!turn) return context.fillText(text, x, y);
      context.save();
      context.translate(x, y);
      context.rotate((turn * Math.PI) / 180);
      context.fillText(text, 0, 0);
      context.restore();
    },
    window(x, y, width, height, dx, dy, draw) {
      context.save();
      context.beginPath();
      context.rect(x, y, width, height);
      context.clip();
      context.translate(dx, dy);
      forget();
      draw();
      context.restore();
      forget();
    },
  };
}

/**
 * A surface that gathers the text of an SVG.
 * @param {number} width
 * @param {number} height
 * @returns {Surface & { done(): string }}
 */
export function onSvg(width, height) {
  /** @type {string[]} */
  const parts = [];
  let windows = 0;
  const add = (/** @type {string} */ tag, /** @type {Record<string, unknown>} */ given, /** @type {Ink} */ ink) => {
    const { fill = "none", stroke, width: broad = 1, alpha = 1, dash = [] } = ink;
    const line = stroke ? { stroke, "stroke-width": short(broad), "stroke-dasharray": dash.join(" ") } : {};
    parts.push(`<${tag}${attributes({ ...given, fill, ...line, opacity: alpha < 1 ? short(alpha) : "" })}/>`);
  };
  const joined = (/** @type {number[]} */ points) => points.map(short).join(" ");
  /** @type {Surface & { done(): string }} */
  const surface = {
    rect: (x, y, w, h, ink, round = 0) =>
      add("rect", { x: short(x), y: short(y), width: short(w), height: short(h), rx: round || "" }, ink),
    circle: (x, y, radius, ink) => add("circle", { cx: short(x), cy: short(y), r: short(radius) }, ink),
    polygon: (points, ink) => add("polygon", { points: joined(points) }, ink),
    line: (points, ink) => add("polyline", { points: joined(points) }, ink),
    curve: ([x, y, ...rest], ink) =>
      add("path", { d: `M${joined([x, y])}C${joined(rest)}`, "stroke-linecap": "round" }, ink),
    text(x, y, text, { fill, size = 12, bold, mono, anchor = "start", turn = 0, alpha = 1 }) {
      const given = {
        x: short(x),
        y: short(y),
        fill,
        "font-size": size,
        "text-anchor": anchor,
        "font-weight": bold ? 600 : "",
        "font-family": mono ? MONO : SANS,
        opacity: alpha < 1 ? short(alpha) : "",
        transform: turn ? `rotate(${turn} ${short(x)} ${short(y)})` : "",
      };
      parts.push(`<text${attributes(given)}>${escaped(text)}</text>`);
    },
    window(x, y, w, h, dx, dy, draw) {
      const id = `window${windows++}`;
      const frame = attributes({ x: short(x), y: short(y), width: short(w), height: short(h) });
      parts.push(`<clipPath id="${id}"><rect${frame}/></clipPath>`);
      parts.push(`<g clip-path="url(#${id})"><g transform="translate(${short(dx)} ${short(dy)})">`);
      draw();
      parts.push("</g></g>");
    },
    done() {
      const size = attributes({ width: short(width), height: short(height), viewBox: `0 0 ${width} ${height}` });
      return `<svg xmlns="http://www.w3.org/2000/svg"${size}>\n${parts.join("\n")}\n</svg>\n`;
    },
  };
  return surface;
}

/** @param {number} x */
const short = (x) => Number(x.toFixed(2));

/** @param {Record<string, unknown>} given */
const attributes = (given) =>
  Object.entries(given)
    .filter(([, value]) => value !== "")
    .map(([name, value]) => ` ${name}="${escaped(String(value))}"`)
    .join("");

/**
 * Text as XML can hold it: tokens and names are a stranger's.
 * @param {string} text
 */
export const escaped = (text) =>
  text
    // eslint-disable-next-line no-control-regex
    .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "�")
    .replace(/[&<>"']/g, (one) => `&#${one.charCodeAt(0)};`);
