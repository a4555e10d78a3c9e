/**
 * Strands: what a column of the loom is made of. A number is a thread; a token or an angle of two numbers is a point on
 * a dial; of more numbers, the name of the nearest value. Of readings that tell the same, the first is drawn.
 *
 * @typedef {import("./readings.js").Reading} Reading
 * @typedef {import("./stages.js").Stage} Stage
 * @typedef {object} Strand
 * @property {"thread" | "dial" | "word"} kind
 * @property {string} name
 * @property {Reading} reading
 * @property {number} index which number of the reading, for a thread
 * @property {boolean[]} stages where it can be read
 * @property {number} slot its place in the column, from the left, in widths of a thread
 * @property {number} width
 */
import { holds } from "./readings.js";

const WIDTH = { thread: 1, dial: 4, word: 3 };
const MOST_THREADS = 16; // more would be a barcode

/**
 * @param {Reading[]} readings
 * @param {Stage[]} stages
 * @param {boolean} ballast whether it is drawn, too
 * @returns {Strand[]}
 */
export function strandsOf(readings, stages, ballast) {
  const chosen = independent(readings, stages).filter((one) => ballast || one.kind !== "ballast");
  const strands = chosen.flatMap((reading) => strandsOfOne(reading, stages));
  return placed(strands.slice(0, MOST_THREADS));
}

/** @param {Strand[]} strands */
export const columnWidth = (strands) => Math.max(1, ...strands.map(({ slot, width }) => slot + width));

/**
 * Readings in their order, without those that follow from more important ones wherever they hold.
 * @param {Reading[]} readings
 * @param {Stage[]} stages
 */
function independent(readings, stages) {
  const spans = stages.map(() => /** @type {Float64Array[]} */ ([]));
  const chosen = new Set();
  for (const reading of [...readings].sort((a, b) => importance(a) - importance(b))) {
    const here = stages.flatMap(({ site }, s) => (holds(reading, site) ? [s] : []));
    const grown = here.map((s) => spans[s].length + extended(spans[s], reading.vectors).length);
    if (!here.some((s, i) => grown[i] > spans[s].length)) continue;
    if (reading.kind !== "ballast" && reading.vectors.length > 4 && reading.kind === "number") continue;
    chosen.add(reading);
    for (const s of here) spans[s].push(...extended(spans[s], reading.vectors));
  }
  return readings.filter((reading) => chosen.has(reading));
}

/** @param {Reading} reading */
function importance({ kind, vectors, sites, table }) {
  if (table === "W_U") return 6; // the row below says what is predicted
  if (kind === "ballast") return 0;
  if (kind === "token" && vectors.length <= 2) return 1;
  if (kind === "number") return sites.length ? 3 : 2;
  return kind === "token" ? 4 : 5;
}

/**
 * The directions that vectors add to an orthonormal basis.
 * @param {Float64Array[]} basis
 * @param {Float64Array[]} vectors
 * @returns {Float64Array[]}
 */
function extended(basis, vectors) {
  /** @type {Float64Array[]} */
  const added = [];
  for (const vector of vectors) {
    const rest = vector.slice();
    for (const one of [...basis, ...added]) {
      const along = rest.reduce((sum, x, i) => sum + x * one[i], 0);
      for (let i = 0; i < rest.length; i++) rest[i] -= along * one[i];
    }
    const [size, was] = [Math.hypot(...rest), Math.hypot(...vector)];
    if (size > 1e-6 * was) added.push(rest.map((x) => x / size));
  }
  return added;
}

/**
 * @param {Reading} reading
 * @param {Stage[]} stages
 * @returns {Strand[]}
 */
function strandsOfOne(reading, stages) {
  const where = stages.map(({ site }) => holds(reading, site));
  if (!where.some(Boolean)) return [];
  const k = reading.vectors.length;
  const whole = reading.kind === "token" || reading.kind === "angle";
  const kind = !whole || (k === 1 && !reading.points.length) ? "thread" : k === 2 ? "dial" : "word";
  if (kind === "word" && !reading.points.length) return [];
  const name = (/** @type {number} */ i) => (k > 1 && kind === "thread" ? `${reading.name} ${i + 1}` : reading.name);
  return Array.from({ length: kind === "thread" ? k : 1 }, (_, index) => ({
    kind,
    name: name(index),
    reading,
    index,
    stages: where,
    slot: 0,
    width: WIDTH[kind],
  }));
}

/**
 * Strands side by side; those that are never there together may stand at one place.
 * @param {Strand[]} strands
 * @returns {Strand[]}
 */
function placed(strands) {
  const ends = strands[0]?.stages.map(() => 0) ?? [];
  const often = (/** @type {Strand} */ { stages }) => stages.filter(Boolean).length;
  /** @type {Map<Strand, number>} */
  const slots = new Map();
  for (const strand of [...strands].sort((a, b) => often(b) - often(a))) {
    const here = strand.stages.flatMap((is, s) => (is ? [s] : []));
    const slot = Math.max(...here.map((s) => ends[s]));
    for (const s of here) ends[s] = slot + strand.width;
    slots.set(strand, slot);
  }
  return strands.map((strand) => ({ ...strand, slot: slots.get(strand) ?? 0 }));
}
