/**
 * The keys and values of the positions run so far. In a causal model they never change, so that a run can continue from
 * them instead of from the beginning.
 *
 * @typedef {import("./tensor.js").Tensor} Tensor
 */
import { zeros } from "./tensor.js";

export class Past {
  constructor() {
    this.length = 0;
    /** @type {Map<number, [Tensor, Tensor]>} */
    this.layers = new Map();
  }

  /**
   * @param {number} i the layer
   * @param {Tensor} k (G, T, K)
   * @param {Tensor} v
   * @returns {[Tensor, Tensor]} of all positions so far
   */
  extend(i, k, v) {
    const old = this.layers.get(i);
    /** @type {[Tensor, Tensor]} */
    const both = old ? [joined(old[0], k), joined(old[1], v)] : [k, v];
    this.layers.set(i, both);
    return both;
  }
}

/**
 * @param {Tensor} a (G, S, K)
 * @param {Tensor} b (G, T, K)
 * @returns {Tensor} (G, S + T, K)
 */
function joined(a, b) {
  const [G, S, K] = a.shape;
  const T = b.shape[1];
  const out = zeros([G, S + T, K]);
  for (let g = 0; g < G; g++) {
    out.data.set(a.data.subarray(g * S * K, (g + 1) * S * K), g * (S + T) * K);
    out.data.set(b.data.subarray(g * T * K, (g + 1) * T * K), (g * (S + T) + S) * K);
  }
  return out;
}
