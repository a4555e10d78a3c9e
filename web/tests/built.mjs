// Runs the built script as a page does: node built.mjs ENGINE.js, with a model's JSON on standard input. Prints the
// self-check with WebAssembly and without, as where a policy forbids it.
import { readFileSync } from "node:fs";
import vm from "node:vm";

const script = readFileSync(process.argv[2], "utf8");
const model = readFileSync(0, "utf8");
const forbidden = { Module: class { constructor() { throw new Error("forbidden by the page's policy"); } } };
const results = [WebAssembly, forbidden].map((WebAssembly) => {
  const page = vm.createContext({ atob, WebAssembly, model });
  vm.runInContext(script, page);
  const check = "handloom.selfCheck(handloom.readModel(JSON.parse(model)))";
  return vm.runInContext(`({ kernel: handloom.fastest.name, ...${check} })`, page);
});
process.stdout.write(JSON.stringify(results));
