/**
 * Layout: where columns and rows of the figure are. The selected column is broader, as under a lens. The figure may be
 * larger than what is seen of it: tokens stay at the top and names of stages at the left while the rest scrolls.
 *
 * @typedef {object} Layout
 * @property {number} gutter the width of the stages' names
 * @property {number} header the height of the tokens' row
 * @property {number[]} left of each column
 * @property {number[]} widths
 * @property {number[]} ys the middle of each row
 * @property {number} row its height
 * @property {number} last the middle of the row of predictions
 * @property {number} names the height of the names of threads
 * @property {number} width of all
 * @property {number} height
 * @property {number} unit the width of a thread's place in a column that is not selected
 * @property {number} bigUnit in the selected one
 * @property {number} pad of a column
 * @property {boolean} narrow
 * @property {number} dial the radius of a dial, 0 if there are none
 * @property {number} bigDial in the selected column
 *
 * @typedef {object} Needs
 * @property {number} T
 * @property {number} stages
 * @property {"threads" | "ladder"} mode
 * @property {number} units widths of threads in a column
 * @property {boolean} dials whether there are any
 * @property {number} letters in the longest token
 * @property {number} nameLetters in the longest name of a thread
 * @property {number} selected
 * @property {number} width that is seen
 * @property {number} height
 */
const UNIT = { least: 3.6, usual: 9, most: 13 };
const DIAL = { least: 7, usual: 10.5, most: 15 }; // with dials, which need room

/**
 * @param {Needs} needs
 * @returns {Layout}
 */
export function layoutOf(needs) {
  const narrow = needs.width < 560;
  const gutter = narrow ? 62 : 132;
  const pad = needs.mode === "ladder" ? 10 : narrow ? 8 : 14;
  const { unit, bigUnit } = unitsOf(needs, needs.width - gutter - 12, pad);
  const widths = Array.from({ length: needs.T }, (_, t) => {
    const inner = needs.units * (t === needs.selected ? bigUnit : unit);
    return Math.max(inner, 8 * Math.min(needs.letters, 6)) + pad;
  });
  let x = gutter;
  const left = widths.map((width) => (x += width) - width);
  const { row, ...rest } = rows(needs);
  const dials = needs.dials
    ? { dial: Math.min(1.76 * unit, 0.25 * row, 26), bigDial: Math.min(1.5 * bigUnit, 0.28 * row, 42) }
    : { dial: 0, bigDial: 0 };
  return { gutter, pad, unit, bigUnit, narrow, left, widths, width: x + 12, row, ...rest, ...dials };
}

/**
 * @param {Needs} needs
 * @param {number} room
 * @param {number} pad
 */
function unitsOf({ mode, T, units, letters, dials }, room, pad) {
  if (mode === "ladder") {
    const cell = Math.max(30, 8.4 * Math.min(letters, 8) + 14);
    const unit = Math.max(cell, Math.min(1.5 * cell, (room - pad * T) / (T + 0.25))) / units;
    return { unit, bigUnit: 1.25 * unit };
  }
  const { least, usual, most } = dials ? DIAL : UNIT;
  const lens = dials ? 2 : Math.max(1.7, 12 / usual); // names need 12 px each
  const fitting = (room - pad * T) / (units * (T - 1 + lens));
  const unit = Math.max(least, Math.min(most, fitting));
  return { unit, bigUnit: Math.max(lens * unit, dials ? 18 : 12) };
}

/** @param {Needs} needs */
function rows({ mode, stages, height, nameLetters, dials }) {
  const names = mode === "threads" && nameLetters ? 14 + 4.9 * Math.min(nameLetters, 14) : 0;
  const header = 50;
  const top = header + names + (dials ? 66 : 26);
  const bottom = 78;
  const least = dials ? 104 : mode === "ladder" ? 42 : 48;
  const row = Math.max(least, Math.min(dials ? 160 : 84, (height - top - bottom) / Math.max(1, stages - 1)));
  const ys = Array.from({ length: stages }, (_, s) => top + s * row);
  const last = ys[stages - 1] + Math.min(row, dials ? 92 : 56);
  return { header, names, row, ys, last, height: last + 40 };
}

/**
 * The middle of a column.
 * @param {Layout} layout
 * @param {number} t
 */
export const middle = ({ left, widths }, t) => left[t] + widths[t] / 2;

/**
 * The column and row at a place in the figure; -1 where there is none.
 * @param {Layout} layout
 * @param {number} x
 * @param {number} y
 */
export function cellAt({ left, widths, ys, row, width }, x, y) {
  const position = left.findIndex((one, t) => x >= one && x < one + widths[t]);
  const stage = ys.findIndex((one) => y >= one - 0.6 * row && y < one + 0.4 * row);
  return { position: x < width ? position : -1, stage };
}
