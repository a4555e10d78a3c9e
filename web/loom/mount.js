/**
 * Mounts a loom: the header, the figure, the panel and the exam of one model in an element, all of it computed here.
 *
 *     const loom = mountLoom(main, data, page);      // data as view/pages/model_data.py packs it
 *     loom.close();
 *
 * @typedef {object} Where
 * @property {string | null} [prefix] what stands before the state in the URL's fragment; null leaves the address alone
 * @property {EventTarget} [keys] where keys are listened to, by default everywhere
 * @property {boolean} [check] whether the engine is checked against the stored logits
 *
 * @typedef {{ desk: Desk, header: Header, view: LoomView, close(): void }} Mounted
 */
import { readModel } from "../engine/model.js";
import { selfCheck } from "../engine/self_check.js";
import { followAddress } from "./address_bar.js";
import { coloursOf } from "./colour.js";
import { Desk } from "./desk.js";
import { el, say } from "./dom.js";
import { ExamStrip } from "./exam_strip.js";
import { Header } from "./header.js";
import { LIST, listen } from "./keys.js";
import { LoomView } from "./loom_view.js";
import { Panel } from "./panel.js";
import { download, pngOf, svgOf } from "./save.js";
import { AdaptiveSolver } from "./solver.js";

const STEP = 400; // ms that each stage is shown while it plays
const NARROW = 900; // pixels

/**
 * @param {HTMLElement} main
 * @param {any} data
 * @param {import("./desk.js").PageData} page
 * @param {Where} [where]
 * @returns {Mounted}
 */
export function mountLoom(main, data, page, { prefix = "", keys = document, check = true } = {}) {
  const model = readModel(data);
  const answerLength = Math.max(0, ...(page.exam ?? []).map(([, answer]) => answer.length));
  const solver = new AdaptiveSolver(model, data, answerLength);
  const desk = new Desk(model, page, solver, coloursOf(main));
  const view = new LoomView(desk);
  const panel = new Panel(desk);
  const exam = new ExamStrip(desk, { data, answerLength });
  const help = helpOf();
  const does = { ...savers(view, page.name), help: () => help.showModal(), play: () => play(desk) };
  const header = new Header(desk, does);
  const body = el("div", { class: "body" }, view.element, panel.element);
  main.classList.add("desk");
  main.append(header.element, body, exam.element, help, view.tip);
  desk.parts = [view, header, panel, exam];
  desk.header = header;
  const end = new AbortController();
  followColours(desk, main, end.signal);
  followWidth(main, end.signal);
  const more = {
    ...does,
    takeOut: () => panel.part.takeOut(),
    enter: () => panel.element.querySelector("input")?.focus(),
    input: () => header.input.select(),
    exam: () => exam.focus(),
  };
  listen(desk, more, keys, end.signal);
  if (prefix === null) desk.update(desk.state);
  else followAddress([desk], prefix, end.signal);
  if (check) checkEngine(model, header);
  const close = () => {
    end.abort();
    solver.close();
    exam.close();
    desk.close();
    main.classList.remove("desk", "narrow");
    main.replaceChildren();
  };
  return { desk, header, view, close };
}

/**
 * @param {LoomView} view
 * @param {string} name
 */
function savers(view, name) {
  const file = name.replace(/[^\w-]+/g, "-") || "figure";
  return {
    /** @param {"svg" | "png"} kind */
    save(kind) {
      if (kind === "svg") download(new Blob([svgOf(view)], { type: "image/svg+xml" }), `${file}.svg`);
      else pngOf(view, (png) => png && download(png, `${file}.png`));
    },
  };
}

/**
 * The colours of light or dark, whenever they change.
 * @param {Desk} desk
 * @param {HTMLElement} main
 * @param {AbortSignal} signal
 */
function followColours(desk, main, signal) {
  const read = () => {
    desk.colours = coloursOf(main);
    desk.draw();
  };
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", read, { signal });
}

/**
 * Mark a place that has no room for the panel beside the figure.
 * @param {HTMLElement} main
 * @param {AbortSignal} signal
 */
function followWidth(main, signal) {
  const measure = () => main.classList.toggle("narrow", main.clientWidth < NARROW);
  const observer = new ResizeObserver(measure);
  measure();
  observer.observe(main);
  signal.addEventListener("abort", () => observer.disconnect());
}

/**
 * Say so if this browser computes something else than the reference did.
 * @param {import("../engine/model.js").Model} model
 * @param {Header} header
 */
function checkEngine(model, header) {
  setTimeout(() => {
    const { passed, worst } = selfCheck(model);
    header.element.dataset.check = String(worst);
    if (passed) return;
    const warning = el("p", { class: "error", role: "alert" });
    say(
      warning,
      `This browser computes other logits than the reference, by up to ${worst.toExponential(1)} of the largest.`,
    );
    header.element.append(warning);
  }, 0);
}

/** The list of keys. */
function helpOf() {
  const rows = LIST.map(([key, does]) => el("div", {}, el("dt", {}, el("kbd", {}, key)), el("dd", {}, does)));
  const close = el("button", { class: "out", onclick: () => dialog.close() }, "close");
  const words = el(
    "p",
    { class: "soft" },
    "A click in the figure selects a position and a stage. A number is changed by dragging it sideways, typing, or ",
    "with ↑ and ↓; a click on a cell of a pattern takes that look out.",
  );
  const dialog = el(
    "dialog",
    { "aria-label": "Keys" },
    el("h2", {}, "Keys"),
    el("dl", { class: "keys" }, ...rows),
    words,
    close,
  );
  return dialog;
}

/**
 * Show one stage after another.
 * @param {Desk} desk
 */
function play(desk) {
  const { stages } = desk.study;
  let stage = desk.state.stage >= stages.length - 1 ? 0 : desk.state.stage;
  desk.select({ stage, part: 0 });
  const timer = setInterval(() => {
    if (desk.state.stage !== stage || stage >= stages.length - 1) return clearInterval(timer);
    return desk.select({ stage: ++stage, part: 0 });
  }, STEP);
}
