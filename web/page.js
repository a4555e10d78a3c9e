/**
 * A page with a live model: the loom, the panel and the exam, and all of it computed here. The page carries the model
 * and what it starts with as JSON; `view/pages/live.py` writes it. In a worker, the same script answers questions.
 */
import { readModel } from "./engine/model.js";
import { selfCheck } from "./engine/self_check.js";
import { coloursOf } from "./loom/colour.js";
import { Desk, messageOf } from "./loom/desk.js";
import { el, say } from "./loom/dom.js";
import { fits } from "./loom/edits.js";
import { ExamStrip } from "./loom/exam_strip.js";
import { Header } from "./loom/header.js";
import { LIST, listen } from "./loom/keys.js";
import { LoomView } from "./loom/loom_view.js";
import { Panel } from "./loom/panel.js";
import { download, pngOf, svgOf } from "./loom/save.js";
import { AdaptiveSolver } from "./loom/solver.js";
import { fragment, fromFragment } from "./loom/state.js";
import { serve } from "./loom/workers.js";

const STEP = 400; // ms that each stage is shown while it plays
const REST = 250; // ms before the address is written

/** @param {HTMLElement} main */
function start(main) {
  try {
    mount(main, json("model"), json("page"));
  } catch (error) {
    main.append(el("p", { class: "error", role: "alert" }, messageOf(error)));
    throw error;
  }
}

/** @param {string} id */
const json = (id) => JSON.parse(document.getElementById(id)?.textContent ?? "null");

/**
 * @param {HTMLElement} main
 * @param {any} data
 * @param {import("./loom/desk.js").PageData} page
 */
function mount(main, data, page) {
  const model = readModel(data);
  const answerLength = Math.max(0, ...(page.exam ?? []).map(([, answer]) => answer.length));
  const desk = new Desk(model, page, new AdaptiveSolver(model, data, answerLength), coloursOf(main));
  const view = new LoomView(desk);
  const panel = new Panel(desk);
  const exam = new ExamStrip(desk, { data, answerLength });
  const help = helpOf();
  const does = { ...savers(view, page.name), help: () => help.showModal(), play: () => play(desk) };
  const header = new Header(desk, does);
  const body = el("div", { class: "body" }, view.element, panel.element);
  main.append(header.element, body, exam.element, help, view.tip);
  desk.parts = [header, view, panel, exam];
  followColours(desk, main);
  listen(desk, {
    ...does,
    takeOut: () => panel.part.takeOut(),
    enter: () => panel.element.querySelector("input")?.focus(),
    input: () => header.input.select(),
    exam: () => exam.focus(),
  });
  followAddress(desk);
  check(model, header);
  Object.assign(globalThis, { loom: desk }); // for those who look inside, and for tests
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
 */
function followColours(desk, main) {
  const read = () => {
    desk.colours = coloursOf(main);
    desk.draw();
  };
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", read);
}

/**
 * The state in the address, both ways: a link may change it while the page is open.
 * @param {Desk} desk
 */
function followAddress(desk) {
  const state = desk.state;
  const read = () => desk.update(fromFragment(desk.state, location.hash, (edit) => fits(desk.study.model, edit)));
  let [timer, wrote] = [0, location.hash];
  desk.listeners.push(() => {
    clearTimeout(timer);
    timer = window.setTimeout(() => {
      wrote = fragment(desk.state);
      history.replaceState(null, "", wrote);
    }, REST);
  });
  addEventListener("hashchange", () => location.hash !== wrote && read());
  if (location.hash.length > 1) read();
  else desk.update(state);
}

/**
 * Say so if this browser computes something else than the reference did.
 * @param {import("./engine/model.js").Model} model
 * @param {Header} header
 */
function check(model, header) {
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

if (typeof document === "undefined") serve(/** @type {any} */ (globalThis));
else start(/** @type {HTMLElement} */ (document.getElementById("loom")));
