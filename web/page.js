/**
 * A page with a live model: the loom, the panel and the exam, and all of it computed here. The page carries the model
 * and what it starts with as JSON; `view/pages/live.py` writes it. In a worker, the same script answers questions.
 */
import { messageOf } from "./loom/desk.js";
import { el } from "./loom/dom.js";
import { mountLoom } from "./loom/mount.js";
import { serve } from "./loom/workers.js";

/** @param {HTMLElement} main */
function start(main) {
  try {
    const { desk } = mountLoom(main, json("model"), json("page"));
    Object.assign(globalThis, { loom: desk }); // for those who look inside, and for tests
  } catch (error) {
    main.append(el("p", { class: "error", role: "alert" }, messageOf(error)));
    throw error;
  }
}

/** @param {string} id */
const json = (id) => JSON.parse(document.getElementById(id)?.textContent ?? "null");

if (typeof document === "undefined") serve(/** @type {any} */ (globalThis));
else start(/** @type {HTMLElement} */ (document.getElementById("loom")));
