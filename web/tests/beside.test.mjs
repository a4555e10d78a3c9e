// Two looms side by side: what passes from one to the other, without a browser.
import assert from "node:assert/strict";
import { test } from "node:test";
import { withOneExam } from "../loom/beside.js";
import { passedOn, sameStage } from "../loom/link.js";
import { start } from "../loom/state.js";

const stage = (kind, layer) => ({ kind, layer });
const TWO = [stage("token", -1), stage("attention", 0), stage("mlp", 0), stage("attention", 1)];
const ONE = [stage("token", -1), stage("position", -1), stage("attention", 0)];

const desk = (stages, heads, length, text = "1 2") => ({
  study: { stages },
  config: { heads },
  solution: { ids: Array(length) },
  state: start(text),
});

test("a stage is found in another model by its kind and layer, and what has none is not", () => {
  assert.equal(sameStage(TWO[1], ONE), 2);
  assert.equal(sameStage(TWO[2], ONE), -1);
  assert.equal(sameStage(TWO[0], ONE), 0);
  assert.equal(sameStage(ONE[1], TWO), 0, "token and position are one stage there");
});

test("a new input is passed on alone; a selection only where it exists", () => {
  const [from, to] = [desk(TWO, 2, 9), desk(ONE, 1, 4)];
  const before = from.state;
  assert.deepEqual(passedOn(before, { ...before, text: "3" }, from, to), { text: "3", position: -1 });
  const passed = (now) => passedOn(before, { ...before, ...now }, from, to);
  assert.deepEqual(passed({ position: 3 }), { position: 3 });
  assert.deepEqual(passed({ position: 4 }), {});
  assert.deepEqual(passed({ stage: 1, part: 0 }), { stage: 2, part: 0 });
  assert.deepEqual(passed({ stage: 1, part: 1 }), { stage: 2 }, "there is one head");
  assert.deepEqual(passed({ stage: 3 }), {}, "there is one layer");
  assert.deepEqual(passed({}), {});
});

const given = (tokens, exam, { block = 9, bos = null } = {}) => ({
  data: { vocab: { tokens, separator: "", bos }, config: { block } },
  page: { name: "", on: "", exam },
});
const EXAM = [
  [[0, 1], [2]],
  [[2, 2, 2], [0]],
];

test("both are asked one exam, each in its own tokens, and only what both have room for", () => {
  const [a, b] = withOneExam([given([..."abc"], EXAM), given([..."cba"], [], { block: 2 })]);
  assert.deepEqual(a.page.exam, [[[0, 1], [2]]]);
  assert.deepEqual(b.page.exam, [[[2, 1], [0]]]);
});

test("the second's exam is taken if the first has none, and each keeps its own if their tokens differ", () => {
  const [a, b] = withOneExam([given([..."cba"], []), given([..."abc"], EXAM)]);
  assert.deepEqual(a.page.exam, [
    [[2, 1], [0]],
    [[0, 0, 0], [2]],
  ]);
  assert.equal(b.page.exam.length, 2);
  const others = [given([..."abc"], EXAM), given([..."xy"], [[[0], [1]]])];
  assert.deepEqual(withOneExam(others), others);
  const begins = [given([..."abc"], EXAM), given([..."abc"], [], { bos: "a" })];
  assert.deepEqual(withOneExam(begins), begins);
});
