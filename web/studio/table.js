/**
 * A table that a click on a column sorts; numbers stand at the right.
 *
 * @typedef {{ title: string, columns: string[], rows: (string | number | null)[][], left_out: number }} Table
 */
import { el } from "../loom/dom.js";

/**
 * @param {Table} table
 * @param {(text: string) => string | undefined} linkTo
 * @returns {HTMLElement}
 */
export function tableElement({ title, columns, rows, left_out: leftOut }, linkTo) {
  const numbers = columns.map((_, j) => rows.some((row) => typeof row[j] === "number"));
  const body = el("tbody");
  const fill = (/** @type {Table["rows"]} */ some) =>
    body.replaceChildren(...some.map((row) => el("tr", {}, ...row.map((value, j) => cell(value, numbers[j], linkTo)))));
  let [by, down] = [-1, true];
  const sort = (/** @type {number} */ j) => {
    [by, down] = [j, by === j ? !down : numbers[j]];
    heads.forEach((head, i) => head.setAttribute("aria-sort", i !== by ? "none" : down ? "descending" : "ascending"));
    fill([...rows].sort((a, b) => (down ? -1 : 1) * compared(a[j], b[j])));
  };
  const heads = columns.map((name, j) =>
    el("th", { class: numbers[j] ? "number" : "", scope: "col" }, el("button", { onclick: () => sort(j) }, name)),
  );
  fill(rows);
  const words = leftOut ? [el("p", { class: "soft" }, `${leftOut} more rows are left out.`)] : [];
  const whole = el("table", { class: "sortable" }, el("thead", {}, el("tr", {}, ...heads)), body);
  return el("div", { class: "tabled" }, ...(title ? [el("h3", {}, title)] : []), whole, ...words);
}

/**
 * @param {string | number | null} value
 * @param {boolean} number
 * @param {(text: string) => string | undefined} linkTo
 */
function cell(value, number, linkTo) {
  if (typeof value === "number") return el("td", { class: "number", title: String(value) }, shortNumber(value));
  const text = value ?? "";
  const to = linkTo(text);
  return el("td", { class: number ? "number" : "" }, to ? el("a", { href: to }, text) : text);
}

/** @param {number} value */
export function shortNumber(value) {
  if (Number.isInteger(value) || value === 0) return String(value);
  const size = Math.abs(value);
  if (size >= 1e5 || size < 1e-3) return value.toExponential(1);
  return value.toFixed(size >= 100 ? 0 : size >= 1 ? 2 : 3);
}

/**
 * @param {string | number | null} a
 * @param {string | number | null} b
 */
function compared(a, b) {
  if (typeof a === "number" && typeof b === "number") return a - b;
  return String(a ?? "").localeCompare(String(b ?? ""), "en", { numeric: true });
}
