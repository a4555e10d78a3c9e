/**
 * Readings: what stands in the residual stream, by the `readings` in a model's notes. The products of the stream with a
 * reading's vectors are its numbers; its points are the numbers that are there for each of its values. As in
 * `read/readings.py`, the value is that of the nearest point, after what was written loudly is shortened to the longest
 * point. Notes may be damaged or a stranger's: a reading that does not fit the model is left out.
 *
 * @typedef {import("../engine/model.js").Model} Model
 * @typedef {"number" | "angle" | "token" | "ballast"} Kind
 * @typedef {object} Reading
 * @property {string} name
 * @property {Kind} kind
 * @property {Float64Array[]} vectors k of (D,)
 * @property {Float64Array[]} points n of (k,); none if n is 0
 * @property {string[]} values the names of the points
 * @property {string[]} sites where it can be read; everywhere if there are none
 * @property {"" | "W_E" | "W_pos" | "W_U"} table which the points come from
 */
import { tokenName } from "./words.js";

const KINDS = ["number", "angle", "token", "ballast"];
const NOTHING = 1e-3; // a vector as much shorter than all points is none of them
const MOST_POINTS = 2000;

/**
 * @param {Model} model
 * @returns {Reading[]}
 */
export function readingsOf(model) {
  const notes = model.notes?.readings;
  if (!notes || typeof notes !== "object") return [];
  return Object.entries(notes).flatMap(([name, note]) => readingOf(model, name, note) ?? []);
}

/**
 * @param {Model} model
 * @param {string} name
 * @param {any} note
 * @returns {Reading | undefined}
 */
function readingOf(model, name, note) {
  const D = model.config.d_model;
  const vectors = rows(note?.vectors, D);
  if (!vectors?.length || !KINDS.includes(note.kind)) return undefined;
  const given = note.points ?? (note.kind === "token" ? "W_E" : []);
  const table = ["W_E", "W_pos", "W_U"].includes(given) ? given : "";
  const points = table ? tablePoints(model, table, vectors) : rows(given, vectors.length);
  if (!points || points.length > MOST_POINTS) return undefined;
  const usual = table && table !== "W_pos" ? model.vocab.tokens.map(tokenName) : points.map((_, i) => `${i}`);
  const values = Array.isArray(note.values) && note.values.length === points.length ? note.values.map(String) : usual;
  const sites = Array.isArray(note.sites) ? note.sites.map(String) : [];
  return { name, kind: note.kind, vectors, points, values, sites, table };
}

/**
 * Rows of n numbers; undefined if they are something else.
 * @param {any} given
 * @param {number} n
 * @returns {Float64Array[] | undefined}
 */
function rows(given, n) {
  if (!Array.isArray(given)) return undefined;
  const fits = (/** @type {any} */ row) => Array.isArray(row) && row.length === n && row.every(Number.isFinite);
  return given.every(fits) ? given.map((row) => Float64Array.from(row)) : undefined;
}

/**
 * The numbers of every row of a table, or column of the unembedding.
 * @param {Model} model
 * @param {string} table
 * @param {Float64Array[]} vectors
 * @returns {Float64Array[] | undefined}
 */
function tablePoints({ params, config }, table, vectors) {
  const columns = table === "W_U" && !config.tied;
  const source = params[table === "W_U" && config.tied ? "W_E" : table];
  if (!source) return undefined;
  const [n, D] = columns ? [source.shape[1], source.shape[0]] : source.shape;
  if (n > MOST_POINTS) return undefined;
  const at = (/** @type {number} */ i, /** @type {number} */ d) => source.data[columns ? d * n + i : i * D + d];
  return Array.from({ length: n }, (_, i) =>
    Float64Array.from(vectors, (vector) => vector.reduce((sum, one, d) => sum + one * at(i, d), 0)),
  );
}

