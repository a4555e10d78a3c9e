/**
 * Colours: blue above zero and orange below, through a paper grey, in OKLab, so that equal steps look equal and both
 * arms are equally light. They are told apart with every common colour vision deficiency. The ends come from the style
 * sheet, light or dark, and are read once: reading the page's style in a drawing would cost more than the drawing.
 *
 * @typedef {[number, number, number]} Lab lightness, green to red, blue to yellow
 * @typedef {object} Colours
 * @property {(x: number) => string} signed of a number from -1 to 1
 * @property {(p: number) => string} attention of a share from 0 to 1
 * @property {Record<string, string>} named ink, soft, paper, card, line, grid, blue, orange, red, green, mlp
 */
const STEPS = 64; // of an arm; more cannot be told apart
export const NAMES = "ink soft faint paper card line grid blue orange red green mlp navy zero band".split(" ");

/**
 * @param {Record<string, string>} named as #rrggbb
 * @returns {Colours}
 */
export function colours(named) {
  const [blue, orange] = equallyLight(lab(named.blue), lab(named.orange));
  const zero = lab(named.zero);
  const arms = [ramp([zero, orange]), ramp([zero, blue])];
  const looks = ramp([lab(named.paper), lab(named.blue), lab(named.navy)]);
  const at = (/** @type {string[]} */ steps, /** @type {number} */ x) =>
    steps[Math.round(Math.min(1, Math.abs(x) || 0) * STEPS)];
  return {
    signed: (x) => at(arms[x < 0 ? 0 : 1], x),
    attention: (p) => at(looks, Math.sqrt(Math.max(0, p))),
    named,
  };
}

/**
 * The colours of the page as it is now.
 * @param {Element} element
 * @returns {Colours}
 */
export function coloursOf(element) {
  const style = getComputedStyle(element);
  return colours(Object.fromEntries(NAMES.map((name) => [name, style.getPropertyValue(`--${name}`).trim()])));
}

/**
 * Two colours with the mean of their lightnesses.
 * @param {Lab} a
 * @param {Lab} b
 * @returns {[Lab, Lab]}
 */
function equallyLight([l1, a1, b1], [l2, a2, b2]) {
  const light = (l1 + l2) / 2;
  return [
    [light, a1, b1],
    [light, a2, b2],
  ];
}

/**
 * Colours on the way along some, in equal steps.
 * @param {Lab[]} stops
 * @returns {string[]}
 */
function ramp(stops) {
  return Array.from({ length: STEPS + 1 }, (_, i) => {
    const along = (i / STEPS) * (stops.length - 1);
    const first = Math.min(stops.length - 2, Math.floor(along));
    const mixed = stops[first].map((one, c) => one + (along - first) * (stops[first + 1][c] - one));
    return hex(/** @type {Lab} */ (mixed));
  });
}

/**
 * OKLab (Ottosson 2020) of a colour.
 * @param {string} colour #rrggbb
 * @returns {Lab}
 */
export function lab(colour) {
  const [r, g, b] = [1, 3, 5].map((i) => {
    const c = (parseInt(colour.slice(i, i + 2), 16) || 0) / 255;
    return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  });
  const l = Math.cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b);
  const m = Math.cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b);
  const s = Math.cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
  return [
    0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s,
    1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s,
    0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s,
  ];
}

/**
 * @param {Lab} colour
 * @returns {string}
 */
export function hex([L, a, b]) {
  const l = (L + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (L - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (L - 0.0894841775 * a - 1.291485548 * b) ** 3;
  const linear = [
    4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
    -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
    -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
  ];
  const bytes = linear.map((c) => {
    const one = c <= 0.0031308 ? 12.92 * c : 1.055 * c ** (1 / 2.4) - 0.055;
    return Math.round(255 * Math.min(1, Math.max(0, one)));
  });
  return `#${bytes.map((byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}
