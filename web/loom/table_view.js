/**
 * The figure as a table: the same numbers, for those who read rather than look. It is made when it is opened.
 *
 * @typedef {import("./desk.js").Desk} Desk
 * @typedef {import("./scene.js").Facts} Facts
 */
import { each, el, say } from "./dom.js";
import { seenAt } from "./lens.js";
import { valueName } from "./readings.js";
import { number } from "./words.js";

export class TableView {
  /** @param {Desk} desk */
  constructor(desk) {
    this.desk = desk;
    this.table = el("table", { class: "values" });
    this.element = el(
      "details",
      { class: "table", ontoggle: () => desk.facts && this.show(desk.facts) },
      el("summary", {}, "All positions at this stage, as a table"),
      el("div", { class: "scroll" }, this.table),
    );
  }

  /** @param {Facts} facts */
  show(facts) {
    if (!this.element.open) return;
    const { desk } = this;
    const { solution, next } = facts;
    const columns = this.columns(facts);
    const rows = solution.ids.map((id, t) => [
      `${t}`,
      desk.name(id),
      ...columns.map(({ at }) => at(t)),
      desk.name(next[t].token),
    ]);
    const all = [["at", "token", ...columns.map(({ name }) => name), "predicts"], ...rows];
    each(
      this.table,
      all,
      () => el("tr"),
      (tr, cells, i) => {
        tr.toggleAttribute("aria-current", i === desk.state.position + 1);
        each(
          tr,
          cells,
          () => el(i ? "td" : "th"),
          (cell, text) => say(cell, text),
        );
      },
    );
  }

  /**
   * @param {Facts} facts
   * @returns {{ name: string, at: (t: number) => string }[]}
   */
  columns({ strands, values, mode, model, solution }) {
    const s = this.desk.state.stage;
    const { site } = this.desk.stage;
    if (mode === "ladder") {
      const stream = solution.values.get(site);
      const seen = stream ? seenAt(model, stream) : [];
      return [
        { name: "would predict", at: (t) => this.desk.name(seen[t].token) },
        { name: "probability", at: (t) => number(seen[t].p, 3) },
      ];
    }
    return strands.flatMap((strand, j) => {
      const k = strand.kind === "thread" ? 1 : strand.reading.vectors.length;
      const row = (/** @type {number} */ t) => Array.from(values[j][s].subarray(t * k, (t + 1) * k));
      if (!strand.stages[s]) return [];
      return [
        {
          name: strand.name,
          at: (t) => (strand.kind === "thread" ? number(row(t)[0]) : valueName(strand.reading, row(t))),
        },
      ];
    });
  }
}
