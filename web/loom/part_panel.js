/**
 * The part of the panel about what works at a stage: its heads with words and patterns, its neurons, or the rows of the
 * tables; with the weights, which can be changed.
 *
 * @typedef {import("./desk.js").Desk} Desk
 * @typedef {import("./scene.js").Facts} Facts
 */
import { each, el, say } from "./dom.js";
import { withoutEdge, withoutHead, withoutNeuron } from "./edits.js";
import { Matrix } from "./matrix.js";
import { drawPattern, patternCell } from "./pattern.js";
import { hasHeads, hasNeurons } from "./stages.js";
import { address, has, toggled } from "./state.js";
import { number, percent, quoted } from "./words.js";

const MOST_NEURONS = 12; // in the list: those that fire most
const LEAST_LOOK = 0.03;

export class PartPanel {
  /** @param {Desk} desk */
  constructor(desk) {
    this.desk = desk;
    this.tabs = el("div", { class: "tabs", role: "tablist", "aria-label": "Heads of this layer" });
    this.out = el("button", { class: "out", onclick: () => this.takeOut() });
    this.words = el("p", { class: "words" });
    this.looks = el("p", { class: "looks" });
    this.pattern = el("canvas", { class: "pattern", role: "img" });
    this.pattern.addEventListener("click", (event) => this.clicked(event));
    this.pattern.addEventListener("mousemove", (event) => this.pointed(event));
    this.neurons = el("div", { class: "neurons" });
    this.matrices = el("div", { class: "matrices" });
    const head = el("div", { class: "about" }, this.tabs, this.out);
    this.element = el("section", {}, head, this.words, this.looks, this.pattern, this.neurons);
    this.weights = el(
      "section",
      { class: "weights" },
      el("h3", {}, "Weights: drag, type, or step with ↑ ↓"),
      this.matrices,
    );
    /** @type {Matrix[]} */
    this.kept = [];
    this.room = 340;
    new ResizeObserver(([{ contentRect }]) => (this.room = contentRect.width)).observe(this.element);
  }

  /** @param {Facts} facts */
  show(facts) {
    const { desk } = this;
    const { stage, part } = { stage: desk.stage, part: desk.state.part };
    const heads = hasHeads(stage) ? desk.config.heads : 0;
    this.showTabs(facts, heads);
    const words = hasHeads(stage) ? desk.note("heads", `${stage.layer}.${part}`) : desk.note("mlps", `${stage.layer}`);
    say(this.words, words);
    this.words.hidden = !words;
    const removable = heads > 0 || stage.kind === "position";
    this.out.hidden = !removable && !hasNeurons(stage);
    const name = heads
      ? `head ${stage.layer}.${part}`
      : stage.kind === "position"
        ? "the positions"
        : `MLP ${stage.layer}`;
    const isOut = has(desk.state, address(this.removal()));
    say(this.out, isOut ? `put ${name} back` : `take ${name} out`);
    this.out.setAttribute("aria-pressed", String(isOut));
    this.showLooks(facts, heads);
    this.showNeurons(facts);
    this.showMatrices(facts);
  }

  /** What the button takes out. */
  removal() {
    const { stage, state } = this.desk;
    if (hasHeads(stage)) return withoutHead(stage.layer, state.part);
    const what = stage.kind === "position" ? "pos_embed" : stage.kind === "token" ? "embed" : `${stage.layer}.mlp_out`;
    return { what, at: [], value: 0 };
  }

  takeOut() {
    this.desk.update(toggled(this.desk.state, this.removal()));
  }

  /**
   * @param {Facts} facts
   * @param {number} heads
   */
  showTabs({ used }, heads) {
    const { desk } = this;
    const { layer } = desk.stage;
    const make = () => {
      const tab = el("button", { role: "tab", onclick: () => desk.select({ part: Number(tab.dataset.head) }) });
      const hover = (/** @type {boolean} */ on) => () =>
        desk.hover(on ? { layer: desk.stage.layer, head: Number(tab.dataset.head) } : null);
      for (const event of ["mouseenter", "focus"]) tab.addEventListener(event, hover(true));
      for (const event of ["mouseleave", "blur"]) tab.addEventListener(event, hover(false));
      return tab;
    };
    each(this.tabs, [...Array(heads).keys()], make, (tab, head) => {
      tab.dataset.head = String(head);
      say(tab, `${layer}.${head}`);
      const selected = head === desk.state.part;
      tab.setAttribute("aria-selected", String(selected));
      tab.tabIndex = selected ? 0 : -1;
      tab.classList.toggle("unused", !used[layer]?.[head]);
      tab.classList.toggle("gone", has(desk.state, address(withoutHead(layer, head))));
      tab.title = used[layer]?.[head] ? desk.note("heads", `${layer}.${head}`) : "adds nothing";
    });
    this.tabs.hidden = heads < 1;
  }

