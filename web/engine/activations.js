/**
 * Activations of neurons, in place, as `core/reference.py` writes them.
 *
 * @typedef {import("./kernel.js").Kernel} Kernel
 * @typedef {import("./config.js").Config["activation"]} Activation
 */
import { erf } from "./erf.js";

/** @type {Record<Activation, (x: Float64Array, kernel: Kernel) => void>} */
const ACTIVATIONS = {
  relu: (x) => each(x, (one) => Math.max(one, 0)),
  gelu: (x) => each(x, (one) => 0.5 * one * (1 + erf(one / Math.SQRT2))),
  gelu_tanh: (x, kernel) =>
    byTanh(x, (one) => Math.sqrt(2 / Math.PI) * (one + 0.044715 * one * one * one), kernel),
  silu: (x, kernel) => byTanh(x, (one) => 0.5 * one, kernel), // x · sigmoid(x), and no overflow
  none: () => {},
};

/**
 * @param {Activation} activation
 * @param {Float64Array} x changed in place
 * @param {Kernel} kernel
 */
export const activate = (activation, x, kernel) => ACTIVATIONS[activation](x, kernel);

/**
 * @param {Float64Array} x
 * @param {(one: number) => number} f
 */
function each(x, f) {
  for (let i = 0; i < x.length; i++) x[i] = f(x[i]);
}

/**
 * 0.5 x (1 + tanh(f(x)))
 * @param {Float64Array} x
 * @param {(one: number) => number} f
 * @param {Kernel} kernel
 */
function byTanh(x, f, kernel) {
  const inner = x.map(f);
  kernel.tanh(inner);
  for (let i = 0; i < x.length; i++) x[i] *= 0.5 * (1 + inner[i]);
}
