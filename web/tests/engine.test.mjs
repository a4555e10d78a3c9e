// What the engine promises beyond computing what the reference computes.
import assert from "node:assert/strict";
import { test } from "node:test";
import { firstLayer, Past, plain, readModel, run, selfCheck, shapes, sites } from "../engine.js";
import { wasmKernel, withParams } from "../engine.js";
import { readConfig } from "../engine/config.js";
import { part } from "../engine/kernel.js";
import { uniform } from "../engine/random.js";
import { asTensor, broadcast, sizeOf } from "../engine/tensor.js";

const FIELDS = { vocab: 5, block: 6, d_model: 8, layers: 3, heads: 2, d_head: 4, d_ff: 12, tied: false };
const IDS = [3, 1, 4, 0];

function randomModel(fields = {}, seed = 0) {
  const random = uniform(seed, 0);
  const config = { ...FIELDS, ...fields };
  const numbers = (shape) => Float64Array.from({ length: sizeOf(shape) }, () => random() - 0.5);
  const all = [...shapes(readConfig(config))];
  const arrays = Object.fromEntries(all.map(([name, shape]) => [name, pack(shape, numbers(shape))]));
  const vocab = { tokens: Array.from({ length: config.vocab }, (_, i) => `${i}`) };
  return readModel({ config, vocab, arrays });
}

const pack = (shape, data) => ({ shape, type: "f8", data: Buffer.from(data.buffer).toString("base64") });
const refused = (f, words) =>
  assert.throws(f, (error) => error.name === "HandloomError" && error.message.includes(words));

test("a run from the first changed layer gives the bits of a run from the beginning", () => {
  const model = randomModel();
  const before = run(model, IDS, { want: "*" });
  for (const name of Object.keys(model.params)) {
    const old = model.params[name];
    const changed = withParams(model, { [name]: { shape: old.shape, data: old.data.map((x) => 1.5 * x) } });
    const whole = run(changed, IDS, { want: "*" });
    const from = firstLayer(model.config, name);
    if (!name.endsWith("b_K")) assert.notDeepEqual(whole.logits, before.logits, name); // which moves all scores alike
    assert.equal(from === undefined, name === "W_E" || name === "W_pos");
    if (from === undefined) continue;
    const again = run(changed, IDS, { want: "*", from, resume: before });
    assert.deepEqual(new Map([...again.values].sort()), new Map([...whole.values].sort()), name);
    assert.deepEqual(run(changed, IDS, { from, resume: again }).logits, whole.logits);
  }
});

test("a run with an edit in a layer resumes from that layer", () => {
  const model = randomModel();
  const before = run(model, IDS, { want: "*" });
  const edits = { "1.z": 0 };
  const whole = run(model, IDS, { want: "*", edits });
  assert.deepEqual(run(model, IDS, { want: "*", edits, from: 1, resume: before }).logits, whole.logits);
  refused(() => run(model, IDS, { edits, from: 2, resume: before }), "another edit of 1.z");
  refused(() => run(model, [1, 2], { from: 1, resume: before }), "other tokens");
  refused(() => run(model, IDS, { want: "0.z", from: 1, resume: run(model, IDS) }), "was not recorded");
  refused(() => run(model, IDS, { from: 1 }), "give both");
  refused(() => run(model, IDS, { from: 4, resume: before }), "from=4 is behind the last layer");
});

test("tokens fed one by one give the logits of the whole text", () => {
  const model = randomModel({ positions: "rotary" });
  const past = new Past();
  const rows = IDS.map((id) => run(model, [id], { past }).logits.data);
  const whole = run(model, IDS).logits.data;
  rows.forEach((row, t) => row.forEach((x, j) => assert.ok(Math.abs(x - whole[t * 5 + j]) < 1e-13)));
});

test("the kernels give the same: products to the bit, exp and tanh to 1e-15", { skip: !wasmKernel() }, () => {
  const wasm = wasmKernel();
  const random = uniform(1, 0);
  const numbers = (count, scale = 1) => Float64Array.from({ length: count }, () => scale * (random() - 0.5));
  for (const [m, k, n] of [[30, 17, 23], [4, 64, 64], [1, 80, 300], [203, 5, 7], [64, 300, 64]]) {
    const [a, b, one, other] = [numbers(m * k + 3), numbers(k * n + 2), numbers(m * n + 1), numbers(m * n + 1)];
    other[0] = one[0];
    plain.matmul(part(a, 3), part(b, 2), part(one, 1), m, k, n);
    wasm.matmul(part(a, 3), part(b, 2), part(other, 1), m, k, n);
    assert.deepEqual(one, other);
  }
  const special = [NaN, -Infinity, -708, -709, -1e9, 0, -0, 1e-300, -1e-20, 1, 700];
  for (const name of ["exp", "tanh"]) {
    const x = Float64Array.from([...special, ...numbers(1001, 60), ...numbers(300, 1e-3)]);
    const [one, other] = [x.slice(), x.slice()];
    plain[name](one);
    wasm[name](other);
    const isNear = (y, z) => Object.is(y, z) || Math.abs(y - z) <= 1e-15 * Math.max(1, y);
    one.forEach((y, i) => assert.ok(isNear(y, other[i]), `${x[i]}`));
  }
});

