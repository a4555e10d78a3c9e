/**
 * The one state of a page, which never changes: every action gives a new one. What can be shared stands in the URL's
 * fragment, edits as one would write them: `layers.2.W_V[0,2,0]=8027.8`.
 *
 * @typedef {object} Edit
 * @property {string} what a weight, such as layers.2.W_V, or a site, such as 2.z
 * @property {readonly number[]} at which number: of a weight all its indices, of z the head, of mlp_post the neuron
 * @property {number} value what it becomes
 *
 * @typedef {"auto" | "threads" | "ladder"} View
 *
 * @typedef {object} State
 * @property {string} text the input
 * @property {number} position
 * @property {number} stage
 * @property {number} part the head or neuron of the stage
 * @property {View} view
 * @property {boolean} ballast whether directions that carry nothing are drawn
 * @property {readonly Edit[]} edits
 * @property {readonly (readonly Edit[])[]} past the edits before, for undo
 * @property {readonly (readonly Edit[])[]} future the edits that were undone
 */
const LONGEST = 2000; // characters of a fragment that others can be expected to pass on
const STEPS = 200; // that can be undone

/**
 * @param {string} text
 * @returns {State}
 */
export const start = (text) =>
  Object.freeze({
    text,
    position: -1,
    stage: -1,
    part: 0,
    view: "auto",
    ballast: false,
    edits: [],
    past: [],
    future: [],
  });

/** @param {Edit} edit */
export const address = ({ what, at }) => (at.length ? `${what}[${at}]` : what);

/**
 * The state with one more edit, which replaces an earlier one of the same number.
 * @param {State} state
 * @param {Edit} edit
 * @param {boolean} [continues] whether it is a further move of one drag, which is undone as a whole
 * @returns {State}
 */
export function edited(state, edit, continues = false) {
  const edits = [...state.edits.filter((one) => address(one) !== address(edit)), edit];
  return continues ? { ...state, edits } : withEdits(state, edits);
}

/**
 * The state without an edit.
 * @param {State} state
 * @param {string} where its address
 * @returns {State}
 */
export const withdrawn = (state, where) =>
  withEdits(
    state,
    state.edits.filter((one) => address(one) !== where),
  );

/**
 * Take something out, or put it back.
 * @param {State} state
 * @param {Edit} edit
 * @returns {State}
 */
export const toggled = (state, edit) =>
  has(state, address(edit)) ? withdrawn(state, address(edit)) : edited(state, edit);

/**
 * @param {State} state
 * @param {string} where
 */
export const has = (state, where) => state.edits.some((one) => address(one) === where);

/**
 * @param {State} state
 * @param {readonly Edit[]} edits
 * @returns {State}
 */
export const withEdits = (state, edits) => ({
  ...state,
  edits,
  past: [...state.past, state.edits].slice(-STEPS),
  future: [],
});

/**
 * @param {State} state
 * @returns {State}
 */
export function undone(state) {
  const edits = state.past.at(-1);
  return edits ? { ...state, edits, past: state.past.slice(0, -1), future: [state.edits, ...state.future] } : state;
}

/**
 * @param {State} state
 * @returns {State}
 */
export function redone(state) {
  const [edits, ...future] = state.future;
  return edits ? { ...state, edits, past: [...state.past, state.edits], future } : state;
}

/**
 * @param {Edit} edit
 * @returns {string}
 */
export const written = (edit) => `${address(edit)}=${edit.value}`;

/**
 * The edit that a text says; nothing if it says none.
 * @param {string} text
 * @returns {Edit | undefined}
 */
export function readEdit(text) {
  const found = /^([\w.]{1,60})(?:\[(\d{1,7}(?:,\d{1,7}){0,3})\])?=(-?[\d.]+(?:e[+-]?\d+)?)$/i.exec(text.trim());
  if (!found || !Number.isFinite(Number(found[3]))) return undefined;
  return { what: found[1], at: found[2] ? found[2].split(",").map(Number) : [], value: Number(found[3]) };
}

/**
 * What a link to this state ends in.
 * @param {State} state
 * @param {string} [prefix] what stands before it
 * @param {number} [longest] characters beyond which the edits are left out
 * @returns {string}
 */
export function fragment(state, prefix = "", longest = LONGEST) {
  const fields = [
    ["in", encodeURIComponent(state.text)],
    ["at", `${state.position},${state.stage},${state.part}`],
    ...(state.view === "auto" ? [] : [["view", state.view]]),
  ];
  const edits = state.edits.map(written).join(";");
  const whole = [...fields, ...(edits ? [["edits", edits]] : [])].map((pair) => pair.join("=")).join("&");
  return `#${prefix}${whole.length <= longest ? whole : fields.map((pair) => pair.join("=")).join("&")}`;
}

/**
 * The state that a fragment describes; what it leaves out is that of `state`, and so is what cannot be read.
 * @param {State} state
 * @param {string} hash
 * @param {(edit: Edit) => boolean} fits whether the model has what an edit changes
 * @returns {State}
 */
export function fromFragment(state, hash, fits) {
  const fields = Object.fromEntries(hash.replace(/^#/, "").split("&").map(parted));
  const at = (fields.at ?? "").split(",").map(Number);
  const [position, stage, part] = at.length === 3 && at.every(Number.isInteger) ? at : [-1, -1, 0];
  const edits = (fields.edits ?? "")
    .split(";")
    .flatMap((text) => readEdit(text) ?? [])
    .filter(fits);
  const view = fields.view === "threads" || fields.view === "ladder" ? fields.view : state.view;
  return { ...state, text: fields.in ?? state.text, position, stage, part: Math.max(0, part), view, edits };
}

/**
 * A name and its value; the value is left out if it is damaged.
 * @param {string} pair
 * @returns {[string, string | undefined]}
 */
function parted(pair) {
  const at = pair.indexOf("=");
  try {
    return at < 0 ? [pair, undefined] : [pair.slice(0, at), decodeURIComponent(pair.slice(at + 1))];
  } catch {
    return [pair.slice(0, at), undefined];
  }
}
