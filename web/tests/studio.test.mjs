/** The parts of the studio that need no browser: axes, boards, and what a run makes of its events. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { elementAt, indicesOf, layoutOf, writtenAs } from "../studio/board_space.js";
import { Run } from "../studio/job_book.js";
import { lasting, logTicks, percent, ticks, written } from "../studio/ticks.js";

const GRAPH = { kind: "graph", length: 6, sides: [4], elements: [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]] };

test("ticks are round, inside, and whole for what is counted", () => {
  assert.deepEqual(ticks(0, 15000, 4), [0, 5000, 10000, 15000]);
  assert.deepEqual(ticks(0, 3, 10, true), [0, 1, 2, 3]);
  assert.deepEqual(ticks(2, 2, 4), [2]);
  for (const [low, high] of [[0.1, 0.7], [-3, 11], [1e-4, 2e-4]]) {
    for (const tick of ticks(low, high, 5)) assert.ok(tick >= low - 1e-9 && tick <= high + 1e-9);
  }
});

test("the ticks of a logarithmic axis are powers of ten, and more between few of them", () => {
  assert.deepEqual(logTicks(0.009, 110), [0.01, 0.1, 1, 10, 100]);
  assert.ok(logTicks(0.5, 3).includes(2));
  assert.deepEqual(logTicks(3, 4), [3, 4]);
});

test("numbers, shares and times are written as people read them", () => {
  assert.deepEqual([written(15000), written(0.72654321), written(3e-7)], ["15,000", "0.7265", "3.00e-7"]);
  assert.deepEqual([percent(1), percent(0.965), percent(0.0123)], ["100 %", "96.5 %", "1.2 %"]);
  assert.deepEqual([lasting(14.2), lasting(75), lasting(7300)], ["14 s", "1 min 15 s", "2 h 2 min"]);
});

test("every cell of a board is found at its middle, and nothing beside it", () => {
  const places = Array.from({ length: 12 }, (_, i) => [Math.floor(i / 4), i % 4]);
  const cells = { elements: places, places, size: [3, 4], frames: [[0, 0, 3, 4]] };
  const grid = { kind: "grid", length: 12, sides: [3, 4], ...cells };
  for (const space of [grid, { kind: "word", length: 30, sides: [], elements: ["a", "b"] }]) {
    const layout = layoutOf(space, 300);
    layout.boxes.forEach(({ x, y, width, height }, i) =>
      assert.equal(elementAt(space, layout, x + width / 2, y + height / 2, undefined), i),
    );
    assert.equal(elementAt(space, layout, 1, 1, undefined), -1);
  }
});

test("two vertices make their edge, in either order", () => {
  const layout = layoutOf(GRAPH, 300);
  const [one, other] = [layout.vertices[3], layout.vertices[1]];
  assert.deepEqual(elementAt(GRAPH, layout, one.x, one.y, undefined), { vertex: 3 });
  assert.equal(elementAt(GRAPH, layout, other.x, other.y, 3), 4);
  assert.equal(elementAt(GRAPH, layout, one.x, one.y, 1), 4);
});

test("constructions are read as they are written", () => {
  assert.deepEqual(writtenAs(GRAPH, indicesOf(GRAPH, [[0, 2], [2, 3]])), [[0, 2], [2, 3]]);
  const word = { kind: "word", length: 3, sides: [], elements: ["a", "b"] };
  assert.equal(writtenAs(word, indicesOf(word, "aba")), "aba");
  const order = { kind: "permutation", length: 3, sides: [], elements: [0, 1, 2] };
  assert.deepEqual(writtenAs(order, indicesOf(order, [2, 0, 1])), [2, 0, 1]);
});

test("a run that is resumed is one run, and what came after its checkpoint is taken back", () => {
  const run = new Run("runs/x");
  const events = [
    { type: "begun", job: 1, step: 0, steps: 100, engine: "native" },
    { type: "step", job: 1, step: 10, loss: 2, seconds: 1 },
    { type: "evaluation", job: 1, step: 20, loss: 2, samples: [{ text: "01", mark: "right" }] },
    { type: "step", job: 1, step: 35, loss: 1.5, seconds: 3 },
    { type: "error", job: 1, message: "killed" },
    { type: "begun", job: 2, step: 20, steps: 100, engine: "native" },
    { type: "evaluation", job: 2, step: 20, loss: 2 },
    { type: "step", job: 2, step: 22, loss: 1.9, seconds: 2 },
  ];
  for (const event of events) run.hear(event);
  assert.deepEqual(run.losses.map(({ x }) => x), [10, 22]);
  assert.deepEqual(run.joints, [20]);
  assert.deepEqual(run.ordered.map(({ step }) => step), [20]);
  assert.equal(run.samples.length, 1);
  assert.equal(run.end, undefined);
});
