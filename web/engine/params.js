/**
 * Params: the weights, by the names of a model file (`layers.0.W_Q`), with shapes that follow from the Config, as in
 * `core/params.py`.
 *
 * @typedef {Record<string, import("./tensor.js").Tensor>} Params
 * @typedef {import("./config.js").Config} Config
 */
import { groups } from "./config.js";
import { HandloomError, shown } from "./errors.js";

/**
 * Name and shape of every array, in the order in which a run meets them.
 * @param {Config} c
 * @returns {Map<string, number[]>}
 */
export function shapes(c) {
  /** @type {Map<string, number[]>} */
  const found = new Map([["W_E", [c.vocab, c.d_model]]]);
  if (c.positions === "table") found.set("W_pos", [c.block, c.d_model]);
  for (let i = 0; i < c.layers; i++) {
    for (const [name, shape] of layerShapes(c)) found.set(`layers.${i}.${name}`, shape);
  }
  if (c.place === "pre") for (const [name, shape] of normShapes(c, "ln_final.")) found.set(name, shape);
  if (!c.tied) found.set("W_U", [c.d_model, c.vocab]);
  if (c.biases.includes("unembed")) found.set("b_U", [c.vocab]);
  return found;
}

/**
 * @param {Config} c
 * @returns {[string, number[]][]}
 */
function layerShapes(c) {
  const [D, H, G, K, F] = [c.d_model, c.heads, groups(c), c.d_head, c.d_ff];
  /** @type {[string, number][]} */
  const heads = [["Q", H], ["K", G], ["V", G]];
  const E = c.experts ? [c.experts] : []; // the experts have neurons of their own, and one matrix of gates
  const gates = c.gated ? [F] : E;
  const [attn, mlp] = [c.biases.includes("attn"), c.biases.includes("mlp")];
  return [
    ...(H || (F && c.parallel) ? normShapes(c, "ln1.") : []),
    ...heads.map(([name, count]) => named(`W_${name}`, count, D, K)),
    named("W_O", H, K, D),
    ...(attn ? [...heads.map(([name, count]) => named(`b_${name}`, count, K)), named("b_O", D)] : []),
    ...(F && !c.parallel ? normShapes(c, "ln2.") : []),
    ...gates.map((width) => named("W_gate", D, width)),
    named("W_in", ...E, D, F),
    named("W_out", ...E, F, D),
    ...(mlp ? [...gates.map((width) => named("b_gate", width)), named("b_in", ...E, F), named("b_out", D)] : []),
  ];
}

/**
 * @param {Config} c
 * @param {string} at
 * @returns {[string, number[]][]}
 */
function normShapes(c, at) {
  if (c.norm === "none") return [];
  return [named(`${at}w`, c.d_model), ...(c.biases.includes("norm") ? [named(`${at}b`, c.d_model)] : [])];
}

/**
 * @param {string} name
 * @param {...number} shape
 * @returns {[string, number[]]}
 */
const named = (name, ...shape) => [name, shape];

/**
 * Raise an error if names or shapes do not match the Config.
 * @param {Config} config
 * @param {Params} params
 */
export function checkParams(config, params) {
  const expected = shapes(config);
  const extra = Object.keys(params).find((name) => !expected.has(name));
  if (extra) throw new HandloomError(`parameter ${shown(extra)} is not one that the Config has; leave it out`);
  for (const [name, shape] of expected) {
    const got = params[name]?.shape;
    if (!got) throw new HandloomError(`parameter ${name} is missing; the Config asks for it`);
    if (`${got}` !== `${shape}`) {
      throw new HandloomError(`parameter ${name} has shape (${got}); the Config asks for (${shape})`);
    }
  }
}

/**
 * The first layer that a changed weight can change: where `run` may start from. What only the output reads gives the
 * number of layers; the embedding and its positions give undefined, for everything changes.
 * @param {Config} config
 * @param {string} name of the array
 * @returns {number | undefined}
 */
export function firstLayer(config, name) {
  if (name.startsWith("layers.")) return Number(name.split(".")[1]);
  return name === "W_E" || name === "W_pos" ? undefined : config.layers;
}
