// The parts of the loom that need no browser.
import assert from "node:assert/strict";
import { test } from "node:test";
import { generate, readModel, run, shapes } from "../engine.js";
import { readConfig } from "../engine/config.js";
import { uniform } from "../engine/random.js";
import { sizeOf } from "../engine/tensor.js";
import { colours, hex, lab } from "../loom/colour.js";
import { Runner } from "../loom/compute.js";
import { partsAt, shares } from "../loom/decompose.js";
import { applied, fits } from "../loom/edits.js";
import { mark } from "../loom/exam.js";
import { label } from "../loom/pattern.js";
import { readingsOf, valueName } from "../loom/readings.js";
import { edited, fragment, fromFragment, readEdit, redone, start, undone, written } from "../loom/state.js";
import { onSvg } from "../loom/surface.js";
import { number, percent, tokenName } from "../loom/words.js";

const FIELDS = { vocab: 7, block: 9, d_model: 8, layers: 2, heads: 2, d_head: 4, d_ff: 12, tied: false };
const IDS = [3, 1, 4, 0, 6];
const LIGHT = { blue: "#1b6ca8", orange: "#b34700", zero: "#cdcac2", paper: "#ffffff", navy: "#0e2f57" };

function randomModel(fields = {}, notes = {}) {
  const random = uniform(1, 0);
  const config = { ...FIELDS, ...fields };
  const pack = (shape) => {
    const data = Float64Array.from({ length: sizeOf(shape) }, () => random() - 0.5);
    return { shape, type: "f8", data: Buffer.from(data.buffer).toString("base64") };
  };
  const arrays = Object.fromEntries([...shapes(readConfig(config))].map(([name, shape]) => [name, pack(shape)]));
  return readModel({ config, vocab: { tokens: [..."abcdefg"], separator: "" }, arrays, notes });
}

const KINDS = {
  "pre norm": {},
  "post norm": { place: "post" },
  "no norm": { norm: "none" },
  rms: { norm: "rms" },
  tied: { tied: true },
  parallel: { parallel: true },
  "no MLP": { d_ff: 0 },
  "no heads": { heads: 0, d_head: 0 },
  "no layers": { layers: 0, heads: 0, d_head: 0, d_ff: 0 },
  "no skip": { skips: ["mlp"] },
  "all biases": { biases: ["attn", "mlp", "norm", "unembed"] },
  "shared keys": { kv_heads: 1 },
};
for (const [name, fields] of Object.entries(KINDS)) {
  test(`what each part added sums to the logit, also when it is edited: ${name}`, () => {
    const original = randomModel(fields);
    const edits = [{ what: "W_E", at: [3, 2], value: 2 }];
    if (original.config.heads) edits.push({ what: "1.z", at: [1], value: 0 });
    if (original.config.d_ff) edits.push({ what: "0.mlp_post", at: [5], value: 0 });
    const { model, sites } = applied(original, edits);
    const { values, logits } = run(model, IDS, { want: "*", edits: sites });
    for (const t of [0, 4]) {
      const parts = partsAt(model, values, t);
      for (let token = 0; token < 7; token++) {
        const sum = shares(model, parts, token).reduce((all, one) => all + one.amount, 0);
        assert.ok(Math.abs(sum - logits.data[t * 7 + token]) < 1e-11);
      }
    }
  });
}

test("a guessed answer is the answer of greedy decoding, whatever is edited before", () => {
  const model = randomModel();
  const runner = new Runner(model, 5);
  const prompt = [2, 5];
  const all = [
    [],
    [{ what: "layers.1.W_V", at: [0, 2, 1], value: 9 }],
    [{ what: "W_U", at: [2, 4], value: -6 }],
    [{ what: "0.z", at: [1], value: 0 }],
    [
      { what: "layers.0.W_in", at: [1, 1], value: 4 },
      { what: "1.pattern", at: [0, 2, 1], value: 0 },
    ],
    [],
  ];
  for (const edits of all) {
    const { model: changed, sites } = applied(model, edits);
    const wanted = generate(changed, prompt, { steps: 5, edits: sites });
    const { answer, logits, ids } = runner.solve(prompt, edits);
    assert.deepEqual(answer, wanted);
    assert.deepEqual(ids, [...prompt, ...answer.slice(0, -1)]);
    assert.deepEqual(logits, run(changed, ids, { edits: sites }).logits);
  }
});

test("the exam marks an answer right just if greedy decoding gives it", () => {
  const model = randomModel();
  const prompt = [2, 5, 1];
  const right = generate(model, prompt, { steps: 3 });
  assert.deepEqual(mark(model, [prompt, right], {}), { right: true, got: -1 });
  const wrong = [right[0], (right[1] + 1) % 7, right[2]];
  assert.deepEqual(mark(model, [prompt, wrong], {}), { right: false, got: right[1] });
});