  /**
   * @param {Facts} facts
   * @param {number} heads
   */
  showLooks({ solution, used }, heads) {
    const { desk } = this;
    const { layer } = desk.stage;
    const pattern = solution.values.get(`${layer}.pattern`);
    this.pattern.hidden = this.looks.hidden = !heads || !pattern;
    if (!heads || !pattern) return;
    const [, T, S] = pattern.shape;
    const { position, part } = desk.state;
    const row = pattern.data.subarray((part * T + position) * S, (part * T + position + 1) * S);
    const best = [...row.keys()].sort((a, b) => Math.abs(row[b]) - Math.abs(row[a])).slice(0, 4);
    const seen = best.filter((s) => Math.abs(row[s]) >= LEAST_LOOK);
    const isShare = ["softmax", "hard"].includes(desk.config.attention);
    const share = (/** @type {number} */ p) => (isShare ? percent(p) : number(p, 3));
    const said = seen.map((s) => `${quoted(desk.name(solution.ids[s]))} (${s}) ${share(row[s])}`);
    const unused = used[layer]?.[part] ? "" : "; it adds nothing";
    say(
      this.looks,
      said.length ? `looks at ${said.join(", ")}${unused}` : `looks at many, at none for ${percent(LEAST_LOOK)}`,
    );
    this.pattern.setAttribute(
      "aria-label",
      `Pattern of head ${layer}.${part}. Position ${position} ${this.looks.textContent}`,
    );
    drawPattern(this.pattern, this.view(pattern));
  }

  /** @param {import("../engine/tensor.js").Tensor} pattern */
  view(pattern) {
    const { desk } = this;
    const { layer } = desk.stage;
    const { position, part } = desk.state;
    const { solution } = /** @type {Facts} */ (desk.facts);
    const out = new Set(desk.state.edits.filter(({ what }) => what === `${layer}.pattern`).map(address));
    return {
      pattern,
      head: part,
      position,
      colours: desk.colours,
      causal: desk.config.causal,
      tokens: solution.ids.map((id) => desk.name(id)),
      room: Math.min(340, this.room),
      isOut: (/** @type {number} */ to, /** @type {number} */ from) =>
        out.size > 0 && out.has(address(withoutEdge(layer, part, to, from))),
    };
  }

  /** @param {MouseEvent} event */
  cell(event) {
    const pattern = this.desk.facts?.solution.values.get(`${this.desk.stage.layer}.pattern`);
    return pattern && patternCell(this.view(pattern), event.offsetX, event.offsetY);
  }

  /** @param {MouseEvent} event */
  clicked(event) {
    const cell = this.cell(event);
    if (!cell) return;
    const { stage, state } = this.desk;
    this.desk.update(toggled(state, withoutEdge(stage.layer, state.part, cell.to, cell.from)));
  }

  /** @param {MouseEvent} event */
  pointed(event) {
    const cell = this.cell(event);
    const { stage, state, facts } = this.desk;
    const pattern = facts?.solution.values.get(`${stage.layer}.pattern`);
    if (!cell || !pattern || !facts) return;
    const [, T, S] = pattern.shape;
    const p = pattern.data[(state.part * T + cell.to) * S + cell.from];
    const name = (/** @type {number} */ t) => `${t} ${quoted(this.desk.name(facts.solution.ids[t]))}`;
    const hint = "A click takes this look out, or puts it back.";
    this.pattern.title = `${name(cell.to)} looks at ${name(cell.from)}: ${number(p)}. ${hint}`;
  }

