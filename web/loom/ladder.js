/**
 * The ladder: what the stream would predict at each stage if it ended there, inked by its probability, and beside it a
 * bar for how much attention or the MLP has added: for models whose directions have no names.
 *
 * @typedef {import("./scene.js").Scene} Scene
 * @typedef {import("./surface.js").Surface} Surface
 */
import { middle } from "./layout.js";

/**
 * @param {Surface} surface
 * @param {Scene} scene
 */
export function drawLadder(surface, scene) {
  const { layout, stages, colours, seen, added, state } = scene;
  for (const t of scene.columns) {
    const x = middle(layout, t);
    stages.forEach((stage, s) => {
      const y = layout.ys[s];
      surface.line([x, y + 14, x, (layout.ys[s + 1] ?? layout.last) - 17], { stroke: colours.named.line });
      const one = seen[s]?.[t];
      if (one) rung(surface, scene, x, y, one, t === state.position);
      const share = added[s]?.[t] ?? 0;
      const height = Math.min(24, 22 * share);
      const fill = stage.kind === "mlp" ? colours.named.mlp : colours.named.blue;
      const side = x + Math.min(0.4 * layout.widths[t], 22);
      if (height > 0.5) surface.rect(side, y + 7 - height, 4, height, { fill, alpha: 0.85 }, 1.5);
    });
  }
}

/**
 * @param {Surface} surface
 * @param {Scene} scene
 * @param {number} x
 * @param {number} y
 * @param {import("./lens.js").Seen} seen
 * @param {boolean} big
 */
function rung(surface, { names, colours, layout }, x, y, { token, p }, big) {
  const name = names(token);
  const size = big ? 14.5 : 13;
  surface.text(x, y + 4, shortened(name, layout.widths[0]), {
    fill: colours.named.ink,
    alpha: 0.32 + 0.68 * p,
    bold: p > 0.5,
    mono: true,
    size,
    anchor: "middle",
  });
}

/**
 * @param {string} name
 * @param {number} width
 */
export function shortened(name, width) {
  const most = Math.max(2, Math.floor(width / 8.2));
  return name.length <= most ? name : `${name.slice(0, most - 1)}…`;
}
