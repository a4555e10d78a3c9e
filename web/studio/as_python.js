/**
 * What was done in a loom, as lines of Python that do the same: weights that are replaced, and functions that change
 * what stands at a site.
 *
 * @typedef {import("../loom/state.js").Edit} Edit
 */

/**
 * @param {{ name: string, isProgram: boolean, text: string, edits: readonly Edit[], params: readonly string[] }} done
 * @returns {string}
 */
export function asPython({ name, isProgram, text, edits, params }) {
  const weights = edits.filter(({ what }) => params.includes(what));
  const sites = edits.filter(({ what }) => !params.includes(what));
  const load = `model = hl.${isProgram ? "program" : "load"}(${quoted(name)})`;
  return [
    "import handloom as hl",
    "",
    load,
    ...(weights.length ? weightLines(weights) : []),
    ...siteLines(sites),
    "",
    `text = ${quoted(text)}`,
    `print(model(text, unchecked=True${sites.length ? ", edits=edits" : ""}))`,
    `trace = hl.trace(model, text${sites.length ? ", edits=edits" : ""})`,
    "",
  ].join("\n");
}

/** @param {Edit[]} edits */
const weightLines = (edits) => [
  "",
  "weights = {name: array.copy() for name, array in model.flat.items()}",
  ...edits.map(({ what, at, value }) => `weights[${quoted(what)}][${at.join(", ")}] = ${number(value)}`),
  "model = model.with_(params=weights)",
];

/** @param {Edit[]} edits */
function siteLines(edits) {
  /** @type {Map<string, Edit[]>} */
  const bySite = new Map();
  for (const edit of edits) bySite.set(edit.what, [...(bySite.get(edit.what) ?? []), edit]);
  if (!bySite.size) return [];
  const functions = [...bySite].flatMap(([site, some]) => [
    "",
    "",
    `def edit_${nameOf(site)}(x):`,
    ...some.map((edit) => `    ${lineOf(edit)}`),
    "    return x",
  ]);
  const names = [...bySite.keys()].map((site) => `${quoted(site)}: edit_${nameOf(site)}`);
  return [...functions, "", "", `edits = {${names.join(", ")}}`];
}

/** @param {Edit} edit */
function lineOf({ what, at, value }) {
  const site = what.split(".").at(-1);
  if (site === "z") return `x[..., ${at[0]}, :, :] = ${number(value)}`;
  if (site === "mlp_post") return `x[..., ${at[0]}] = ${number(value)}`;
  if (site !== "pattern") return `x[...] = ${number(value)}`;
  const [head, to, from] = at;
  return `x[..., ${head}, ${to}:${to + 1}, ${from}:${from + 1}] = ${number(value)}`; // shorter texts have no such look
}

/** @param {string} site */
const nameOf = (site) => site.replace(/\W+/g, "_");

/** @param {number} value */
const number = (value) => (Number.isInteger(value) && Math.abs(value) < 1e15 ? value.toFixed(1) : String(value));

/**
 * A Python string: JSON's escapes are Python's, but for characters beyond 16 bits, which are left as they are.
 * @param {string} text
 */
const quoted = (text) => JSON.stringify(text);
