/**
 * Vocab: the tokens, and how text becomes tokens and tokens become text, as in `core/vocab.py`. A vocabulary that came
 * with a tokenizer.json needs the library that reads it: in a page its texts are given as token ids.
 */
import { HandloomError, shown } from "./errors.js";

const SPACE = /[\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/; // what Python splits at

/**
 * @typedef {{ tokens: string[], separator?: string, bos?: string?, eos?: string?, pad?: string?,
 *   tokenizer?: unknown }} Fields
 */

export class Vocab {
  /** @param {Fields} fields */
  constructor({ tokens, separator = " ", bos = null, eos = null, pad = null, tokenizer = null }) {
    this.tokens = tokens;
    this.separator = separator;
    this.bos = bos;
    this.eos = eos;
    this.pad = pad;
    this.needsTokenizer = tokenizer !== null;
    this.ids = new Map(tokens.map((token, i) => [token, i]));
    this.specials = [bos, eos, pad].filter((token) => token !== null);
    this.lengths = [...new Set(tokens.map((token) => token.length))].sort((a, b) => b - a);
  }

  /**
   * The id of one token.
   * @param {string} token
   * @returns {number}
   */
  id(token) {
    const id = this.ids.get(token);
    if (id !== undefined) return id;
    throw new HandloomError(`token ${shown(token)} is not in the vocabulary; it has ${this.sample()}`);
  }

  /**
   * Text to ids, with `bos` in front if there is one.
   * @param {string} text
   * @returns {number[]}
   */
  encode(text) {
    this.checkText();
    const pieces = this.separator ? text.split(SPACE).filter((piece) => piece) : this.pieces(text);
    const ids = pieces.map((piece) => this.id(piece));
    if (this.bos === null || ids[0] === this.id(this.bos)) return ids;
    return [this.id(this.bos), ...ids];
  }

  /**
   * Ids to text, by default without special tokens.
   * @param {Iterable<number>} ids
   * @param {boolean} [specials]
   * @returns {string}
   */
  decode(ids, specials = false) {
    this.checkText();
    const tokens = Array.from(ids, (id) => this.token(id));
    return tokens.filter((token) => specials || !this.specials.includes(token)).join(this.separator);
  }

  /**
   * The token of an id.
   * @param {number} id
   * @returns {string}
   */
  token(id) {
    if (id in this.tokens) return this.tokens[id];
    throw new HandloomError(`token ${shown(id)} is not in the vocabulary; tokens are 0 to ${this.tokens.length - 1}`);
  }

  /**
   * A text without separators, cut into the longest tokens that fit, or single characters, which `id` refuses.
   * @param {string} text
   */
  pieces(text) {
    const found = [];
    for (let at = 0; at < text.length; at += found[found.length - 1].length) {
      const length = this.lengths.find((n) => at + n <= text.length && this.ids.has(text.slice(at, at + n)));
      found.push(length ? text.slice(at, at + length) : String.fromCodePoint(text.codePointAt(at) ?? 0));
    }
    return found;
  }

  checkText() {
    if (this.needsTokenizer) {
      throw new HandloomError("this vocabulary needs the library tokenizers, which no page has; give token ids");
    }
  }

  /** Some of the tokens, for messages. */
  sample(most = 20) {
    const some = this.tokens.slice(0, most).map((token) => (token.trim() ? token : JSON.stringify(token))).join(" ");
    return this.tokens.length <= most ? some : `${this.tokens.length} tokens: ${some} …`;
  }
}
