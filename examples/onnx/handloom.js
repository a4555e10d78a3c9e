// What a page or a Node script needs besides onnxruntime-web: the vocabulary of an ONNX file, and greedy decoding.
//
//     const model = await open(ort, new Uint8Array(bytes))
//     await generate(model, "123+456=")      // "579"

/** A session, with what handloom wrote into the file's metadata: config, vocab, notes. */
export async function open(ort, bytes) {
  const entry = metadata(bytes).handloom
  if (!entry) throw new Error("not an ONNX file of handloom; write one with handloom export MODEL -o FILE.onnx")
  return { ort, session: await ort.InferenceSession.create(bytes), ...JSON.parse(entry) }
}

/** The text that the model predicts after a text, token by token, as handloom run does. */
export async function generate(model, text) {
  const { vocab, config } = model
  const ids = encode(vocab, text)
  const start = ids.length
  const end = vocab.tokens.indexOf(vocab.eos)
  for (const most = start + steps(model, start); ids.length < most && (ids.length === start || ids.at(-1) !== end); ) {
    const logits = (await run(model, ids.slice(-config.block))).logits
    const last = logits.data.slice(-config.vocab) // those of the last position
    ids.push(last.indexOf(last.reduce((a, b) => Math.max(a, b))))
  }
  return decode(vocab, ids.slice(start))
}

/** The outputs of the graph for one row of token ids: tensors by name, logits and the sites that the file has. */
export function run({ ort, session }, ids) {
  return session.run({ tokens: new ort.Tensor("int64", BigInt64Array.from(ids, BigInt), [1, ids.length]) })
}

/** How many tokens to predict: what the notes say, or what fills the block. */
function steps({ notes, config }, length) {
  const note = notes.decode_steps
  if (note === undefined) return config.block - length + 1
  const [each, more] = Array.isArray(note) ? note : [0, note]
  return Math.max(0, each * length + more)
}

/** Text to token ids: split at spaces, or if nothing separates tokens, the longest token that fits comes next. */
export function encode(vocab, text) {
  const pieces = vocab.separator ? text.split(/\s+/).filter(Boolean) : longest(vocab.tokens, text)
  const ids = pieces.map((piece) => {
    const id = vocab.tokens.indexOf(piece)
    if (id < 0) throw new Error(`${JSON.stringify(piece)} is not a token; the tokens are ${vocab.tokens.join(" ")}`)
    return id
  })
  const first = vocab.tokens.indexOf(vocab.bos)
  return first >= 0 && ids[0] !== first ? [first, ...ids] : ids
}

function longest(tokens, text) {
  const byLength = [...tokens].sort((a, b) => b.length - a.length)
  const pieces = []
  for (let at = 0; at < text.length; at += pieces.at(-1).length) {
    pieces.push(byLength.find((token) => text.startsWith(token, at)) ?? [...text.slice(at)][0])
  }
  return pieces
}

/** Token ids to text, without special tokens. */
export function decode(vocab, ids) {
  const special = [vocab.bos, vocab.eos, vocab.pad]
  return ids.map((id) => vocab.tokens[id]).filter((token) => !special.includes(token)).join(vocab.separator)
}

/** The metadata of an ONNX file, which onnxruntime-web does not give: field 14 of the protobuf message, pairs of texts. */
function metadata(bytes) {
  const found = {}
  for (const [field, value] of fields(bytes)) {
    if (field === 14) {
      const pair = Object.fromEntries(fields(value).map(([part, text]) => [part, new TextDecoder().decode(text)]))
      found[pair[1]] = pair[2]
    }
  }
  return found
}

/** The fields of a protobuf message that have bytes: [number, bytes]. */
function fields(bytes) {
  const found = []
  let at = 0
  const varint = () => {
    let value = 0
    for (let scale = 1; ; scale *= 128) {
      const byte = bytes[at++]
      value += (byte & 127) * scale
      if (byte < 128) return value
    }
  }
  while (at < bytes.length) {
    const tag = varint()
    const kind = tag & 7
    if (kind === 0) varint()
    else if (kind === 2) {
      const length = varint()
      found.push([tag >> 3, bytes.subarray(at, (at += length))])
    } else at += kind === 1 ? 8 : 4
  }
  return found
}
