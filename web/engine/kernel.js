/**
 * Kernels: the three loops that take the time of a run. `plain` is JavaScript; `wasm` is kernel.c, compiled, which is a
 * few times faster and is used where the browser has WebAssembly with SIMD and the page's policy lets it run
 * (`'wasm-unsafe-eval'`). Products have the same bits in both; exp and tanh differ by 1e-15.
 *
 * @typedef {object} Kernel
 * @property {"plain" | "wasm"} name
 * @property {(a: Part, b: Part, out: Part, rows: number, inner: number, columns: number) => void} matmul
 *   out (rows, columns) = a (rows, inner) b (inner, columns)
 * @property {(x: Float64Array) => void} exp in place; of numbers up to 700
 * @property {(x: Float64Array) => void} tanh in place, right to 1e-15 of 1
 *
 * @typedef {{ data: Float64Array, at: number }} Part an array from this place on
 * @typedef {{ memory: WebAssembly.Memory, heap(): number, exp_all(x: number, count: number): void,
 *   tanh_all(x: number, count: number): void,
 *   matmul(a: number, b: number, out: number, rows: number, inner: number, columns: number): void }} Exports
 */
import { bytes } from "./base64.js";
import { KERNEL } from "./kernel.wasm.js";

/**
 * @param {Float64Array} data
 * @param {number} [at]
 * @returns {Part}
 */
export const part = (data, at = 0) => ({ data, at });

/** @type {Kernel} */
export const plain = {
  name: "plain",
  matmul(a, b, out, rows, inner, columns) {
    const [high, broad] = [rows - (rows % 2), columns - (columns % 4)];
    for (let j = 0; j < broad; j += 4) {
      for (let i = 0; i < high; i += 2) tile(a, b, out, i, j, inner, columns);
    }
    for (let i = 0; i < rows; i++) {
      for (let j = i < high ? broad : 0; j < columns; j++) {
        let sum = 0;
        const row = a.at + i * inner;
        for (let p = 0, q = b.at + j; p < inner; p++, q += columns) sum += a.data[row + p] * b.data[q];
        out.data[out.at + i * columns + j] = sum;
      }
    }
  },
  exp(x) {
    for (let i = 0; i < x.length; i++) x[i] = Math.exp(x[i]);
  },
  tanh(x) {
    for (let i = 0; i < x.length; i++) x[i] = Math.tanh(x[i]);
  },
};

/**
 * Two rows by four columns of a product: eight sums that stay in registers.
 * @param {Part} left
 * @param {Part} right
 * @param {Part} out
 * @param {number} i
 * @param {number} j
 * @param {number} inner
 * @param {number} columns
 */
function tile(left, right, out, i, j, inner, columns) {
  const a = left.data;
  const b = right.data;
  let s0 = 0, s1 = 0, s2 = 0, s3 = 0, t0 = 0, t1 = 0, t2 = 0, t3 = 0;
  let p = left.at + i * inner;
  let q = p + inner;
  let k = right.at + j;
  for (const end = q; p < end; p++, q++, k += columns) {
    const x = a[p];
    const y = a[q];
    const b0 = b[k];
    const b1 = b[k + 1];
    const b2 = b[k + 2];
    const b3 = b[k + 3];
    s0 += x * b0;
    s1 += x * b1;
    s2 += x * b2;
    s3 += x * b3;
    t0 += y * b0;
    t1 += y * b1;
    t2 += y * b2;
    t3 += y * b3;
  }
  const c = out.data;
  let at = out.at + i * columns + j;
  c[at] = s0;
  c[at + 1] = s1;
  c[at + 2] = s2;
  c[at + 3] = s3;
  at += columns;
  c[at] = t0;
  c[at + 1] = t1;
  c[at + 2] = t2;
  c[at + 3] = t3;
}

const PAGE = 65_536; // bytes, by which the memory of WebAssembly grows
const SMALL = 4_000; // multiplications; copying in and out takes longer than a product of fewer

/**
 * The kernel in WebAssembly; undefined where it cannot run. Numbers are copied in and out: a hundredth of the time of a
 * product of useful size, and no array of a trace lies in a memory that moves when it grows.
 * @returns {Kernel | undefined}
 */
export function wasmKernel() {
  try {
    const module = new WebAssembly.Module(bytes(KERNEL));
    return kernelOf(/** @type {any} */ (new WebAssembly.Instance(module).exports));
  } catch {
    return undefined; // no WebAssembly, no SIMD, or a policy that forbids it
  }
}

/**
 * @param {Exports} wasm
 * @returns {Kernel}
 */
function kernelOf(wasm) {
  const start = wasm.heap();
  let memory = new Float64Array(wasm.memory.buffer);
  /** @param {number} count of numbers that must fit */
  const room = (count) => {
    const missing = start + 8 * count - wasm.memory.buffer.byteLength;
    if (missing > 0) wasm.memory.grow(Math.ceil(missing / PAGE));
    if (memory.length === 0 || missing > 0) memory = new Float64Array(wasm.memory.buffer);
    return start / 8;
  };
  /**
   * @param {Float64Array} x
   * @param {(x: number, count: number) => void} loop which takes an even count
   */
  const inPlace = (x, loop) => {
    const even = x.length + (x.length % 2);
    const at = room(even);
    memory.set(x, at);
    if (even > x.length) memory[at + x.length] = 0;
    loop(8 * at, even);
    x.set(memory.subarray(at, at + x.length));
  };
  return {
    name: "wasm",
    matmul(a, b, out, rows, inner, columns) {
      if (rows * inner * columns < SMALL) return plain.matmul(a, b, out, rows, inner, columns);
      const [m, n] = [rows * inner, inner * columns];
      const at = room(m + n + rows * columns);
      memory.set(a.data.subarray(a.at, a.at + m), at);
      memory.set(b.data.subarray(b.at, b.at + n), at + m);
      wasm.matmul(8 * at, 8 * (at + m), 8 * (at + m + n), rows, inner, columns);
      out.data.set(memory.subarray(at + m + n, at + m + n + rows * columns), out.at);
    },
    exp: (x) => (x.length < 100 ? plain.exp(x) : inPlace(x, wasm.exp_all)),
    tanh: (x) => (x.length < 100 ? plain.tanh(x) : inPlace(x, wasm.tanh_all)),
  };
}

/** The fastest kernel that runs here. */
export const fastest = wasmKernel() ?? plain;
