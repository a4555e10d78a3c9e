// node add.mjs 123+456= 999+001=       prints 123+456=579 and 999+001=1000
// node add.mjs --model sort.onnx "31 4 15 0"

import { readFile } from "node:fs/promises"
import { parseArgs } from "node:util"
import * as ort from "onnxruntime-web"
import { generate, open } from "./handloom.js"

const { values, positionals } = parseArgs({
  options: { model: { type: "string", default: "adder.onnx" } },
  allowPositionals: true,
})
try {
  const model = await open(ort, new Uint8Array(await readFile(values.model)))
  for (const text of positionals) console.log(text + model.vocab.separator + (await generate(model, text)))
} catch (error) {
  console.error(error.message)
  process.exitCode = 2
}
