/**
 * The loom on the page: a canvas as large as what is seen of the figure, which scrolls behind it, and what a pointer
 * does there. Hovering shows a head, a click keeps a position and a stage.
 *
 * @typedef {import("./desk.js").Desk} Desk
 * @typedef {import("./scene.js").Facts} Facts
 * @typedef {import("./scene.js").Scene} Scene
 */
import { each, el, fitted, say } from "./dom.js";
import { withoutEdge, withoutHead } from "./edits.js";
import { drawFigure } from "./figure.js";
import { cellAt, layoutOf } from "./layout.js";
import { address, has } from "./state.js";
import { onCanvas } from "./surface.js";
import { lookAt } from "./weft.js";
import { percent, quoted } from "./words.js";

const SLIDE = 180; // ms of the band's way to another stage

export class LoomView {
  /** @param {Desk} desk */
  constructor(desk) {
    this.desk = desk;
    this.canvas = el("canvas", { class: "figure" });
    this.room = el("div", { class: "room" }, this.canvas);
    this.tip = el("div", { class: "tip", hidden: true }, el("b"), el("p"), el("p"));
    this.element = el(
      "div",
      {
        class: "loom",
        tabindex: 0,
        role: "application",
        "aria-label": "The loom: arrow keys go from position to position and from stage to stage",
      },
      this.room,
    );
    this.shuttle = -1;
    this.slide = { from: 0, to: -1, began: 0 };
    this.still = matchMedia("(prefers-reduced-motion: reduce)");
    this.taken = "";
    this.at = { x: 0, y: 0 }; // how far it is scrolled: to ask the element in a frame would lay out the page twice
    this.element.addEventListener("scroll", () => this.scrolled(), { passive: true });
    this.canvas.addEventListener("click", (event) => this.clicked(event));
    this.canvas.addEventListener("mousemove", (event) => this.pointed(event));
    this.canvas.addEventListener("mouseleave", () => this.left());
    this.size = { width: 0, height: 0 };
    new ResizeObserver(() => this.resized()).observe(this.element);
  }

  /** @param {Facts} facts */
  show(facts) {
    const { desk } = this;
    const { state } = desk;
    const { width, height } = this.size;
    if (!width || !facts) return;
    const tokens = Math.max(...facts.solution.ids.map((id) => desk.name(id).length));
    const threads = facts.strands.length > 1 ? facts.strands : [];
    this.layout = layoutOf({
      T: facts.solution.ids.length,
      stages: desk.study.stages.length,
      mode: facts.mode,
      units: facts.units,
      width,
      height,
      dials: facts.strands.some(({ kind }) => kind === "dial"),
      letters: tokens,
      selected: state.position,
      nameLetters: Math.max(
        0,
        ...threads.map(({ name, reading }) => name.length + (reading.kind === "ballast" ? 2 : 0)),
      ),
    });
    const { layout } = this;
    const taken = `width:${Math.max(width, layout.width)}px;height:${Math.max(height, layout.height)}px`;
    if (taken !== this.taken) this.room.style.cssText = this.taken = taken;
    if (this.slide.to !== state.stage) this.moveTo(state.stage);
    if (this.followed !== `${state.position},${state.stage}`) this.follow();
    this.paint();
    this.canvas.setAttribute(
      "aria-label",
      `${facts.solution.ids.length} positions, ${desk.study.stages.length} stages`,
    );
  }

  resized() {
    this.size = { width: this.element.clientWidth, height: this.element.clientHeight };
    this.desk.draw();
  }

  scrolled() {
    const { scrollLeft: x, scrollTop: y } = this.element;
    this.at = { x, y };
    if (this.desk.facts) this.paint();
  }

  /** @param {number} stage */
  moveTo(stage) {
    const jump = this.still.matches || this.slide.to < 0;
    this.slide = { from: jump ? stage : this.shuttle, to: stage, began: performance.now() };
    if (jump) this.shuttle = stage;
    else requestAnimationFrame(() => this.move());
  }

  move() {
    const { from, to, began } = this.slide;
    const u = Math.min(1, (performance.now() - began) / SLIDE);
    this.shuttle = from + (to - from) * u * (2 - u);
    if (u < 1) requestAnimationFrame(() => this.move());
    this.paint();
  }

