/**
 * Keys: everything that a pointer does in the figure. They do nothing while one types.
 *
 * @typedef {import("./desk.js").Desk} Desk
 * @typedef {{ takeOut(): void, enter(): void, input(): void, exam(): void, help(): void, play(): void }} Does
 */
import { redone, undone } from "./state.js";

/** @type {[string, string][]} */
export const LIST = [
  ["← →", "token before, token after"],
  ["↑ ↓", "stage above, stage below"],
  ["1 … 9", "head of the stage"],
  ["Tab", "from part to part"],
  ["Enter", "edit the weights of what is selected"],
  ["a", "take the head or MLP out, or put it back"],
  ["z, Z", "undo, redo"],
  ["p", "play: one stage after another"],
  ["/", "the input"],
  ["e", "the exam; arrows move there, Enter loads"],
  ["?", "this list"],
];

/**
 * @param {Desk} desk
 * @param {Does} does
 * @param {EventTarget} where
 * @param {AbortSignal} signal
 */
export function listen(desk, does, where, signal) {
  const pressed = (/** @type {KeyboardEvent} */ event) => {
    if (event.defaultPrevented) return; // a loom inside has taken it
    const target = event.target instanceof Element ? event.target : document.body;
    if (event.ctrlKey || event.metaKey || event.altKey || target.closest("input, textarea, select, dialog, .cells"))
      return;
    if (event.key === "Enter" && target.closest("button, summary, a")) return;
    const act =
      actions(desk, does)[event.key] ??
      (/^[1-9]$/.test(event.key) ? () => desk.select({ part: Number(event.key) - 1 }) : undefined);
    if (!act) return;
    event.preventDefault();
    act();
  };
  where.addEventListener("keydown", /** @type {EventListener} */ (pressed), { signal });
}

/**
 * @param {Desk} desk
 * @param {Does} does
 * @returns {Record<string, () => void>}
 */
function actions(desk, does) {
  const { state, study, solution } = desk;
  const tokens = (solution?.ids.length ?? 1) - 1;
  const within = (/** @type {number} */ x, /** @type {number} */ most) => Math.max(0, Math.min(most, x));
  const go = (/** @type {number} */ by) => () => desk.select({ position: within(state.position + by, tokens) });
  const step = (/** @type {number} */ by) => () =>
    desk.select({ stage: within(state.stage + by, study.stages.length - 1), part: 0 });
  return {
    ArrowLeft: go(-1),
    ArrowRight: go(1),
    ArrowUp: step(-1),
    ArrowDown: step(1),
    Enter: does.enter,
    a: does.takeOut,
    z: () => desk.update(undone(state)),
    Z: () => desk.update(redone(state)),
    p: does.play,
    "/": does.input,
    e: does.exam,
    "?": does.help,
  };
}
