/**
 * Positions: rows that are added to the embedding, or turns of queries and keys.
 *
 * @typedef {import("./tensor.js").Tensor} Tensor
 * @typedef {import("./run.js").Run} Run
 */
import { zeros } from "./tensor.js";

/**
 * What a table or sinusoids add to the embedding at these positions, (T, D); nothing for other kinds of positions.
 * @param {Run} run
 * @returns {Tensor | undefined}
 */
export function positionRows(run) {
  const { config, start } = run;
  const [T, D] = [run.ids.length, config.d_model];
  if (config.positions === "sinusoid") return sinusoid(start, T, D);
  if (config.positions !== "table") return undefined;
  return { shape: [T, D], data: run.params.W_pos.data.slice(start * D, (start + T) * D) };
}

/**
 * The fixed positions of Vaswani et al.: column 2j is sin(t / 10000^(2j/D)), column 2j + 1 its cosine.
 * @param {number} start
 * @param {number} T
 * @param {number} D
 */
function sinusoid(start, T, D) {
  const out = zeros([T, D]);
  for (let j = 0; j < D; j++) {
    const frequency = 10_000 ** (-(j - (j % 2)) / D);
    for (let t = 0; t < T; t++) {
      const angle = (start + t) * frequency;
      out.data[t * D + j] = j % 2 ? Math.cos(angle) : Math.sin(angle);
    }
  }
  return out;
}

/**
 * Rotary positions: the pair (x[j], x[j + K/2]) at position t is turned by the angle t / base^(2j/K).
 * @param {Tensor} x (H, T, K)
 * @param {number} start
 * @param {number} base
 * @returns {Tensor}
 */
export function turnPairs(x, start, base) {
  const [H, T, K] = x.shape;
  const half = K / 2;
  const out = zeros(x.shape);
  for (let j = 0; j < half; j++) {
    const frequency = base ** ((-2 * j) / K);
    for (let t = 0; t < T; t++) {
      const [cos, sin] = [Math.cos((start + t) * frequency), Math.sin((start + t) * frequency)];
      for (let h = 0; h < H; h++) {
        const at = (h * T + t) * K + j;
        const [a, b] = [x.data[at], x.data[at + half]];
        out.data[at] = a * cos - b * sin;
        out.data[at + half] = b * cos + a * sin;
      }
    }
  }
  return out;
}
