// The engine in the page: CPU time per forward run with all sites, in ms, plain JavaScript and WebAssembly in turn.
//
//     node benchmarks/page.mjs [ROUNDS]
//
// Minima and medians; ratios in one run are meaningful, single numbers much less so.
import { plain, readModel, run, shapes, wasmKernel } from "../web/engine.js";
import { readConfig } from "../web/engine/config.js";
import { uniform } from "../web/engine/random.js";

const rounds = Number(process.argv[2] ?? 30);
const MAKEMORE = { vocab: 27, d_model: 64, layers: 4, heads: 4, d_head: 16, d_ff: 256 };
const ADDITION = { vocab: 12, d_model: 7, layers: 4, heads: 1, d_head: 2, d_ff: 3, activation: "relu" };
const LARGER = { vocab: 65, d_model: 128, layers: 8, heads: 8, d_head: 16, d_ff: 512 };
const SIZES = {
  "addition, T 11": [{ ...ADDITION, block: 11 }, 11],
  "4 layers, 64 wide, T 40": [{ ...MAKEMORE, block: 40 }, 40],
  "4 layers, 64 wide, T 200": [{ ...MAKEMORE, block: 200 }, 200],
  "8 layers, 128 wide, T 100": [{ ...LARGER, block: 100 }, 100],
};

function randomModel(fields) {
  const random = uniform(0, 0);
  const arrays = {};
  for (const [name, shape] of shapes(readConfig(fields))) {
    const numbers = Float32Array.from({ length: shape.reduce((a, b) => a * b, 1) }, () => 0.4 * (random() - 0.5));
    arrays[name] = { shape, type: "f4", data: Buffer.from(numbers.buffer).toString("base64") };
  }
  const tokens = Array.from({ length: fields.vocab }, (_, i) => `${i}`);
  return readModel({ config: fields, vocab: { tokens }, arrays });
}

function times(sides, repeats) {
  const taken = sides.map(() => []);
  for (let round = 0; round < rounds; round++) {
    sides.forEach((side, i) => {
      const began = process.cpuUsage();
      for (let repeat = 0; repeat < repeats; repeat++) side();
      const { user, system } = process.cpuUsage(began);
      taken[i].push((user + system) / 1000 / repeats);
    });
  }
  return taken.map((all) => all.sort((a, b) => a - b)).map((all) => [all[0], all[all.length >> 1]]);
}

const sides = [plain, wasmKernel()].filter((kernel) => kernel);
console.log(`CPU ms per run, least (median) of ${rounds}`.padEnd(40), ...sides.map((kernel) => kernel.name.padEnd(18)));
for (const [name, [fields, T]] of Object.entries(SIZES)) {
  const model = randomModel(fields);
  const ids = Array.from({ length: T }, (_, t) => (7 * t) % fields.vocab);
  const found = times(sides.map((kernel) => () => run(model, ids, { want: "*", kernel })), T < 20 ? 100 : 1);
  const shown = found.map(([least, median]) => `${least.toFixed(2)} (${median.toFixed(2)})`.padEnd(18));
  console.log(name.padEnd(40), ...shown);
}
