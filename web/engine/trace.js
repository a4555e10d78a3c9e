/**
 * Traces: what one run computed, site by site, and edits, which change a run. Every value goes through a Tap.
 *
 * @typedef {import("./tensor.js").Tensor} Tensor
 * @typedef {import("./tensor.js").Given} Given
 * @typedef {import("./config.js").Config} Config
 * @typedef {Given | ((value: Tensor) => Given)} Edit a replacement, or a function of a copy of the site's value
 * @typedef {Record<string, Edit>} Edits by site, or by a pattern of sites
 * @typedef {string | Iterable<string>} Want
 */
import { HandloomError, shown } from "./errors.js";
import { layerOf, match, sites } from "./sites.js";
import { asTensor, broadcast, copy } from "./tensor.js";

/** What a run computed: the wanted sites, the logits, and what a later run needs to start at a layer. */
export class Trace {
  /**
   * @param {number[]} tokens
   * @param {Map<string, Edit>} edits
   */
  constructor(tokens, edits) {
    this.tokens = tokens;
    this.edits = edits;
    /** @type {Map<string, Tensor>} */
    this.values = new Map();
    /** @type {Tensor[]} the residual stream that reaches each layer, and the end */
    this.streams = [];
    /** @type {Tensor} (T, V) */
    this.logits = { shape: [0, 0], data: new Float64Array(0) };
  }

  /**
   * The value at a site.
   * @param {string} site
   * @returns {Tensor}
   */
  at(site) {
    const value = this.values.get(site);
    if (value) return value;
    const recorded = [...this.values.keys()].join(", ") || "nothing";
    throw new HandloomError(`site ${shown(site)} was not recorded; recorded: ${recorded}`);
  }
}

/** Records what is wanted and applies edits. */
export class Tap {
  /**
   * @param {Config} config
   * @param {number[]} tokens
   * @param {Want} want
   * @param {Edits} edits
   */
  constructor(config, tokens, want, edits) {
    this.config = config;
    const known = sites(config);
    const patterns = typeof want === "string" ? [want] : [...want];
    this.want = new Set(patterns.includes("*") ? known.keys() : patterns.flatMap((pattern) => match(pattern, known)));
    /** @type {Map<string, Edit>} */
    const bySite = new Map();
    const given = Object.entries(edits);
    // a site's own name comes last, and wins
    for (const [pattern, edit] of [...given.filter(([p]) => !known.has(p)), ...given.filter(([p]) => known.has(p))]) {
      for (const site of match(pattern, known)) bySite.set(site, edit);
    }
    this.trace = new Trace(tokens, bySite);
  }

  /**
   * Record x if it is wanted, and continue with the edited x if there is an edit.
   * @param {string} site
   * @param {Tensor} value
   * @returns {Tensor}
   */
  see(site, value) {
    const edit = this.trace.edits.get(site);
    if (edit !== undefined) value = replaced(site, edit, value);
    if (this.want.has(site)) this.trace.values.set(site, value);
    return value;
  }

  /**
   * Begin at a layer with what an earlier run knows: its wanted values before the layer are those of this run too.
   * @param {Trace} earlier
   * @param {number} layer
   */
  resume(earlier, layer) {
    const { tokens, edits } = this.trace;
    if (`${earlier.tokens}` !== `${tokens}`) {
      throw new HandloomError("resume: the earlier run had other tokens; run from the beginning");
    }
    const isBefore = (/** @type {string} */ site) => layerOf(this.config, site) < layer;
    const changed = [...edits.keys(), ...earlier.edits.keys()].find(
      (site) => isBefore(site) && edits.get(site) !== earlier.edits.get(site),
    );
    if (changed) {
      throw new HandloomError(`resume: the earlier run had another edit of ${changed}, before layer ${layer}`);
    }
    for (const site of [...this.want].filter(isBefore)) this.trace.values.set(site, earlier.at(site));
    this.trace.streams = earlier.streams.slice(0, layer);
  }
}

/**
 * An edit's replacement, as an array of the shape of what it replaces.
 * @param {string} site
 * @param {Edit} edit
 * @param {Tensor} old
 * @returns {Tensor}
 */
function replaced(site, edit, old) {
  const given = typeof edit === "function" ? edit(copy(old)) : edit;
  try {
    return broadcast(asTensor(given), old.shape);
  } catch (error) {
    if (!(error instanceof HandloomError)) throw error;
    const shape = old.shape.join(", ");
    throw new HandloomError(`the edit of ${site} needs numbers of shape (${shape}): ${error.message}`);
  }
}
