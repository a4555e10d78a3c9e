/**
 * A head's pattern as a picture: row = position that looks, column = position that it looks at. The row of the selected
 * position is framed. A click takes a look out, or puts it back.
 *
 * @typedef {import("../engine/tensor.js").Tensor} Tensor
 * @typedef {import("./colour.js").Colours} Colours
 * @typedef {object} PatternView
 * @property {Tensor} pattern (H, T, S)
 * @property {number} head
 * @property {number} position
 * @property {string[]} tokens
 * @property {Colours} colours
 * @property {boolean} causal
 * @property {number} room in pixels
 * @property {(to: number, from: number) => boolean} isOut
 */
import { sign } from "./dial.js";
import { fitted } from "./dom.js";
import { MONO } from "./surface.js";

const EDGE = 22; // for tokens of one or two characters, at the left and the top
const LETTER = 6.7; // pixels
const MOST_LETTERS = 6;
const NAMED = 8; // pixels of a cell from which on tokens stand beside it

/**
 * A token as it stands beside the picture. A number that is cut off would be another number, so what is too long ends
 * in dots.
 * @param {string} token
 */
export function label(token) {
  const short = sign(token, token.length);
  return short.length > MOST_LETTERS ? `${short.slice(0, MOST_LETTERS - 1)}…` : short;
}

/**
 * How long the longest of them is, in pixels.
 * @param {string[]} tokens
 */
const longest = (tokens) => tokens.reduce((most, token) => Math.max(most, 9 + LETTER * label(token).length), EDGE);

/**
 * @param {PatternView} view
 */
const cellSize = ({ pattern, room, tokens }) =>
  Math.max(2, Math.min(17, (room - longest(tokens)) / pattern.shape[2]));

/**
 * The room for tokens, if the cells are large enough to have any.
 * @param {PatternView} view
 */
const edgeOf = (view) => (cellSize(view) >= NAMED ? longest(view.tokens) : 2);

/**
 * @param {HTMLCanvasElement} canvas
 * @param {PatternView} view
 */
export function drawPattern(canvas, view) {
  const { pattern, head, position, colours, causal, isOut } = view;
  const [, T, S] = pattern.shape;
  const size = cellSize(view);
  const edge = edgeOf(view);
  const context = fitted(canvas, edge + S * size + 2, edge + T * size + 2);
  const gap = size > 6 ? 1 : 0;
  let last = "";
  for (let to = 0; to < T; to++) {
    const until = causal ? to + 1 : S;
    for (let from = 0, began = 0; from < until; from++) {
      const colour = shade(colours, pattern.data[(head * T + to) * S + from]);
      const next = gap || from + 1 === until ? "" : shade(colours, pattern.data[(head * T + to) * S + from + 1]);
      if (colour !== next) {
        if (colour !== last) context.fillStyle = last = colour;
        context.fillRect(edge + began * size, edge + to * size, (from + 1 - began) * size - gap, size - gap);
        began = from + 1;
      }
    }
    for (let from = 0; from < until; from++) {
      if (isOut(to, from)) cross(context, edge + from * size, edge + to * size, size, colours.named.ink);
    }
  }
  context.strokeStyle = colours.named.blue;
  context.lineWidth = 1.5;
  context.strokeRect(edge - 1, edge + position * size - 1, S * size + 1, size + 1);
  if (size >= NAMED) letters(context, view, size, edge);
}

/**
 * @param {Colours} colours
 * @param {number} p
 */
function shade(colours, p) {
  if (p < 0) return colours.signed(p);
  return p < 0.004 ? colours.named.line : colours.attention(Math.min(1, p));
}

/**
 * The tokens at the left and at the top, where those that are longer than a cell is wide are turned.
 * @param {CanvasRenderingContext2D} context
 * @param {PatternView} view
 * @param {number} size
 * @param {number} edge
 */
function letters(context, { tokens, colours, position }, size, edge) {
  tokens.forEach((token, t) => {
    context.fillStyle = t === position ? colours.named.ink : colours.named.soft;
    context.font = `${t === position ? 600 : 400} ${Math.min(11, size)}px ${MONO}`;
    const short = label(token);
    context.textAlign = "right";
    context.fillText(short, edge - 6, edge + (t + 0.78) * size);
    context.save();
    context.translate(edge + (t + 0.5) * size, edge - 6);
    if (short.length * LETTER > size) {
      context.rotate(-Math.PI / 2);
      context.textAlign = "left";
      context.fillText(short, 0, 0.28 * size);
    } else {
      context.textAlign = "center";
      context.fillText(short, 0, 0);
    }
    context.restore();
  });
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {number} x
 * @param {number} y
 * @param {number} size
 * @param {string} stroke
 */
function cross(context, x, y, size, stroke) {
  context.strokeStyle = stroke;
  context.lineWidth = 1.2;
  context.beginPath();
  context.moveTo(x + 2, y + 2);
  context.lineTo(x + size - 3, y + size - 3);
  context.moveTo(x + size - 3, y + 2);
  context.lineTo(x + 2, y + size - 3);
  context.stroke();
}

/**
 * The cell at a place of the picture; nothing beside it.
 * @param {PatternView} view
 * @param {number} x
 * @param {number} y
 * @returns {{ to: number, from: number } | undefined}
 */
export function patternCell(view, x, y) {
  const size = cellSize(view);
  const edge = edgeOf(view);
  const [to, from] = [Math.floor((y - edge) / size), Math.floor((x - edge) / size)];
  const [, T, S] = view.pattern.shape;
  return to >= 0 && from >= 0 && to < T && from < S && (!view.causal || from <= to) ? { to, from } : undefined;
}
