/**
 * Dials: a token or an angle as a point in a plane, among the points that it may be. A long vector stands at the rim:
 * written loudly, it means the same.
 *
 * @typedef {import("./scene.js").Scene} Scene
 * @typedef {import("./surface.js").Surface} Surface
 * @typedef {import("./readings.js").Reading} Reading
 *
 * @typedef {object} Dial
 * @property {number} x
 * @property {number} y
 * @property {number} radius
 * @property {Reading} reading
 * @property {number[]} now two numbers
 * @property {number[]} was
 * @property {number} best the point that is there, -1 if none is
 * @property {boolean} big whether it is in the selected column, with names around
 */
import { extent } from "./readings.js";

const MOST_NAMES = 26; // that can be read around a dial
const MOST_DOTS = 80;
const SIGNS = { space: "␣", newline: "↵", tab: "⇥" };

/**
 * @param {Surface} surface
 * @param {Scene} scene
 * @param {Dial} dial
 */
export function drawDial(surface, { colours }, dial) {
  const { x, y, radius, reading, now, was, best, big } = dial;
  const { ink, paper, faint, grid, blue, soft, card } = colours.named;
  const size = extent(reading.points).longest || Math.hypot(...now) || 1;
  const at = (/** @type {ArrayLike<number>} */ point, /** @type {number} */ far = radius) => {
    const shorter = far / Math.max(size, Math.hypot(point[0], point[1]));
    return [x + point[0] * shorter, y - point[1] * shorter];
  };
  surface.circle(x, y, radius, { fill: big ? paper : card, stroke: grid });
  if (reading.points.length <= MOST_DOTS) {
    for (const point of reading.points) surface.circle(...pair(at(point)), big ? 1.6 : 1, { fill: faint });
  }
  const named = big && reading.points.length <= MOST_NAMES && radius > 17;
  if (named) names(surface, dial, at, best, { soft, ink });
  const nothing = reading.points.length > 0 && best < 0;
  if (Math.hypot(...was.map((one, i) => one - now[i])) > 1e-6 * size) {
    surface.line([x, y, ...at(was)], { stroke: ink, dash: [2, 2], alpha: 0.6 });
  }
  if (!nothing) surface.line([x, y, ...at(now)], { stroke: blue, width: big ? 2.4 : 1.6 });
  surface.circle(...pair(nothing ? [x, y] : at(now)), big ? 4 : 2.8, { fill: nothing ? soft : blue });
  if (!named && best >= 0 && radius > 9) {
    const near = at(now)[1] < y ? y + 0.62 * radius : y - 0.28 * radius; // on the side that the hand leaves free
    surface.text(x, near, sign(reading.values[best], 4), {
      fill: ink,
      size: Math.min(12, 0.62 * radius),
      mono: true,
      anchor: "middle",
    });
  }
}

/**
 * The names of the points, around the dial; that of the point which is there is bold.
 * @param {Surface} surface
 * @param {Dial} dial
 * @param {(point: ArrayLike<number>, far?: number) => number[]} at
 * @param {number} best
 * @param {{ soft: string, ink: string }} inks
 */
function names(surface, { x, radius, reading }, at, best, { soft, ink }) {
  const far = radius + 10;
  /** @type {number[][]} */
  const taken = best < 0 ? [] : [at(reading.points[best], far)];
  reading.points.forEach((point, i) => {
    const [px, py] = at(point, far);
    const bold = i === best;
    if (Math.hypot(...point) < 1e-9) return;
    if (!bold && taken.some(([a, b]) => Math.hypot(a - px, b - py) < 12)) return; // no room for it
    taken.push([px, py]);
    const side = (px - x) / far;
    const anchor = side > 0.4 ? "start" : side < -0.4 ? "end" : "middle";
    const out = anchor === "middle" ? 0 : 3 * Math.sign(side) * -1;
    surface.text(px + out, py + 3.5, sign(reading.values[i], 4), {
      fill: bold ? ink : soft,
      size: bold ? 12.5 : 9.5,
      bold,
      anchor,
    });
  });
}

/**
 * The name of a point where there is little room: a space is one sign.
 * @param {string} name
 * @param {number} most characters
 */
export const sign = (name, most) => SIGNS[/** @type {keyof typeof SIGNS} */ (name)] ?? name.slice(0, most);

/**
 * @param {number[]} numbers
 * @returns {[number, number]}
 */
const pair = ([a, b]) => [a, b];