/**
 * The numbers of a reading in row t of the stream.
 * @param {Reading} reading
 * @param {Float64Array} stream (T · D)
 * @param {number} t
 * @returns {number[]}
 */
export function numbers({ vectors }, stream, t) {
  const D = vectors[0].length;
  return vectors.map((vector) => {
    let sum = 0;
    for (let d = 0; d < D; d++) sum += vector[d] * stream[t * D + d];
    return sum;
  });
}

/**
 * Whether the reading can be read at a site.
 * @param {Reading} reading
 * @param {string} site
 */
export const holds = ({ sites }, site) => !sites.length || sites.includes(site);

/**
 * The point that the numbers are nearest to; -1 if nothing is there.
 * @param {Reading} reading
 * @param {number[]} found
 */
export function nearest({ points, table }, found) {
  if (!points.length) return -1;
  if (table === "W_U") return least(points, (point) => -dot(point, found));
  const { shortest, longest } = extent(points);
  const length = Math.hypot(...found);
  if (length < NOTHING * shortest) return -1;
  const shorter = Math.min(1, longest / Math.max(length, 1e-300));
  const near = found.map((one) => one * shorter);
  return least(points, (point) => {
    let sum = 0;
    for (let i = 0; i < near.length; i++) sum += (near[i] - point[i]) ** 2;
    return sum;
  });
}

/** @type {WeakMap<Float64Array[], { shortest: number, longest: number }>} */
const extents = new WeakMap();

/**
 * The lengths of the shortest and the longest point.
 * @param {Float64Array[]} points
 */
export function extent(points) {
  let found = extents.get(points);
  if (!found) {
    const lengths = points.map((point) => Math.hypot(...point));
    found = { shortest: Math.min(...lengths), longest: Math.max(0, ...lengths) };
    extents.set(points, found);
  }
  return found;
}

/** @type {WeakMap<Float64Array, Int32Array>} */
const known = new WeakMap();

/**
 * The same for position t of what a strand holds at a stage; found once, for a picture is drawn more often.
 * @param {Reading} reading
 * @param {Float64Array} values (T · k)
 * @param {number} t
 * @returns {number}
 */
export function nearestIn(reading, values, t) {
  const k = reading.vectors.length;
  let found = known.get(values);
  if (!found) {
    found = new Int32Array(values.length / k).fill(-2);
    known.set(values, found);
  }
  if (found[t] === -2) found[t] = nearest(reading, Array.from(values.subarray(t * k, (t + 1) * k)));
  return found[t];
}

/**
 * The names of the values that stand there: several tokens may have one point.
 * @param {Reading} reading
 * @param {number[]} found
 * @returns {string}
 */
export const valueName = (reading, found) => nameOf(reading, nearest(reading, found));

/** @type {WeakMap<Float64Array, string>} */
const named = new WeakMap();

/**
 * The name of a point, and of those that are the same.
 * @param {Reading} reading
 * @param {number} best
 * @returns {string}
 */
export function nameOf({ points, values }, best) {
  if (best < 0) return points.length ? "nothing" : "";
  const point = points[best];
  let name = named.get(point);
  if (name === undefined) {
    const size = Math.hypot(...point) || 1;
    const same = values.filter((_, i) => points[i].every((one, d) => Math.abs(one - point[d]) <= 1e-9 * size));
    name = same.length > 3 ? `${same.slice(0, 2).join(" or ")} or ${same.length - 2} others` : same.join(" or ");
    named.set(point, name);
  }
  return name;
}

/**
 * @param {Float64Array[]} points
 * @param {(point: Float64Array) => number} cost
 */
function least(points, cost) {
  let [best, lowest] = [-1, Infinity];
  points.forEach((point, i) => {
    const one = cost(point);
    if (one < lowest) [best, lowest] = [i, one];
  });
  return best;
}

/**
 * @param {ArrayLike<number>} a
 * @param {ArrayLike<number>} b
 */
function dot(a, b) {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i] * b[i];
  return sum;
}
