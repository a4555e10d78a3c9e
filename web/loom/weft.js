/**
 * The weft: attention as threads across, from the position that is looked at to the one that looks. Looks of no more
 * than twice an equal share are left out, and so are heads that add nothing anywhere.
 *
 * @typedef {import("./scene.js").Scene} Scene
 * @typedef {import("./surface.js").Surface} Surface
 * @typedef {object} Look
 * @property {number} stage
 * @property {number} layer
 * @property {number} head
 * @property {number} to
 * @property {number} from
 * @property {number} p
 * @property {number} weight how much of its layer's largest addition the head adds here
 */
import { hasHeads } from "./stages.js";
import { middle } from "./layout.js";

const EQUAL = 2; // times an equal share
const LEAST = 0.04;

/**
 * The looks that are drawn, the strongest last.
 * @param {import("./compute.js").Solution} solution
 * @param {import("./stages.js").Stage[]} stages
 * @param {boolean[][]} used of each layer and head
 * @param {boolean} causal
 * @returns {Look[]}
 */
export function looksOf({ values }, stages, used, causal) {
  /** @type {Look[]} */
  const looks = [];
  stages.forEach((stage, s) => {
    const pattern = values.get(`${stage.layer}.pattern`);
    if (!hasHeads(stage) || !pattern) return;
    const [H, T] = pattern.shape;
    const sizes = additions(values.get(`${stage.layer}.result`));
    const largest = Math.max(...sizes) || 1;
    for (let head = 0; head < H; head++) {
      if (!used[stage.layer]?.[head]) continue;
      for (let to = 0; to < T; to++) {
        const seen = causal ? to + 1 : T;
        const least = Math.max(LEAST, seen > 1 ? Math.min(0.5, EQUAL / seen) : 0.5);
        const row = pattern.data.subarray((head * T + to) * T, (head * T + to + 1) * T);
        const weight = sizes.length ? sizes[head * T + to] / largest : 1;
        for (let from = 0; from < seen; from++) {
          const p = row[from];
          if (Math.abs(p) >= least) looks.push({ stage: s, layer: stage.layer, head, to, from, p, weight });
        }
      }
    }
  });
  return looks.sort((a, b) => a.p * a.weight - b.p * b.weight);
}

/**
 * The size of what each head adds at each position.
 * @param {import("../engine/tensor.js").Tensor | undefined} result (H, T, D)
 * @returns {number[]} (H · T)
 */
function additions(result) {
  if (!result) return [];
  const [H, T, D] = result.shape;
  return Array.from({ length: H * T }, (_, i) => {
    let most = 0;
    for (let d = i * D; d < (i + 1) * D; d++) most = Math.max(most, Math.abs(result.data[d]));
    return most;
  });
}

/**
 * Which heads add something somewhere.
 * @param {import("./compute.js").Solution} solution
 * @param {import("../engine/config.js").Config} config
 * @returns {boolean[][]}
 */
export function usedHeads(solution, { layers, heads }) {
  let found = known.get(solution);
  if (!found) known.set(solution, (found = listed(solution, layers, heads)));
  return found;
}

/** @type {WeakMap<import("./compute.js").Solution, boolean[][]>} */
const known = new WeakMap();

/**
 * @param {import("./compute.js").Solution} solution
 * @param {number} layers
 * @param {number} heads
 */
function listed({ values }, layers, heads) {
  return Array.from({ length: layers }, (_, layer) => {
    const sizes = additions(values.get(`${layer}.result`));
    const largest = Math.max(0, ...sizes);
    const T = sizes.length / (heads || 1);
    return Array.from({ length: heads }, (_, h) => Math.max(...sizes.slice(h * T, (h + 1) * T)) > 1e-12 * largest);
  });
}

/**
 * The course of a look.
 * @param {Scene} scene
 * @param {Look} look
 * @returns {number[]} a curve
 */
export function courseOf({ layout, state }, { stage, head, to, from }) {
  const { ys, row, dial, bigDial } = layout;
  const [x, end] = [middle(layout, from), middle(layout, to)];
  const over = to === state.position ? bigDial + 18 : dial + 4;
  const bottom = ys[stage] - (dial ? over : 13);
  const top = Math.min(bottom - 22, ys[stage] - (dial ? 0.5 : 0.64) * row) + 3 * (head % 5);
  const fall = bottom - top;
  return [x, top, x + 0.12 * (end - x), top + 0.85 * fall, end - 0.04 * (end - x), top + 0.12 * fall, end, bottom];
}

/**
 * @param {Surface} surface
 * @param {Scene} scene
 * @param {boolean} strong those of the selected position and head, or the others
 */
export function drawWeft(surface, scene, strong) {
  for (const look of scene.looks) {
    if (isStrong(scene, look) !== strong) continue;
    const course = courseOf(scene, look);
    const out = scene.isOut(look);
    if (strong) strongLook(surface, scene, look, course, out);
    else if (look.from !== look.to) {
      const alpha = Math.min(0.4, 0.05 + 0.3 * Math.abs(look.p) * look.weight);
      surface.curve(course, { stroke: scene.colours.named.soft, alpha, dash: out ? [3, 4] : [] });
    }
  }
}

/**
 * @param {Surface} surface
 * @param {Scene} scene
 * @param {Look} look
 * @param {number[]} course
 * @param {boolean} out
 */
function strongLook(surface, { colours, state }, look, course, out) {
  const size = Math.min(1, Math.abs(look.p));
  const stroke = out ? colours.named.faint : colours.named.blue;
  const chosen = state.stage === look.stage && state.part === look.head;
  const alpha = out ? 0.9 : (chosen ? 1 : 0.8) * Math.max(0.35, Math.min(1, 0.5 + look.weight));
  surface.curve(course, { stroke, alpha, width: out ? 1.5 : 1 + 3.2 * size, dash: out ? [4, 5] : [] });
  surface.circle(course[0], course[1], 2 + 3 * size, { fill: stroke, alpha });
}

/**
 * @param {Scene} scene
 * @param {Look} look
 */
function isStrong({ state, hover }, look) {
  if (hover && hover.layer === look.layer) return hover.head === look.head;
  return look.to === state.position;
}

/**
 * The look whose course is nearest to a place, if one is near.
 * @param {Scene} scene
 * @param {number} x
 * @param {number} y
 * @returns {Look | undefined}
 */
export function lookAt(scene, x, y) {
  let [found, nearest] = [/** @type {Look | undefined} */ (undefined), 6];
  for (const look of scene.looks) {
    const far = distance(courseOf(scene, look), x, y) + (isStrong(scene, look) ? 0 : 2);
    if (far < nearest) [found, nearest] = [look, far];
  }
  return found;
}

/**
 * How far a place is from a curve.
 * @param {number[]} curve
 * @param {number} x
 * @param {number} y
 */
function distance(curve, x, y) {
  const [x0, y0, x1, y1, x2, y2, x3, y3] = curve;
  if (y < y0 - 8 || y > y3 + 8 || x < Math.min(x0, x3) - 8 || x > Math.max(x0, x3) + 8) return Infinity;
  let least = Infinity;
  for (let i = 0; i <= 16; i++) {
    const u = i / 16;
    const [a, b, c, d] = [(1 - u) ** 3, 3 * u * (1 - u) ** 2, 3 * u ** 2 * (1 - u), u ** 3];
    least = Math.min(least, Math.hypot(a * x0 + b * x1 + c * x2 + d * x3 - x, a * y0 + b * y1 + c * y2 + d * y3 - y));
  }
  return least;
}
