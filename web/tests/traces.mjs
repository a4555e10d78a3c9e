// Runs models and compares every site with the reference's traces: node traces.mjs FOLDER
//
// FOLDER/cases.json is a list of { name, model, ids, edits, sites }, FOLDER/values.bin the float64 numbers that
// [shape, offset] in it point to. An edit is a number, such an array, or { times, plus }, a function. Prints, for each
// kernel and case, the largest difference at a site as a share of the largest number there, and whether the same tokens
// are the likeliest, or at which positions others are.
import { readFileSync } from "node:fs";
import { plain, readModel, run, selfCheck, sites, wasmKernel } from "../engine.js";

const folder = process.argv[2];
const raw = readFileSync(`${folder}/values.bin`);
const values = new Float64Array(raw.buffer, raw.byteOffset, raw.byteLength / 8);
const size = (shape) => shape.reduce((product, n) => product * n, 1);
const stored = ([shape, offset]) => ({ shape, data: values.slice(offset, offset + size(shape)) });
const largest = (data) => data.reduce((most, one) => Math.max(most, Math.abs(one)), 0);

function edited(edit) {
  if (typeof edit === "number") return edit;
  if (Array.isArray(edit)) return stored(edit);
  return (x) => ({ shape: x.shape, data: x.data.map((one) => edit.times * one + edit.plus) });
}

function difference(got, wanted) {
  if (`${got.shape}` !== `${wanted.shape}`) throw new Error(`shape (${got.shape}), expected (${wanted.shape})`);
  const most = wanted.data.reduce((worst, one, i) => {
    const apart = Math.abs(one - got.data[i]);
    return Number.isNaN(apart) && !Object.is(one, got.data[i]) ? Infinity : Math.max(worst, apart || 0);
  }, 0);
  return most / (largest(wanted.data) || 1);
}

function argmax(row) {
  return row.indexOf(row.reduce((most, one) => Math.max(most, one)));
}

function chosen(got, wanted) {
  const [T, V] = wanted.shape;
  const counts = { same: 0, tied: 0, others: [] };
  for (let t = 0; t < T; t++) {
    const row = wanted.data.subarray(t * V, (t + 1) * V);
    const [ours, theirs] = [argmax(got.data.subarray(t * V, (t + 1) * V)), argmax(row)];
    const near = row[theirs] - row[ours] <= 1e-9 * largest(row);
    if (ours !== theirs && !near) counts.others.push(t);
    else counts[ours === theirs ? "same" : "tied"] += 1;
  }
  return counts;
}

function compare(one, kernel) {
  const model = readModel(one.model);
  const names = Object.keys(one.sites);
  if (`${names}` !== `${[...sites(model.config).keys()]}`) throw new Error(`sites of ${one.name}`);
  const edits = Object.fromEntries(Object.entries(one.edits).map(([site, edit]) => [site, edited(edit)]));
  const trace = run(model, one.ids, { want: "*", edits, kernel });
  if (`${[...trace.values.keys()].sort()}` !== `${names.sort()}`) throw new Error(`recorded sites of ${one.name}`);
  const differences = names.map((site) => [difference(trace.at(site), stored(one.sites[site])), site]);
  const [worst, site] = differences.reduce((a, b) => (b[0] > a[0] ? b : a));
  const check = selfCheck(model, { kernel });
  return { name: one.name, kernel: kernel.name, worst, site, check, ...chosen(trace.logits, stored(one.sites.logits)) };
}

const cases = JSON.parse(readFileSync(`${folder}/cases.json`, "utf8"));
const kernels = [plain, wasmKernel()].filter((kernel) => kernel);
const compared = cases.flatMap((one) => kernels.map((kernel) => compare(one, kernel)));
process.stdout.write(JSON.stringify(compared));
