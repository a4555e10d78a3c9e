/**
 * Threads: each number of the stream runs down its column, swells where it is written and changes colour with its sign.
 * One that is 0 is a hairline. What an edit has changed has the contour of what was there before.
 *
 * @typedef {import("./scene.js").Scene} Scene
 * @typedef {import("./surface.js").Surface} Surface
 * @typedef {{ y: number, end: number, from: number, to: number, was: number }} Piece a part of a thread
 */
import { drawDial } from "./dial.js";
import { middle } from "./layout.js";
import { nameOf, nearestIn } from "./readings.js";
import { onScale } from "./scale.js";

const SLICES = 6; // at most, of a part that swells
const BEFORE = 16; // how far above a row its change begins
const AFTER = 4; // and how far below it ends

/**
 * @param {Surface} surface
 * @param {Scene} scene
 */
export function drawThreads(surface, scene) {
  const { position } = scene.state; // drawn last: its names lie over what is beside it
  const columns = [...scene.columns].sort((a, b) => Number(a === position) - Number(b === position));
  for (const t of columns) {
    scene.strands.forEach((strand, j) => {
      if (strand.kind === "thread") drawThread(surface, scene, t, j);
      else drawWhole(surface, scene, t, j);
    });
  }
}

/**
 * Where a strand runs in a column.
 * @param {Scene} scene
 * @param {number} t
 * @param {number} j
 */
export function strandX({ layout, strands, units, state }, t, j) {
  const unit = t === state.position ? layout.bigUnit : layout.unit;
  const { slot, width } = strands[j];
  return middle(layout, t) + (slot + width / 2 - units / 2) * unit;
}

/**
 * @param {Surface} surface
 * @param {Scene} scene
 * @param {number} t
 * @param {number} j
 */
function drawThread(surface, scene, t, j) {
  const x = strandX(scene, t, j);
  const unit = t === scene.state.position ? scene.layout.bigUnit : scene.layout.unit;
  const broadest = Math.min(t === scene.state.position ? 13 : 9, 0.86 * unit);
  const broad = (/** @type {number} */ v) => (Math.abs(v) < 1e-4 ? 0.8 : 1.2 + (broadest - 1.2) * Math.abs(v) ** 0.7);
  for (const piece of piecesOf(scene, t, j)) {
    const { y, end, from, to, was } = piece;
    if (from === to) {
      const w = broad(from);
      surface.rect(x - w / 2, y, w, end - y, { fill: scene.colours.signed(from) });
    } else swelling(surface, scene, x, piece, broad);
    if (Math.abs(was - to) > 1e-6 && Math.abs(broad(was) - broad(to)) > 0.5)
      contour(surface, scene, x, y, end, broad(was));
  }
}

/**
 * @param {Surface} surface
 * @param {Scene} scene
 * @param {number} x
 * @param {Piece} piece
 * @param {(v: number) => number} broad
 */
function swelling(surface, { colours }, x, { y, end, from, to }, broad) {
  const slices = Math.min(SLICES, 2 + Math.ceil(Math.max(8 * Math.abs(to - from), Math.abs(broad(to) - broad(from)))));
  const at = (/** @type {number} */ i) => from + (to - from) * smooth(i / slices);
  for (let i = 0; i < slices; i++) {
    const [a, b] = [broad(at(i)) / 2, broad(at(i + 1)) / 2];
    const top = y + ((end - y) * i) / slices;
    const bottom = y + ((end - y) * (i + 1)) / slices + (i < slices - 1 ? 1 : 0); // no seams
    surface.polygon([x - a, top, x + a, top, x + b, bottom, x - b, bottom], { fill: colours.signed(at(i + 0.5)) });
  }
}

/** @param {number} u from 0 to 1 */
const smooth = (u) => u * u * (3 - 2 * u);

/**
 * The outline of what was there before.
 * @param {Surface} surface
 * @param {Scene} scene
 * @param {number} x
 * @param {number} y
 * @param {number} end
 * @param {number} w
 */
function contour(surface, { colours }, x, y, end, w) {
  const ink = { stroke: colours.named.ink, width: 1, dash: [2, 3], alpha: 0.5 };
  surface.line([x - w / 2 - 1, y, x - w / 2 - 1, end], ink);
  surface.line([x + w / 2 + 1, y, x + w / 2 + 1, end], ink);
}

