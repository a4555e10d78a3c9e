/**
 * The scene: all that a figure is drawn from, gathered once for each change, so that picture and numbers come from one
 * run.
 *
 * @typedef {import("./compute.js").Solution} Solution
 * @typedef {import("./stages.js").Stage} Stage
 * @typedef {import("./strands.js").Strand} Strand
 *
 * @typedef {object} Study what is known of a model before anything is run
 * @property {import("../engine/model.js").Model} model
 * @property {Stage[]} stages
 * @property {import("./readings.js").Reading[]} readings
 *
 * @typedef {object} Facts what follows from a run; it does not depend on what is selected
 * @property {import("../engine/model.js").Model} model with the edited weights
 * @property {Solution} solution
 * @property {Solution} before the run without edits
 * @property {"threads" | "ladder"} mode
 * @property {Strand[]} strands
 * @property {number} units the width of a column in threads
 * @property {Float64Array[][]} values by strand and stage
 * @property {Float64Array[][]} base the same without edits
 * @property {number[]} scales
 * @property {import("./lens.js").Seen[][]} seen by stage and position, for the ladder
 * @property {number[][]} added by stage and position: the length of what was added, as a share of the stream's
 * @property {boolean[][]} used by layer and head
 * @property {import("./weft.js").Look[]} looks
 * @property {import("./lens.js").Seen[]} next what each position predicts
 * @property {import("./lens.js").Seen[]} nextBefore without edits
 *
 * @typedef {object} Hover
 * @property {number} layer -1 if no head is pointed at
 * @property {number} head
 * @property {number} [position] -1 if none is
 *
 * @typedef {object} Shown
 * @property {import("./state.js").State} state
 * @property {import("./layout.js").Layout} layout
 * @property {import("./colour.js").Colours} colours
 * @property {Hover | null} hover
 * @property {number[]} columns those that are seen
 * @property {number} shuttle the row on which the band lies, on its way to the stage
 * @property {(token: number) => string} names
 * @property {(look: { layer: number, head: number, to?: number, from?: number }) => boolean} isOut
 * @property {(t: number) => boolean} isWrong whether what a position predicts is known to be wrong
 *
 * @typedef {Facts & Shown & { stages: Stage[] }} Scene
 */
import { applied } from "./edits.js";
import { likeliest, seenAt } from "./lens.js";
import { scalesOf, threaded } from "./scale.js";
import { columnWidth, strandsOf } from "./strands.js";
import { looksOf, usedHeads } from "./weft.js";

const MOST_LENS = 6e7; // multiplications of a ladder; a larger one would not be drawn in time

/**
 * @param {Study} study
 * @param {import("./state.js").State} state
 * @param {Solution} solution
 * @param {Solution} before
 * @returns {Facts}
 */
export function factsOf({ model: original, stages, readings }, state, solution, before) {
  const { model } = applied(original, state.edits);
  const { config } = model;
  const named = strandsOf(readings, stages, state.ballast);
  const mode = state.view === "ladder" || !named.length ? "ladder" : "threads";
  const strands = mode === "threads" ? named : [];
  const base = threaded(before, strands, stages);
  const values = solution === before ? base : threaded(solution, strands, stages);
  const used = usedHeads(before, config);
  return {
    model,
    solution,
    before,
    mode,
    strands,
    values,
    base,
    used,
    units: mode === "threads" ? columnWidth(strands) : 4,
    scales: scalesOf(base),
    seen: mode === "ladder" ? ladder(model, solution, stages) : [],
    added: mode === "ladder" ? stages.map((stage) => additions(solution, stage)) : [],
    looks: looksOf(solution, stages, used, config.causal),
    next: predictions(solution),
    nextBefore: predictions(before),
  };
}

/**
 * @param {import("../engine/model.js").Model} model
 * @param {Solution} solution
 * @param {Stage[]} stages
 */
function ladder(model, solution, stages) {
  const work = solution.ids.length * model.config.d_model * model.config.vocab * stages.length;
  if (work > MOST_LENS) return [];
  return stages.map(({ site }) => {
    const stream = solution.values.get(site);
    return stream ? seenAt(model, stream) : [];
  });
}

/**
 * @param {Solution} solution
 * @param {Stage} stage
 * @returns {number[]}
 */
function additions({ values }, { added, site }) {
  const [part, stream] = [values.get(added ?? ""), values.get(site)];
  if (!part || !stream) return [];
  const [T, D] = stream.shape;
  const length = (/** @type {Float64Array} */ data, /** @type {number} */ t) => {
    let squares = 0;
    for (let i = t * D; i < (t + 1) * D; i++) squares += data[i] ** 2;
    return Math.sqrt(squares);
  };
  return Array.from({ length: T }, (_, t) => length(part.data, t) / (length(stream.data, t) || 1));
}

/** @param {Solution} solution */
export function predictions({ logits: { shape, data } }) {
  const [T, V] = shape;
  return Array.from({ length: T }, (_, t) => likeliest(data.subarray(t * V, (t + 1) * V)));
}
