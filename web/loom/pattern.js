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
import { fitted } from "./dom.js";
import { MONO } from "./surface.js";

const EDGE = 22; // for the tokens at the left and the top

/**
 * @param {PatternView} view
 */
export const cellSize = ({ pattern, room }) => Math.max(2, Math.min(17, (room - EDGE) / pattern.shape[2]));

/**
 * @param {HTMLCanvasElement} canvas
 * @param {PatternView} view
 */
export function drawPattern(canvas, view) {
  const { pattern, head, position, colours, causal, isOut } = view;
  const [, T, S] = pattern.shape;
  const size = cellSize(view);
  const edge = size >= 9 ? EDGE : 2;
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
  if (edge === EDGE) letters(context, view, size);
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
 * @param {CanvasRenderingContext2D} context
 * @param {PatternView} view
 * @param {number} size
 */
function letters(context, { tokens, colours, position }, size) {
  context.textAlign = "center";
  tokens.forEach((token, t) => {
    context.fillStyle = t === position ? colours.named.ink : colours.named.soft;
    context.font = `${t === position ? 600 : 400} ${Math.min(11, size)}px ${MONO}`;
    const short = token.slice(0, size > 14 ? 2 : 1);
    context.fillText(short, EDGE + (t + 0.5) * size, EDGE - 6);
    context.fillText(short, EDGE - 12, EDGE + (t + 0.78) * size);
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
  const edge = size >= 9 ? EDGE : 2;
  const [to, from] = [Math.floor((y - edge) / size), Math.floor((x - edge) / size)];
  const [, T, S] = view.pattern.shape;
  return to >= 0 && from >= 0 && to < T && from < S && (!view.causal || from <= to) ? { to, from } : undefined;
}