test("the kernel is small enough to be compiled at once on a page's main thread", async () => {
  const { KERNEL } = await import("../engine/kernel.wasm.js");
  assert.ok(atob(KERNEL).length < 4096);
});

test("the memory of the kernel grows and keeps working", { skip: !wasmKernel() }, () => {
  const wasm = wasmKernel();
  for (const n of [10, 400, 20]) {
    const one = new Float64Array(n * n).fill(1);
    const out = new Float64Array(n * n);
    wasm.matmul(part(one), part(one), part(out), n, n, n);
    assert.ok(out.every((x) => x === n));
  }
});

test("a page says when it computes something else", () => {
  const model = randomModel();
  const { logits } = run(model, IDS);
  const stored = { ids: IDS, logits: { shape: [2, 5], data: logits.data.slice(10) } };
  assert.deepEqual(selfCheck({ ...model, stored: [stored] }), { worst: 0, argmaxEqual: true, inputs: 1, passed: true });
  for (const wrong of [(x) => x + 1e-6, () => NaN, (x) => -x]) {
    const other = { shape: [2, 5], data: stored.logits.data.map(wrong) };
    assert.equal(selfCheck({ ...model, stored: [{ ids: IDS, logits: other }] }).passed, false);
  }
});

test("what cannot be run is refused in one line", () => {
  const model = randomModel();
  refused(() => readConfig({ ...FIELDS, memories: 4 }), 'this engine has no field "memories"');
  refused(() => readConfig({ ...FIELDS, attention: "sparse" }), 'this engine has no attention="sparse"');
  refused(() => readConfig({ ...FIELDS, layers: -1 }), "layers=-1");
  refused(() => run(model, []), "the prompt is empty");
  refused(() => run(model, [5]), "token 5 is not in the vocabulary");
  refused(() => run(model, [0, 1, 2, 3, 4, 0, 1]), "the block holds 6");
  refused(() => run(model, IDS, { want: "foo" }), "its sites are embed");
  refused(() => run(model, IDS, { edits: { foo: 0 } }), "and the same for layers 1 to 2");
  refused(() => run(model, IDS, { edits: { "0.z": [1, 2, 3] } }), "the edit of 0.z needs numbers of shape (2, 4, 4)");
  refused(() => run(model, IDS, { edits: { "0.z": () => undefined } }), "the edit of 0.z needs");
  refused(() => withParams(model, { W_X: asTensor([1]) }), 'parameter "W_X" is not one');
  refused(() => withParams(model, { W_U: asTensor([1]) }), "the Config asks for (8,5)");
});

test("edits leave what is recorded elsewhere, and the model, as it was", () => {
  const model = randomModel();
  const weights = structuredClone(model.params);
  const edits = { "0.mlp_pre": (x) => (x.data.fill(7), x), "*.pattern": 0 };
  const trace = run(model, IDS, { want: [...sites(model.config).keys()], edits });
  assert.ok(trace.at("0.mlp_pre").data.every((x) => x === 7));
  assert.ok(trace.at("2.pattern").data.every((x) => x === 0));
  assert.deepEqual(model.params, weights);
  refused(() => run(model, IDS).at("0.z"), "was not recorded");
});

test("an edit's own site wins over a pattern", () => {
  const trace = run(randomModel(), IDS, { want: "*.z", edits: { "0.z": 1, "*.z": 2 } });
  assert.equal(trace.at("0.z").data[0], 1);
  assert.equal(trace.at("1.z").data[0], 2);
});

test("numbers are repeated to a shape as NumPy repeats them", () => {
  assert.deepEqual([...broadcast(asTensor([1, 2]), [2, 2]).data], [1, 2, 1, 2]);
  assert.deepEqual([...broadcast(asTensor([[1], [2]]), [2, 2]).data], [1, 1, 2, 2]);
  assert.deepEqual([...broadcast(asTensor(3), [2]).data], [3, 3]);
  refused(() => broadcast(asTensor([1, 2]), [3]), "it has the shape (2)");
  refused(() => asTensor([[1], [1, 2]]), "differ in length");
  refused(() => asTensor("1"), "not numbers");
});
