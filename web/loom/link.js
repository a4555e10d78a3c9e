/**
 * A link between two desks: the input that is typed at one is typed at both, and what is selected or hovered at one is
 * so at the other, where it exists there.
 *
 * @typedef {import("./desk.js").Desk} Desk
 * @typedef {import("./scene.js").Hover} Hover
 * @typedef {import("./stages.js").Stage} Stage
 * @typedef {import("./state.js").State} State
 */
import { hasHeads } from "./stages.js";

/**
 * @param {Desk} a
 * @param {Desk} b
 */
export function link(a, b) {
  const passing = { on: false };
  follow(a, b, passing);
  follow(b, a, passing);
}

/**
 * @param {Desk} from
 * @param {Desk} to
 * @param {{ on: boolean }} passing whether a change is being passed on, which must not come back
 */
function follow(from, to, passing) {
  let last = from.state;
  const pass = (/** @type {() => void} */ change) => {
    if (passing.on) return;
    passing.on = true;
    change();
    passing.on = false;
  };
  from.listeners.push(() => {
    const [before, now] = [last, from.state];
    last = now;
    const change = passedOn(before, now, from, to);
    if (Object.keys(change).length) pass(() => to.select(change));
  });
  from.hoverListeners.push(() => pass(() => to.hover(hoverAt(from.hovered, to))));
}

/**
 * What a change at one desk changes at the other.
 * @param {State} before
 * @param {State} now
 * @param {Desk} from
 * @param {Desk} to
 * @returns {Partial<State>}
 */
export function passedOn(before, now, from, to) {
  if (now.text !== to.state.text) return { text: now.text, position: -1 };
  const { position, stage } = now;
  const isThere = position < (to.solution?.ids.length ?? 0);
  const at = sameStage(from.study.stages[stage], to.study.stages);
  return {
    ...(position !== before.position && isThere ? { position } : {}),
    ...((stage !== before.stage || now.part !== before.part) && at >= 0 ? { stage: at, ...samePart(now, to, at) } : {}),
  };
}

/**
 * @param {State} now
 * @param {Desk} to
 * @param {number} stage
 */
const samePart = ({ part }, to, stage) =>
  hasHeads(to.study.stages[stage]) && part >= to.config.heads ? {} : { part };

/**
 * The stage that stands in another model where this one stands here; -1 if it has none.
 * @param {Stage | undefined} stage
 * @param {Stage[]} stages
 */
export function sameStage(stage, stages) {
  if (!stage) return -1;
  const exact = stages.findIndex(({ kind, layer }) => kind === stage.kind && layer === stage.layer);
  if (exact >= 0 || stage.layer >= 0) return exact;
  return stages.findLastIndex(({ layer }) => layer < 0); // token and position may be one stage
}

/**
 * @param {Hover | null} hover
 * @param {Desk} to
 * @returns {Hover | null}
 */
function hoverAt(hover, to) {
  if (!hover) return null;
  const { layers, heads } = to.config;
  const { layer, head, position } = hover;
  const isThere = layer >= 0 && layer < layers && head < heads;
  return { ...(isThere ? { layer, head } : { layer: -1, head: -1 }), position };
}