  /** @param {Facts} facts */
  showNeurons({ solution, before }) {
    const { desk } = this;
    const { layer } = desk.stage;
    const post = hasNeurons(desk.stage) ? solution.values.get(`${layer}.mlp_post`) : undefined;
    this.neurons.hidden = !post;
    if (!post) return;
    const F = post.shape[1];
    const at = (/** @type {Map<string, import("../engine/tensor.js").Tensor>} */ values) =>
      values.get(`${layer}.mlp_post`)?.data.subarray(desk.state.position * F, (desk.state.position + 1) * F) ?? [];
    const [now, was] = [at(solution.values), at(before.values)];
    const order = [...Array(F).keys()];
    const isOut = (/** @type {number} */ f) => has(desk.state, address(withoutNeuron(layer, f)));
    if (F > MOST_NEURONS)
      order.sort((a, b) => Number(isOut(b)) - Number(isOut(a)) || Math.abs(now[b]) - Math.abs(now[a]));
    const largest =
      before.values.get(`${layer}.mlp_post`)?.data.reduce((most, one) => Math.max(most, Math.abs(one)), 0) || 1;
    const make = () => {
      const button = el("button", {
        class: "out",
        onclick: () => desk.update(toggled(desk.state, withoutNeuron(desk.stage.layer, Number(button.dataset.neuron)))),
      });
      return el("div", { class: "bar-row" }, el("span"), el("i", { class: "bar" }, el("i")), el("b"), button);
    };
    each(this.neurons, order.slice(0, MOST_NEURONS), make, (row, f) => {
      const [name, bar, value, button] = /** @type {HTMLElement[]} */ ([...row.children]);
      say(name, `neuron ${f}`);
      const share = Math.min(1, Math.abs(now[f]) / largest);
      const fill = /** @type {HTMLElement} */ (bar.firstElementChild);
      const colour = desk.colours.signed(Math.sign(now[f]) * Math.max(0.3, share));
      fill.style.cssText = `left:0;width:${100 * share}%;background:${colour}`;
      say(value, number(now[f]));
      value.classList.toggle("changed", Math.abs(now[f] - was[f]) > 1e-9 * largest);
      button.dataset.neuron = String(f);
      say(button, isOut(f) ? "put back" : "take out");
      button.setAttribute("aria-pressed", String(isOut(f)));
    });
  }

  /** @param {Facts} facts */
  showMatrices(facts) {
    const views = matricesOf(this.desk, facts);
    this.weights.hidden = !views.length;
    while (this.kept.length < views.length) {
      const matrix = new Matrix((what, at, value, continues) => this.desk.edit({ what, at, value }, continues));
      this.kept.push(matrix);
      this.matrices.append(matrix.element);
    }
    this.kept.forEach((matrix, i) => {
      matrix.element.hidden = i >= views.length;
      if (i < views.length) matrix.show(views[i]);
    });
  }
}

/**
 * The weights of what is selected.
 * @param {Desk} desk
 * @param {Facts} facts
 * @returns {import("./matrix.js").MatrixView[]}
 */
function matricesOf(desk, { model, solution }) {
  const { stage, config, state, colours } = desk;
  const [D, K, F] = [desk.dimensions, names("", config.d_head), names("", config.d_ff)];
  const group = config.kv_heads ? Math.floor(state.part / (config.heads / config.kv_heads)) : state.part;
  const at = `layers.${stage.layer}.`;
  /** @type {[string, number[], string[], string[]][]} */
  const wanted = [];
  if (stage.layer < 0) {
    const token = solution.ids[state.position];
    wanted.push(["W_E", [token], [desk.name(token)], D], ["W_pos", [state.position], [`${state.position}`], D]);
  }
  if (hasHeads(stage)) {
    wanted.push([`${at}W_Q`, [state.part], D, K], [`${at}W_K`, [group], D, K], [`${at}W_V`, [group], D, K]);
    wanted.push([`${at}W_O`, [state.part], K, D]);
    for (const [name, h] of /** @type {[string, number][]} */ ([
      ["b_Q", state.part],
      ["b_K", group],
      ["b_V", group],
    ]))
      wanted.push([at + name, [h], ["bias"], K]);
    wanted.push([`${at}b_O`, [], ["bias"], D]);
  }
  if (hasNeurons(stage)) {
    const expert = config.experts ? [state.part] : []; // each has neurons of its own
    const gates = config.experts ? names("expert ", config.experts) : F;
    wanted.push([`${at}W_gate`, [], D, gates], [`${at}b_gate`, [], ["bias"], gates]);
    wanted.push([`${at}W_in`, expert, D, F], [`${at}b_in`, expert, ["bias"], F]);
    wanted.push([`${at}W_out`, expert, F, D], [`${at}b_out`, [], ["bias"], D]);
  }
  return wanted
    .filter(([what]) => Object.hasOwn(model.params, what))
    .map(([what, fixed, rows, columns]) => {
      const [now, was] = [model.params[what], desk.study.model.params[what]];
      return { what, fixed, rows, columns, now, was, colours };
    });
}

/**
 * @param {string} before
 * @param {number} count
 */
const names = (before, count) => Array.from({ length: count }, (_, i) => `${before}${i}`);
