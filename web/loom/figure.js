/**
 * The figure: tokens at the top, stages at the left, the stream of every position from top to bottom, attention across,
 * and below what each position predicts.
 *
 * @typedef {import("./scene.js").Scene} Scene
 * @typedef {import("./surface.js").Surface} Surface
 * @typedef {{ x: number, y: number, width: number, height: number }} Seen the part of the figure that is seen
 */
import { drawLadder, shortened } from "./ladder.js";
import { middle } from "./layout.js";
import { hasNeurons } from "./stages.js";
import { drawNames, drawThreads } from "./threads.js";
import { drawWeft } from "./weft.js";

const MOST_NEURONS = 10; // that are drawn one by one

/**
 * @param {Surface} surface
 * @param {Scene} scene
 * @param {Seen} seen
 */
export function drawFigure(surface, scene, seen) {
  const { layout, colours } = scene;
  const { gutter, header } = layout;
  surface.rect(0, 0, seen.width, seen.height, { fill: colours.named.card });
  drawStageBand(surface, scene, seen);
  const inside = [seen.width - gutter, seen.height - header];
  surface.window(gutter, header, inside[0], inside[1], -seen.x, -seen.y, () => drawBody(surface, scene));
  surface.window(gutter, 0, inside[0], header, -seen.x, 0, () => drawTokens(surface, scene));
  surface.window(0, header, gutter, inside[1], 0, -seen.y, () => drawStages(surface, scene));
}

/**
 * @param {Surface} surface
 * @param {Scene} scene
 */
function drawBody(surface, scene) {
  const { layout, state, colours, mode, hover } = scene;
  const band = (/** @type {number} */ t, /** @type {number} */ alpha) =>
    surface.rect(layout.left[t], 0, layout.widths[t], layout.height, { fill: colours.named.band, alpha });
  band(state.position, 0.8);
  const pointed = hover?.position ?? -1;
  if (pointed in layout.left && pointed !== state.position) band(pointed, 0.35);
  drawWeft(surface, scene, false);
  if (mode === "threads") {
    drawThreads(surface, scene);
    drawNames(surface, scene);
  } else drawLadder(surface, scene);
  drawNeurons(surface, scene);
  drawWeft(surface, scene, true);
  drawPredictions(surface, scene);
}

/**
 * @param {Surface} surface
 * @param {Scene} scene
 * @param {Seen} seen
 */
function drawStageBand(surface, { layout, shuttle, colours }, seen) {
  const { ys, row, header } = layout;
  const low = Math.floor(shuttle);
  const y = ys[low] + (shuttle - low) * ((ys[low + 1] ?? ys[low]) - ys[low]);
  const top = Math.max(header, y - 0.6 * row - seen.y);
  const bottom = y + 0.34 * row - seen.y;
  if (bottom > top) surface.rect(0, top, seen.width, bottom - top, { fill: colours.named.band, alpha: 0.6 });
}

/**
 * @param {Surface} surface
 * @param {Scene} scene
 */
function drawTokens(surface, { layout, solution, names, state, colours, columns }) {
  const { ink, blue, soft, band } = colours.named;
  const generated = solution.prompt.length;
  surface.rect(
    layout.left[state.position],
    6,
    layout.widths[state.position],
    layout.header,
    { fill: band, alpha: 0.8 },
    8,
  );
  for (const t of columns) {
    const x = middle(layout, t);
    const big = t === state.position;
    if (big || layout.widths[t] > 18 || t % 5 === 0)
      surface.text(x, 20, `${t}`, { fill: soft, size: 10, anchor: "middle" });
    const name = shortened(names(solution.ids[t]), layout.widths[t]);
    surface.text(x, 40, name, {
      fill: t < generated ? ink : blue,
      size: big ? 17 : 15,
      bold: true,
      mono: true,
      anchor: "middle",
    });
  }
}

/**
 * @param {Surface} surface
 * @param {Scene} scene
 */
function drawStages(surface, { layout, stages, state, colours }) {
  const { ink, soft } = colours.named;
  const label = (/** @type {string} */ text, /** @type {number} */ y, /** @type {boolean} */ chosen) =>
    surface.text(layout.narrow ? 6 : 14, y + 4, text, {
      fill: chosen ? ink : soft,
      size: layout.narrow ? 10.5 : 12.5,
      bold: chosen,
    });
  stages.forEach((stage, s) =>
    label(layout.narrow ? narrowed(stage.label) : stage.label, layout.ys[s], s === state.stage),
  );
  label(layout.narrow ? "predicts" : "predicts next", layout.last, false);
}

/** @param {string} label */
const narrowed = (label) =>
  label.replace("token + position", "input").replace("attention", "attn").replace("+ position", "+ pos");

/**
 * The neurons of a layer as dots: filled as far as they fire.
 * @param {Surface} surface
 * @param {Scene} scene
 */
function drawNeurons(surface, { layout, stages, solution, columns, colours, before, mode }) {
  stages.forEach((stage, s) => {
    const post = solution.values.get(`${stage.layer}.mlp_post`);
    const usual = before.values.get(`${stage.layer}.mlp_post`);
    if (!hasNeurons(stage) || !post || !usual || mode === "ladder") return;
    const [, F] = post.shape;
    if (F > MOST_NEURONS) return;
    const largest = usual.data.reduce((most, one) => Math.max(most, Math.abs(one)), 0) || 1;
    const y = layout.ys[s] - 0.5 * layout.row;
    for (const t of columns) {
      const step = Math.min(9, (layout.widths[t] - 6) / F);
      for (let f = 0; f < F && step > 3; f++) {
        const x = middle(layout, t) + (f - (F - 1) / 2) * step;
        const fires = Math.min(1, Math.abs(post.data[t * F + f]) / largest);
        const { ink, card, faint } = colours.named;
        surface.circle(x, y, 0.36 * step, { fill: card, stroke: faint, width: 0.8 });
        if (fires > 1e-6) surface.circle(x, y, 0.36 * step, { fill: ink, alpha: 0.25 + 0.75 * fires });
      }
    }
  });
}

/**
 * @param {Surface} surface
 * @param {Scene} scene
 */
function drawPredictions(surface, scene) {
  const { layout, next, nextBefore, names, state, colours, columns, solution } = scene;
  const { ink, soft, blue, red } = colours.named;
  for (const t of columns) {
    const [x, y] = [middle(layout, t), layout.last + 4];
    const answers = t >= solution.prompt.length - 1;
    const changed = nextBefore[t] && nextBefore[t].token !== next[t].token;
    const fill = scene.isWrong(t) ? red : changed ? ink : answers ? blue : soft;
    const name = shortened(names(next[t].token), layout.widths[t]);
    const big = t === state.position;
    surface.text(x, y, name, { fill, size: big ? 16 : 14, bold: answers || changed, mono: true, anchor: "middle" });
    if (!changed) continue;
    const was = shortened(names(nextBefore[t].token), layout.widths[t]);
    surface.text(x, y + 18, was, { fill: soft, size: 11, mono: true, anchor: "middle" });
    surface.line([x - 4.5 * was.length, y + 14, x + 4.5 * was.length, y + 14], { stroke: soft });
  }
}