  /** Scroll so far that the selection is seen. */
  follow() {
    const { element, layout, desk } = this;
    if (!layout) return;
    const { position, stage } = desk.state;
    this.followed = `${position},${stage}`;
    const left = layout.left[position] - layout.gutter;
    const right = layout.left[position] + layout.widths[position] + 2 * layout.widths[0]; // and what follows
    if (element.scrollLeft > left) element.scrollLeft = left - 20;
    if (element.scrollLeft + element.clientWidth < right) element.scrollLeft = right - element.clientWidth + 20;
    const [top, bottom] = [layout.ys[stage] - layout.row - layout.header, layout.ys[stage] + layout.row];
    if (element.scrollTop > top) element.scrollTop = top;
    if (element.scrollTop + element.clientHeight < bottom) element.scrollTop = bottom - element.clientHeight;
    this.at = { x: element.scrollLeft, y: element.scrollTop };
  }

  paint() {
    const scene = this.scene();
    if (!scene) return;
    const { width, height } = this.size;
    const { x, y } = this.at;
    const [a, b] = [x + scene.layout.gutter - 60, x + width + 60];
    scene.columns = scene.columns.filter(
      (t) => scene.layout.left[t] < b && scene.layout.left[t] + scene.layout.widths[t] > a,
    );
    drawFigure(onCanvas(fitted(this.canvas, width, height)), scene, { x, y, width, height });
  }

  /** @returns {Scene | undefined} */
  scene() {
    const { desk, layout } = this;
    const { facts } = desk;
    if (!facts || !layout || layout.left.length !== facts.solution.ids.length) return undefined;
    const { edits } = desk.state;
    return {
      ...facts,
      stages: desk.study.stages,
      state: desk.state,
      layout,
      colours: desk.colours,
      hover: desk.hovered,
      columns: facts.solution.ids.map((_, t) => t),
      shuttle: Math.max(0, this.shuttle),
      names: (token) => desk.name(token),
      isWrong: (t) => desk.isWrong(t),
      isOut: ({ layer, head, to = 0, from = 0 }) =>
        edits.length > 0 &&
        (has(desk.state, address(withoutHead(layer, head))) ||
          has(desk.state, address(withoutEdge(layer, head, to, from)))),
    };
  }

  /** @param {MouseEvent} event */
  place(event) {
    const { scrollLeft, scrollTop } = this.element;
    const { gutter, header } = this.layout ?? { gutter: 0, header: 0 };
    const inside = event.offsetX > gutter;
    return {
      x: event.offsetX + (inside ? scrollLeft : 0),
      y: event.offsetY + (event.offsetY > header ? scrollTop : 0),
      body: inside && event.offsetY > header,
    };
  }

  /** @param {MouseEvent} event */
  clicked(event) {
    const { desk, layout } = this;
    if (!layout) return;
    const { x, y, body } = this.place(event);
    const scene = this.scene();
    const look = body && scene ? lookAt(scene, x, y) : undefined;
    if (look) return desk.select({ position: look.to, stage: look.stage, part: look.head });
    const { position, stage } = cellAt(layout, x, y);
    desk.select({
      ...(position >= 0 ? { position } : {}),
      ...(stage >= 0 && event.offsetY > layout.header
        ? { stage, part: stage === desk.state.stage ? desk.state.part : 0 }
        : {}),
    });
  }

  /** @param {MouseEvent} event */
  pointed(event) {
    const scene = this.scene();
    const { x, y, body } = this.place(event);
    const look = body && scene ? lookAt(scene, x, y) : undefined;
    const position = this.layout ? cellAt(this.layout, x, y).position : -1;
    const at = look ?? { layer: -1, head: -1 };
    this.desk.hover(look || position >= 0 ? { layer: at.layer, head: at.head, position } : null);
    this.canvas.style.cursor = "pointer";
    this.tip.hidden = !look;
    if (!look || !scene) return;
    const { ids } = scene.solution;
    const name = (/** @type {number} */ t) => `${quoted(this.desk.name(ids[t]))} (${t})`;
    each(
      this.tip,
      [0, 1, 2],
      () => el("p"),
      (row, i) => {
        const words = this.desk.note("heads", `${look.layer}.${look.head}`);
        say(
          row,
          [
            `head ${look.layer}.${look.head}`,
            words,
            `${name(look.to)} looks at ${name(look.from)}, ${percent(look.p)}`,
          ][i],
        );
        row.hidden = i === 1 && !words;
      },
    );
    const { innerWidth, innerHeight } = window;
    this.tip.style.left = `${Math.max(8, Math.min(event.clientX + 14, innerWidth - 290))}px`;
    this.tip.style.top = `${Math.min(event.clientY + 16, innerHeight - 110)}px`;
  }

  left() {
    this.tip.hidden = true;
    this.desk.hover(null);
  }
}
