/**
 * Sites: the named values of a run that can be recorded (`want`) and replaced (`edits`); those of `core/sites.py`.
 *
 * @typedef {import("./config.js").Config} Config
 */
import { HandloomError, shown } from "./errors.js";

/** Letters of a shape: T positions, S positions attended to, D model, H heads, G heads with keys, K head, F hidden. */
export const SITES_OF_A_LAYER = {
  resid_pre: "TD",
  ln1_scale: "T",
  ln1: "TD",
  q: "HTK",
  k: "GTK",
  v: "GTK",
  rot_q: "HTK",
  rot_k: "GTK",
  scores: "HTS",
  pattern: "HTS",
  z: "HTK",
  result: "HTD",
  attn_out: "TD",
  resid_mid: "TD",
  ln2_scale: "T",
  ln2: "TD",
  gate: "TE",
  mlp_pre: "TF",
  mlp_pre_linear: "TF",
  mlp_post: "TF",
  mlp_out: "TD",
  resid_post: "TD",
};
const ATTENTION = ["q", "k", "v", "rot_q", "rot_k", "scores", "pattern", "z", "result", "ln1", "ln1_scale"];
const NEURONS = ["gate", "mlp_pre", "mlp_pre_linear", "mlp_post", "ln2", "ln2_scale"];

/** @type {WeakMap<Config, Map<string, string>>} */
const known = new WeakMap(); // listing them takes as long as a small forward run

/**
 * Every site of a Config and the letters of its shape, in the order in which a run meets them.
 * @param {Config} config
 * @returns {Map<string, string>}
 */
export function sites(config) {
  let found = known.get(config);
  if (!found) known.set(config, (found = listedSites(config)));
  return found;
}

/** @param {Config} config */
function listedSites(config) {
  const found = new Map([["embed", "TD"]]);
  if (config.positions === "table" || config.positions === "sinusoid") found.set("pos_embed", "TD");
  for (let i = 0; i < config.layers; i++) {
    for (const name of layerOrder(config)) {
      const letters = SITES_OF_A_LAYER[/** @type {keyof typeof SITES_OF_A_LAYER} */ (name)];
      if (has(config, name)) found.set(`${i}.${name}`, config.kv_heads ? letters : letters.replace("G", "H"));
    }
  }
  found.set("resid_final", "TD");
  if (config.place === "pre" && config.norm !== "none") found.set("ln_final_scale", "T").set("ln_final", "TD");
  return found.set("logits", "TV");
}

/**
 * The sites of a layer as a run meets them: a post norm comes behind the sublayer, not before it.
 * @param {Config} config
 */
function layerOrder(config) {
  let order = Object.keys(SITES_OF_A_LAYER);
  if (config.place === "pre") return order;
  for (const [norm, behind] of [["ln1", "attn_out"], ["ln2", "mlp_out"]]) {
    order = order.filter((name) => !name.startsWith(norm));
    order.splice(order.indexOf(behind) + 1, 0, `${norm}_scale`, norm);
  }
  return order;
}

/**
 * Whether the layers of this Config have the site.
 * @param {Config} config
 * @param {string} name
 */
function has(config, name) {
  if (config.parallel && name.startsWith("ln1")) {
    return (config.heads > 0 || config.d_ff > 0) && config.norm !== "none"; // attention and MLP read it
  }
  if ((ATTENTION.includes(name) && !config.heads) || (NEURONS.includes(name) && !config.d_ff)) return false;
  if (config.parallel && ["resid_mid", "ln2", "ln2_scale"].includes(name)) return false;
  return !(
    (name.startsWith("ln") && config.norm === "none") ||
    (name.startsWith("rot") && config.positions !== "rotary") ||
    (name === "mlp_pre_linear" && !config.gated) ||
    (name === "gate" && !config.experts)
  );
}

/**
 * The layer of a site; -1 before the first layer, the number of layers behind the last.
 * @param {Config} config
 * @param {string} site
 */
export function layerOf(config, site) {
  if (site.includes(".")) return Number(site.split(".")[0]);
  return site === "embed" || site === "pos_embed" ? -1 : config.layers;
}

/**
 * The sites that a name, or a pattern such as `*.pattern`, stands for.
 * @param {string} pattern
 * @param {Map<string, string>} known
 * @returns {string[]}
 */
export function match(pattern, known) {
  if (known.has(pattern)) return [pattern];
  const wild = asRegExp(String(pattern));
  const found = [...known.keys()].filter((site) => wild.test(site));
  if (!found.length) throw new HandloomError(`no site ${shown(pattern)} in this model; its sites are ${listed(known)}`);
  return found;
}

/**
 * A pattern of the shell's kind: *, ? and [012].
 * @param {string} pattern
 */
function asRegExp(pattern) {
  const source = pattern.replace(/\[(!?)([^\]\\]+)\]|[\\^$+.()|{}[\]*?]/g, (part, not, some) => {
    if (some) return `[${not && "^"}${some}]`;
    return { "*": ".*", "?": "." }[part] ?? `\\${part}`;
  });
  return new RegExp(`^${source}$`, "s");
}

/**
 * The names; of three or more layers only those of the first.
 * @param {Map<string, string>} known
 */
function listed(known) {
  const names = [...known.keys()];
  const layers = new Set(names.filter((site) => site.includes(".")).map((site) => site.split(".")[0]));
  if (layers.size <= 2) return names.join(", ");
  const short = names.filter((site) => !site.includes(".") || site.startsWith("0."));
  return `${short.join(", ")}, and the same for layers 1 to ${layers.size - 1}`;
}
