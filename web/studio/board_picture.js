/**
 * The picture of a board. What is chosen is a disc, a chord or a filled box; what offends is red, with a cross.
 *
 * @typedef {import("./board_space.js").Space} Space
 * @typedef {import("./board_space.js").Layout} Layout
 * @typedef {import("./board_space.js").Box} Box
 * @typedef {Record<string, string>} Named
 *
 * @typedef {object} View
 * @property {Space} space
 * @property {number[]} chosen
 * @property {number[][]} offending
 * @property {number} cursor
 * @property {number | undefined} from
 * @property {(i: number) => boolean} isOn
 */
import { fitted } from "../loom/dom.js";
import { MONO, SANS } from "../loom/surface.js";
import { shown } from "./board_space.js";

const NAMED = 16; // pixels of a box with a name

/**
 * @param {HTMLCanvasElement} canvas
 * @param {Layout} layout
 * @param {View} view
 * @param {Named} named
 */
export function drawBoard(canvas, layout, view, named) {
  const context = fitted(canvas, layout.width, layout.height);
  context.textBaseline = "middle";
  context.textAlign = "center";
  const bad = new Set(view.offending.flat());
  if (view.space.kind === "graph") graph(context, layout, view, named, bad);
  else if (layout.frames.length) cells(context, layout, view, named, bad);
  else boxes(context, layout, view, named, bad);
  if (view.cursor >= 0 && view.space.kind !== "graph") {
    const { x, y, width, height } = layout.boxes[view.cursor];
    context.strokeStyle = named.ink;
    context.lineWidth = 1.5;
    context.strokeRect(x + 1, y + 1, width - 2, height - 2);
  }
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {Layout} layout
 * @param {View} view
 * @param {Named} named
 * @param {Set<number>} bad
 */
function cells(context, { frames, boxes: places }, { space, chosen, offending }, named, bad) {
  const cell = places[0]?.width ?? 1;
  for (const frame of frames) net(context, frame, cell, named);
  const centre = (/** @type {number} */ i) => ({ x: places[i].x + cell / 2, y: places[i].y + cell / 2 });
  for (const set of offending) polygon(context, set.map(centre), named.red);
  const on = space.kind === "permutation" ? chosen.map((value, row) => row * space.length + value) : chosen;
  const radius = Math.max(1.2, cell * (cell > 14 ? 0.34 : 0.42));
  for (const i of on) {
    const { x, y } = centre(i);
    context.fillStyle = bad.has(i) ? named.red : named.blue;
    context.beginPath();
    context.arc(x, y, radius, 0, 2 * Math.PI);
    context.fill();
    if (bad.has(i)) cross(context, x, y, Math.max(2, radius * 0.5), named.paper);
  }
}

/**
 * The thin lines of a grid and its frame.
 * @param {CanvasRenderingContext2D} context
 * @param {Box} frame
 * @param {number} cell
 * @param {Named} named
 */
function net(context, { x, y, width, height }, cell, named) {
  context.fillStyle = named.card;
  context.fillRect(x, y, width, height);
  context.strokeStyle = named.line;
  context.lineWidth = cell > 8 ? 1 : 0.5;
  context.beginPath();
  for (let at = x + cell; at < x + width - 0.5; at += cell) lineTo(context, at, y, at, y + height);
  for (let at = y + cell; at < y + height - 0.5; at += cell) lineTo(context, x, at, x + width, at);
  context.stroke();
  context.strokeStyle = named.faint;
  context.lineWidth = 1;
  context.strokeRect(x, y, width, height);
}

/**
 * Boxes of a list, filled where chosen, and of a word, each in the shade of its letter.
 * @param {CanvasRenderingContext2D} context
 * @param {Layout} layout
 * @param {View} view
 * @param {Named} named
 * @param {Set<number>} bad
 */
function boxes(context, { boxes: places }, { space, chosen }, named, bad) {
  const there = new Set(chosen);
  const most = Math.max(1, space.elements.length - 1);
  context.font = `13px ${space.kind === "word" ? MONO : SANS}`;
  places.forEach(({ x, y, width, height }, i) => {
    const share = space.kind === "word" ? 0.1 + 0.9 * (chosen[i] / most) : there.has(i) ? 1 : 0;
    context.fillStyle = named.card;
    context.fillRect(x, y, width, height);
    context.globalAlpha = share;
    context.fillStyle = bad.has(i) ? named.red : named.blue;
    context.fillRect(x, y, width, height);
    context.globalAlpha = 1;
    context.strokeStyle = bad.has(i) ? named.red : named.line;
    context.lineWidth = 1;
    context.strokeRect(x + 0.5, y + 0.5, width - 1, height - 1);
    if (bad.has(i)) cross(context, x + width - 7, y + 7, 3, named.paper);
    if (width < NAMED) return;
    context.fillStyle = share > 0.5 ? named.paper : named.ink;
    const text = shown(space.kind === "word" ? space.elements[chosen[i]] : space.elements[i]);
    context.fillText(text, x + width / 2, y + height / 2 + 1);
  });
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {Layout} layout
 * @param {View} view
 * @param {Named} named
 * @param {Set<number>} bad
 */
function graph(context, { vertices, boxes: middles, width }, { space, chosen, from, cursor }, named, bad) {
  const edge = (/** @type {number} */ i, /** @type {string} */ colour, /** @type {number} */ thick) => {
    const [u, v] = space.elements[i];
    context.strokeStyle = colour;
    context.lineWidth = thick;
    context.beginPath();
    lineTo(context, vertices[u].x, vertices[u].y, vertices[v].x, vertices[v].y);
    context.stroke();
  };
  const thick = Math.max(0.6, Math.min(2, 100 / Math.max(1, chosen.length)));
  for (const i of chosen) if (!bad.has(i)) edge(i, named.blue, thick);
  for (const i of bad) {
    edge(i, named.red, 3);
    cross(context, middles[i].x, middles[i].y, 4, named.red);
  }
  if (cursor >= 0) {
    context.setLineDash([4, 4]);
    edge(cursor, named.ink, 1.5);
    context.setLineDash([]);
  }
  const dot = Math.max(2, Math.min(7, (1.2 * width) / vertices.length / 4));
  context.font = `11px ${SANS}`;
  vertices.forEach(({ x, y }, v) => {
    context.fillStyle = v === from ? named.orange : named.paper;
    context.strokeStyle = named.soft;
    context.lineWidth = 1.3;
    context.beginPath();
    context.arc(x, y, v === from ? dot + 2 : dot, 0, 2 * Math.PI);
    context.fill();
    context.stroke();
    if (vertices.length > 64) return;
    const [dx, dy] = [x - width / 2, y - width / 2].map((far) => far / (width / 2 - 24));
    context.fillStyle = named.soft;
    context.fillText(String(v), x + 14 * dx, y + 14 * dy);
  });
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {{ x: number, y: number }[]} corners
 * @param {string} colour
 */
function polygon(context, corners, colour) {
  context.strokeStyle = context.fillStyle = colour;
  context.lineWidth = 1.5;
  context.setLineDash([5, 3]);
  context.beginPath();
  for (const { x, y } of corners) context.lineTo(x, y);
  context.closePath();
  context.stroke();
  context.globalAlpha = 0.08;
  context.fill();
  context.globalAlpha = 1;
  context.setLineDash([]);
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {number} x
 * @param {number} y
 * @param {number} size
 * @param {string} colour
 */
function cross(context, x, y, size, colour) {
  context.strokeStyle = colour;
  context.lineWidth = Math.max(1.2, size / 3);
  context.beginPath();
  lineTo(context, x - size, y - size, x + size, y + size);
  lineTo(context, x + size, y - size, x - size, y + size);
  context.stroke();
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {number} x
 * @param {number} y
 * @param {number} toX
 * @param {number} toY
 */
function lineTo(context, x, y, toX, toY) {
  context.moveTo(x, y);
  context.lineTo(toX, toY);
}
