/**
 * Words and numbers as the page shows them.
 */
const NAMES = { " ": "space", "\n": "newline", "\t": "tab", "": "empty" };

/**
 * A token as it can be told from others: in a picture a space must be seen.
 * @param {string} token
 */
export function tokenName(token) {
  const name = NAMES[/** @type {keyof typeof NAMES} */ (token)] ?? token.replaceAll("\n", "↵").replace(/^ | $/g, "␣");
  const inside = /^<(\w{1,8})>$/.exec(name);
  return inside ? inside[1] : name.length > 14 ? `${name.slice(0, 13)}…` : name;
}

/**
 * A number in at most seven characters or so, without a tail of zeros.
 * @param {number} x
 * @param {number} [digits]
 */
export function number(x, digits = 4) {
  if (!Number.isFinite(x)) return Number.isNaN(x) ? "not a number" : x > 0 ? "∞" : "−∞";
  const size = Math.abs(x);
  const short =
    size === 0
      ? "0"
      : size >= 1e5 || size < 1e-3
        ? x
            .toExponential(Math.max(1, digits - 2))
            .replace(/\.?0+e/, "e")
            .replace("e+", "e")
        : String(Number(x.toPrecision(size >= 1000 ? Math.max(digits, 5) : digits)));
  return short
    .replace("-", "−")
    .replace(/e−?/, (sign) => (sign === "e" ? "e" : "e−"))
    .replace("e-", "e−");
}

/**
 * A share of one.
 * @param {number} x
 */
export function percent(x) {
  const value = 100 * x;
  const whole = Math.abs(value) >= 9.95 || Math.abs(value - Math.round(value)) <= 0.05;
  return `${whole ? Math.round(value) : value.toFixed(1)} %`;
}

/**
 * @param {number} n
 * @param {string} one
 * @param {string} [many]
 */
export const count = (n, one, many = `${one}s`) => `${n.toLocaleString("en-GB")} ${n === 1 ? one : many}`;

/** @param {string} token */
export const quoted = (token) => `“${token}”`;

/**
 * What an edit did, for people.
 * @param {import("./state.js").Edit} edit
 */
export function editName({ what, at, value }) {
  const [layer, site] = what.includes(".") ? what.split(".") : ["", what];
  if (what.startsWith("layers.")) return `${what.slice(7)}[${at}] = ${number(value)}`;
  if (site === "z") return `head ${layer}.${at[0]} taken out`;
  if (site === "mlp_post") return `neuron ${layer}.${at[0]} taken out`;
  if (site === "pattern") return `head ${layer}.${at[0]}: ${at[1]} does not look at ${at[2]}`;
  if (site === "pos_embed") return "positions taken out";
  if (site === "embed") return "tokens taken out";
  if (site === "attn_out") return `attention of layer ${layer} taken out`;
  if (site === "mlp_out") return `MLP of layer ${layer} taken out`;
  return `${what}[${at}] = ${number(value)}`;
}