/**
 * A thread's parts from top to bottom: those between rows, of one width, and those at a row that changes it.
 * @param {Scene} scene
 * @param {number} t
 * @param {number} j
 * @returns {Piece[]}
 */
function piecesOf({ stages, strands, values, base, scales, layout }, t, j) {
  const { ys, last } = layout;
  const on = (/** @type {Float64Array[][]} */ all, /** @type {number} */ s) => onScale(all[j][s]?.[t] ?? 0, scales[j]);
  /** @type {Piece[]} */
  const pieces = [];
  let open = -1; // where a part of one width began
  stages.forEach((_, s) => {
    if (!strands[j].stages[s]) return (open = -1);
    const [from, to] = [strands[j].stages[s - 1] ? on(values, s - 1) : 0, on(values, s)];
    const was = on(base, s);
    if (open < 0 && s === 0) open = ys[0] - 14;
    else if (open < 0 || Math.abs(from - to) > 1e-9 || Math.abs(was - to) > 1e-6) {
      pieces.push({ y: ys[s] - BEFORE, end: ys[s] + AFTER, from, to, was: to });
      open = ys[s] + AFTER;
    }
    const next = s + 1 < stages.length ? ys[s + 1] - BEFORE : last - 18;
    const before = pieces.at(-1);
    const joins = before && before.from === before.to && before.to === to && before.end === open && before.was === was;
    if (joins) before.end = next;
    else pieces.push({ y: open, end: next, from: to, to, was });
    open = next;
    return open;
  });
  return pieces;
}

/**
 * A token or an angle at every row: a point on a dial, or the name of the nearest value.
 * @param {Surface} surface
 * @param {Scene} scene
 * @param {number} t
 * @param {number} j
 */
function drawWhole(surface, scene, t, j) {
  const { strands, values, base, layout, stages, colours, state } = scene;
  const strand = strands[j];
  const [x, big] = [strandX(scene, t, j), t === state.position];
  const k = strand.reading.vectors.length;
  const rows = stages.flatMap((_, s) => (strand.stages[s] ? [s] : []));
  const radius = big ? layout.bigDial : layout.dial;
  surface.line([x, layout.ys[rows[0]], x, layout.ys[rows[rows.length - 1]]], { stroke: colours.named.line });
  for (const s of rows) {
    const at = (/** @type {Float64Array[][]} */ all) => Array.from(all[j][s]?.subarray(t * k, (t + 1) * k) ?? []);
    const [now, was] = [at(values), at(base)];
    const y = layout.ys[s];
    if (strand.kind === "dial")
      drawDial(surface, scene, {
        x,
        y,
        radius,
        reading: strand.reading,
        now,
        was,
        best: nearestIn(strand.reading, values[j][s], t),
        big,
      });
    else {
      const name = nameOf(strand.reading, nearestIn(strand.reading, values[j][s], t));
      surface.rect(x - 14, y - 9, 28, 18, { fill: colours.named.paper }, 4);
      const fill = name === "nothing" ? colours.named.faint : colours.named.ink;
      surface.text(x, y + 4, name === "nothing" ? "·" : name.slice(0, 5), {
        fill,
        size: 11,
        mono: true,
        anchor: "middle",
        bold: big,
      });
    }
  }
}

/**
 * The names of the threads, slanted above the selected column.
 * @param {Surface} surface
 * @param {Scene} scene
 */
export function drawNames(surface, scene) {
  const { strands, layout, colours, state } = scene;
  if (!layout.names) return;
  strands.forEach((strand, j) => {
    if (strands.length < 2 || !strand.stages[state.stage]) return; // another may stand at its place here
    const x = strandX(scene, state.position, j);
    const anchor = strand.reading.kind === "ballast" ? "⚓ " : "";
    const y = layout.ys[0] - (layout.dial ? layout.bigDial + 20 : 20);
    const fill = colours.named.ink;
    surface.text(x + 3, y, `${anchor}${strand.name}`.slice(0, 16), { fill, size: 11, turn: -52 });
  });
}
