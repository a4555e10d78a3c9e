/**
 * The engine in the page: what a transformer computes, with every site and edits, in float64, without Python.
 *
 *     const model = readModel(JSON.parse(document.getElementById("model").textContent));
 *     selfCheck(model)                                 // { worst: 4e-14, argmaxEqual: true, inputs: 3, passed: true }
 *     const ids = model.vocab.encode("045+978=");
 *     const trace = run(model, ids, { want: ["*.pattern"], edits: { "2.z": 0 } });
 *     trace.at("2.pattern")                                  // { shape: [1, 8, 8], data: Float64Array }
 *     model.vocab.decode(generate(model, ids))               // "1023"
 *
 * It is `core/reference.py`, function by function; the tests compare the two at every site.
 */
export { decode, generate } from "./engine/decode.js";
export { HandloomError } from "./engine/errors.js";
export { fastest, plain, wasmKernel } from "./engine/kernel.js";
export { readModel, withParams } from "./engine/model.js";
export { firstLayer, shapes } from "./engine/params.js";
export { Past } from "./engine/past.js";
export { run } from "./engine/run.js";
export { selfCheck, TOLERANCE } from "./engine/self_check.js";
export { layerOf, sites } from "./engine/sites.js";
export { Trace } from "./engine/trace.js";
