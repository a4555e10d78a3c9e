/**
 * Stages: the places on the way down a column where the stream is shown, and what was added just before.
 *
 * @typedef {import("../engine/config.js").Config} Config
 * @typedef {object} Stage
 * @property {"token" | "position" | "attention" | "mlp" | "both"} kind
 * @property {number} layer -1 before the first
 * @property {string} site where the stream stands after it
 * @property {string} [added] the site of what it added
 * @property {string} label
 */

/**
 * @param {import("../engine/model.js").Model} model
 * @returns {Stage[]}
 */
export function stagesOf({ config, params }) {
  const placed = config.positions === "sinusoid" || Boolean(params.W_pos?.data.some((one) => one !== 0));
  const first = config.layers ? "0.resid_pre" : "resid_final";
  /** @type {Stage[]} */
  const stages =
    placed && config.layers < 2 // where there is room, and where it is all that happens
      ? [
          { kind: "token", layer: -1, site: "embed", label: "token" },
          { kind: "position", layer: -1, site: first, added: "pos_embed", label: "+ position" },
        ]
      : [{ kind: "token", layer: -1, site: first, label: placed ? "token + position" : "token" }];
  for (let i = 0; i < config.layers; i++) stages.push(...layerStages(config, i));
  return stages;
}

/**
 * @param {Config} config
 * @param {number} layer
 * @returns {Stage[]}
 */
function layerStages({ parallel, heads, d_ff }, layer) {
  const [attention, mlp] = [heads > 0, d_ff > 0];
  const end = `${layer}.resid_post`;
  if (parallel) return [{ kind: "both", layer, site: end, label: `${layer} · attention, MLP` }];
  /** @type {Stage[]} */
  const found = [];
  const added = (/** @type {string} */ part) => `${layer}.${part}_out`;
  if (attention || !mlp) {
    const site = mlp ? `${layer}.resid_mid` : end;
    found.push({ kind: "attention", layer, site, added: added("attn"), label: `${layer} · attention` });
  }
  if (mlp) found.push({ kind: "mlp", layer, site: end, added: added("mlp"), label: `${layer} · MLP` });
  return found;
}

/** @param {Stage} stage */
export const hasHeads = (stage) => stage.kind === "attention" || stage.kind === "both";

/** @param {Stage} stage */
export const hasNeurons = (stage) => stage.kind === "mlp" || stage.kind === "both";
