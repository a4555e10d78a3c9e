/**
 * The text of a lesson as elements, made of the tree that studio/lessons/markdown.py reads: text is always set as text.
 *
 * @typedef {string | { kind: string, parts: Part[], to?: string }} Part
 * @typedef {{ kind: string, parts?: Part[], level?: number, items?: Part[][], numbered?: boolean,
 *     text?: string }} Block
 * @typedef {(to: string, parts: Node[]) => HTMLElement} MakeLink an element for a link to a state of the page
 */
import { el } from "../loom/dom.js";

const KINDS = /** @type {const} */ ({ strong: "strong", em: "em", code: "code" });

/**
 * @param {Block} block
 * @param {MakeLink} link
 * @returns {HTMLElement}
 */
export function blockElement(block, link) {
  const inside = (/** @type {Part[] | undefined} */ parts) => (parts ?? []).map((part) => partNode(part, link));
  if (block.kind === "heading") return el(block.level === 3 ? "h3" : "h2", {}, ...inside(block.parts));
  if (block.kind === "code") return el("pre", {}, block.text ?? "");
  if (block.kind === "list") {
    const items = (block.items ?? []).map((parts) => el("li", {}, ...inside(parts)));
    return el(block.numbered ? "ol" : "ul", {}, ...items);
  }
  return el("p", {}, ...inside(block.parts));
}

/**
 * @param {Part} part
 * @param {MakeLink} link
 * @returns {Node}
 */
function partNode(part, link) {
  if (typeof part === "string") return document.createTextNode(part);
  const parts = part.parts.map((one) => partNode(one, link));
  if (part.kind === "link" && part.to) return link(part.to, parts);
  const kind = /** @type {keyof typeof KINDS} */ (part.kind);
  return el(Object.hasOwn(KINDS, kind) ? KINDS[kind] : "span", {}, ...parts);
}
