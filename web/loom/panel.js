/**
 * The panel: the selected position and stage in words and numbers. It scrolls apart from the figure.
 *
 * @typedef {import("./desk.js").Desk} Desk
 * @typedef {import("./scene.js").Facts} Facts
 */
import { each, el, say } from "./dom.js";
import { LogitPanel } from "./logit_panel.js";
import { PartPanel } from "./part_panel.js";
import { address, withdrawn, withEdits } from "./state.js";
import { StreamPanel } from "./stream_panel.js";
import { TableView } from "./table_view.js";
import { editName, quoted } from "./words.js";

export class Panel {
  /** @param {Desk} desk */
  constructor(desk) {
    this.desk = desk;
    this.title = el("h2");
    this.live = el("p", { class: "hidden", role: "status", "aria-live": "polite" });
    this.edits = el("div", { class: "edits" });
    this.clear = el("button", { class: "out", onclick: () => desk.update(withEdits(desk.state, [])) }, "undo all");
    this.part = new PartPanel(desk);
    const [stream, logit, table] = [new StreamPanel(desk), new LogitPanel(desk), new TableView(desk)];
    this.parts = [this.part, stream, logit, table];
    this.element = el(
      "aside",
      { class: "panel", "aria-label": "Selected position and stage" },
      this.live,
      this.edits,
      this.title,
      this.part.element,
      stream.element,
      logit.element,
      this.part.weights,
      table.element,
    );
  }

  /** @param {Facts} facts */
  show(facts) {
    const { desk } = this;
    const { position, stage } = desk.state;
    const { label } = desk.study.stages[stage];
    const token = quoted(desk.name(facts.solution.ids[position]));
    say(this.title, `Position ${position} ${token} · ${label}`);
    this.showEdits();
    for (const part of this.parts) part.show(facts);
    say(this.live, sentence(desk, facts, this.part));
  }

  showEdits() {
    const { desk } = this;
    const { edits } = desk.state;
    this.edits.hidden = !edits.length;
    const make = () => el("button", { class: "chip", title: "take this edit back" });
    const shown = edits.slice(-12);
    each(this.edits, shown, make, (chip, edit) => {
      say(chip, `${editName(edit)} ✕`);
      chip.onclick = () => desk.update(withdrawn(desk.state, address(edit)));
    });
  }
}

/**
 * What a screen reader says when the selection or the run changes.
 * @param {Desk} desk
 * @param {Facts} facts
 * @param {PartPanel} part
 */
function sentence(desk, { solution, next }, part) {
  const { position, stage, part: index } = desk.state;
  const { kind, layer, label } = desk.study.stages[stage];
  const reads = `Position ${position} reads ${desk.name(solution.ids[position])}`;
  const looks = kind === "attention" ? `, head ${layer}.${index} ${part.looks.textContent}` : `, ${label}`;
  return `${reads}${looks}, and predicts ${desk.name(next[position].token)}.`;
}
