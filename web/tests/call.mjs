// Calls a function of the engine: node call.mjs, with { module, function, calls } on standard input, each call a list
// of arguments. Prints the list of what it returns, or of { error }.
import { readFileSync } from "node:fs";

const asked = JSON.parse(readFileSync(0, "utf8"));
const module = await import(new URL(`../${asked.module}`, import.meta.url));
const results = asked.calls.map((words) => {
  try {
    return module[asked.function](...words);
  } catch (error) {
    if (error.name !== "HandloomError") throw error;
    return { error: error.message };
  }
});
process.stdout.write(JSON.stringify(results));