test("a state comes back from its fragment", () => {
  const model = randomModel();
  let state = { ...start("a&b=%é"), position: 3, stage: 2, part: 1, view: "ladder" };
  state = edited(state, { what: "layers.1.W_V", at: [0, 2, 1], value: -1.5e-7 });
  state = edited(state, { what: "1.z", at: [1], value: 0 });
  const back = fromFragment(start(""), fragment(state), (edit) => fits(model, edit));
  assert.deepEqual({ ...back, past: [] }, { ...state, past: [] });
});

test("a damaged or hostile fragment changes nothing that it should not", () => {
  const model = randomModel();
  const hashes = [
    "#in=%zz&at=x,y",
    "#edits=layers.9.W_V[0,0,0]=1;__proto__[0]=1;W_E[99,0]=1;1.z[7]=0;W_E[0,0]=1e999",
    "#",
  ];
  for (const hash of hashes) {
    const state = fromFragment(start("abc"), hash, (edit) => fits(model, edit));
    assert.deepEqual([state.text, state.edits, state.position], ["abc", [], -1]);
  }
});

test("an edit reads as it is written", () => {
  const edit = { what: "layers.2.W_V", at: [0, 2, 0], value: 8027.8 };
  assert.equal(written(edit), "layers.2.W_V[0,2,0]=8027.8");
  assert.deepEqual(readEdit(written(edit)), edit);
  assert.deepEqual(readEdit("pos_embed=0"), { what: "pos_embed", at: [], value: 0 });
  assert.equal(readEdit("alert(1)"), undefined);
});

test("undo takes back a drag as a whole, and redo brings it back", () => {
  const at = (value) => ({ what: "W_E", at: [0, 0], value });
  let state = edited(start(""), at(1));
  state = edited(edited(state, at(2), true), at(3), true);
  assert.deepEqual(state.edits, [at(3)]);
  assert.deepEqual(undone(state).edits, []);
  assert.deepEqual(redone(undone(state)).edits, [at(3)]);
});

test("both arms of the colours are equally light and meet at zero", () => {
  const { signed } = colours(LIGHT);
  assert.equal(signed(0), signed(-0));
  for (const x of [0.25, 0.5, 1]) assert.ok(Math.abs(lab(signed(x))[0] - lab(signed(-x))[0]) < 0.02);
  const steps = [0, 0.25, 0.5, 0.75, 1].map((x) => lab(signed(x))[0]);
  const gaps = steps.slice(1).map((one, i) => one - steps[i]);
  assert.ok(Math.max(...gaps) - Math.min(...gaps) < 0.01); // equal steps
  assert.equal(hex(lab("#1b6ca8")), "#1b6ca8");
});

test("readings name the nearest value, and what is loud means the same", () => {
  const notes = {
    readings: { digit: { vectors: [[1, 0, 0, 0, 0, 0, 0, 0]], kind: "token", points: [[1], [2]], values: ["x", "y"] } },
  };
  const [digit] = readingsOf(randomModel({}, notes));
  assert.deepEqual(
    [1.1, 2, 1e9, 1e-9].map((one) => valueName(digit, [one])),
    ["x", "y", "y", "nothing"],
  );
  const damaged = { readings: { a: { vectors: [[1]], kind: "token" }, b: null, c: { vectors: "x", kind: 3 } } };
  assert.deepEqual(readingsOf(randomModel({}, damaged)), []);
});

test("a saved figure holds a stranger's names as text", () => {
  const surface = onSvg(10, 10);
  surface.text(0, 0, `</text><script>alert("1")</script>&\u0000`, { fill: `"><script>` });
  assert.doesNotMatch(surface.done(), /<script|\u0000/);
});

test("numbers and tokens read well", () => {
  assert.deepEqual(
    [0, 1, -0.5, 8027.8, 157637.1, 1e-5, 1 / 3].map((x) => number(x)),
    ["0", "1", "−0.5", "8027.8", "1.58e5", "1e−5", "0.3333"],
  );
  assert.deepEqual([1, 0.054, 0.333].map(percent), ["100 %", "5.4 %", "33 %"]);
  assert.deepEqual([" ", "<bos>", "a\n"].map(tokenName), ["space", "bos", "a↵"]);
});

test("a token beside a pattern is whole, or it is seen that it was cut", () => {
  const short = ["7", "408", "<>", "space", "100000", "1000000"].map(label);
  assert.deepEqual(short, ["7", "408", "<>", "␣", "100000", "10000…"]);
});
