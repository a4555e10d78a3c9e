/**
 * A table that a click on a column sorts; numbers stand at the right.
 *
 * @typedef {{ title: string, columns: string[], rows: (string | number | null)[][], left_out: number }} Table
 */
import { el } from "../loom/dom.js";

const ROUNDING = 1e-12; // of the largest in its column

/**
 * @param {Table} table
 * @param {(text: string) => string | undefined} linkTo
 * @returns {HTMLElement}
 */
export function tableElement({ title, columns, rows, left_out: leftOut }, linkTo) {
  const numbers = columns.map((_, j) => rows.some((row) => typeof row[j] === "number"));
  const shows = columns.map((_, j) => numberWriter(rows.map((row) => row[j])));
  const body = el("tbody");
  const cells = (/** @type {Table["rows"][0]} */ row) =>
    row.map((value, j) => cell(value, numbers[j] && shows[j], linkTo));
  const fill = (/** @type {Table["rows"]} */ some) =>
    body.replaceChildren(...some.map((row) => el("tr", {}, ...cells(row))));
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
 * @param {false | ((value: number) => string)} show how numbers of its column are written, if it has any
 * @param {(text: string) => string | undefined} linkTo
 */
function cell(value, show, linkTo) {
  if (typeof value === "number") {
    return el("td", { class: "number", title: String(value) }, show ? show(value) : String(value));
  }
  const text = value ?? "";
  const to = linkTo(text);
  return el("td", { class: show ? "number" : "" }, to ? el("a", { href: to }, text) : text);
}

/**
 * How the numbers of a column are written: whole ones if all are, else with equally many digits; what is next to
 * nothing beside the largest is rounding.
 * @param {unknown[]} column
 * @returns {(value: number) => string}
 */
export function numberWriter(column) {
  const numbers = /** @type {number[]} */ (column.filter((one) => typeof one === "number"));
  if (numbers.every(Number.isInteger)) return String;
  const largest = Math.max(...numbers.map(Math.abs));
  return (value) => {
    const size = Math.abs(value);
    if (size === 0) return "0";
    if (size < ROUNDING * largest) return "≈ 0";
    const isFar = size >= 1e5 || size < 1e-3;
    return (isFar ? value.toExponential(1) : value.toFixed(largest >= 100 ? 1 : 3)).replaceAll("-", "−");
  };
}

/**
 * @param {string | number | null} a
 * @param {string | number | null} b
 */
function compared(a, b) {
  if (typeof a === "number" && typeof b === "number") return a - b;
  return String(a ?? "").localeCompare(String(b ?? ""), "en", { numeric: true });
}
