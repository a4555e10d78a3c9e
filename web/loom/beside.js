/**
 * Two models side by side on one input and one exam: what is typed, selected or hovered in one is so in the other.
 *
 *     const { desks, close } = mountBeside(main, [{ data, page }, { data, page }]);
 *
 * @typedef {import("./desk.js").Desk} Desk
 * @typedef {import("./desk.js").PageData} PageData
 * @typedef {import("./mount.js").Where} Where
 * @typedef {{ data: any, page: PageData }} Given a model as view/pages/model_data.py packs it, and its page
 */
import { Vocab } from "../engine/vocab.js";
import { followAddress } from "./address_bar.js";
import { el } from "./dom.js";
import { link } from "./link.js";
import { mountLoom } from "./mount.js";

/**
 * @param {HTMLElement} main
 * @param {[Given, Given]} pair
 * @param {Where} [where]
 * @returns {{ desks: Desk[], close(): void }}
 */
export function mountBeside(main, pair, { prefix = "", keys = document, check = true } = {}) {
  const halves = pair.map(() => el("section", { class: "half" }));
  const looms = /** @type {import("./mount.js").Mounted[]} */ ([]);
  const end = new AbortController();
  const close = () => {
    end.abort();
    for (const loom of looms) loom.close();
    main.classList.remove("beside");
    main.replaceChildren();
  };
  main.classList.add("beside");
  main.append(...halves);
  try {
    withOneInput(withOneExam(pair)).forEach(({ data, page }, i) => {
      halves[i].setAttribute("aria-label", page.name);
      looms.push(mountLoom(halves[i], data, page, { prefix: null, keys: i ? halves[i] : keys, check }));
    });
  } catch (error) {
    close();
    throw error;
  }
  const desks = looms.map(({ desk }) => desk);
  if (prefix !== null) followAddress(desks, prefix, end.signal);
  link(desks[0], desks[1]);
  return { desks, close };
}

/**
 * Both begin with an input that both can read, if one of theirs is such.
 * @param {Given[]} pair
 * @returns {Given[]}
 */
function withOneInput(pair) {
  const vocabs = pair.map(({ data }) => new Vocab(data.vocab));
  const shared = pair.map(({ page }) => page.on).find((text) => vocabs.every((vocab) => reads(vocab, text)));
  return shared === undefined ? pair : pair.map(({ data, page }) => ({ data, page: { ...page, on: shared } }));
}

/**
 * @param {Vocab} vocab
 * @param {string} text
 */
function reads(vocab, text) {
  try {
    return vocab.encode(text).length > 0;
  } catch {
    return false;
  }
}

/**
 * Both are judged on the same inputs: the first one's exam, in the tokens of each. A model that cannot be asked them
 * keeps its own.
 * @param {Given[]} pair
 * @returns {Given[]}
 */
export function withOneExam([first, second]) {
  const [a, b] = (first.page.exam ?? []).length ? [first, second] : [second, first];
  const [vocab, other] = [new Vocab(a.data.vocab), new Vocab(b.data.vocab)];
  const known = (/** @type {number[]} */ ids) => ids.every((id) => other.ids.has(vocab.tokens[id]));
  const room = Math.min(a.data.config.block, b.data.config.block);
  const shared = (a.page.exam ?? []).filter(
    ([prompt, answer]) => known([...prompt, ...answer]) && prompt.length + answer.length - 1 <= room,
  );
  if (!shared.length || vocab.bos !== other.bos) return [first, second];
  const renamed = (/** @type {number[]} */ ids) => ids.map((id) => other.id(vocab.tokens[id]));
  const exam = /** @type {[number[], number[]][]} */ (shared.map((asked) => asked.map(renamed)));
  const [same, translated] = [
    { data: a.data, page: { ...a.page, exam: shared } },
    { data: b.data, page: { ...b.page, exam } },
  ];
  return a === first ? [same, translated] : [translated, same];
}
