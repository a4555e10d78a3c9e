/**
 * A page with live models: in every element with `data-loom` a loom is mounted, with `data-beside` two side by side.
 * The attribute names the JSON blocks of the page that hold the model and what it starts with; `view/pages/live.py`
 * writes both. A `main` is the page itself: its state is in the address, and it has all keys. Any other is a figure,
 * which is mounted when it comes near, and has the keys pressed inside. `data-lesson` names the block of a lesson with
 * its models. In a worker, the same script answers questions.
 *
 * @typedef {import("./loom/desk.js").Desk} Desk
 */
import { Reader } from "./lesson/reader.js";
import { mountBeside } from "./loom/beside.js";
import { messageOf } from "./loom/desk.js";
import { el } from "./loom/dom.js";
import { mountLoom } from "./loom/mount.js";
import { serve } from "./loom/workers.js";

/** @type {Desk[]} those of the page, for those who look inside, and for tests */
const looms = [];
const NEAR = "400px"; // how far from the window a figure may be when it is mounted

/** @param {HTMLElement} place */
function start(place) {
  place.replaceChildren();
  try {
    looms.push(...mounted(place));
  } catch (error) {
    place.append(el("p", { class: "error", role: "alert" }, messageOf(error)));
    throw error;
  }
  Object.assign(globalThis, { loom: looms[0], looms });
}

/**
 * @param {HTMLElement} place
 * @returns {Desk[]}
 */
function mounted(place) {
  const where = place.matches("main") ? {} : { prefix: null, keys: place };
  const first = given(place.dataset.loom ?? "");
  const { beside } = place.dataset;
  if (place.matches("main") && first.page.state && location.hash.length < 2)
    history.replaceState(null, "", `#${first.page.state}`); // as it was when it was saved
  if (beside) return mountBeside(place, [first, given(beside)], where).desks;
  return [mountLoom(place, first.data, first.page, where).desk];
}

/** @param {string} names of two JSON blocks */
function given(names) {
  const [data, page] = names.split(" ").map((id) => JSON.parse(document.getElementById(id)?.textContent ?? "null"));
  return { data, page };
}

/** @param {HTMLElement} place of a lesson, which is all of the page */
function startLesson(place) {
  const { lesson, models } = JSON.parse(document.getElementById(place.dataset.lesson ?? "")?.textContent ?? "null");
  const open = async (/** @type {string} */ model) => models[model];
  const reader = new Reader(lesson, open, (to) => to, async () => null);
  place.replaceChildren(reader.element);
  reader.start();
}

function startAll() {
  for (const place of document.querySelectorAll("[data-lesson]")) startLesson(/** @type {HTMLElement} */ (place));
  const near = new IntersectionObserver(
    (seen) => {
      for (const { isIntersecting, target } of seen) {
        if (!isIntersecting) continue;
        near.unobserve(target);
        start(/** @type {HTMLElement} */ (target));
      }
    },
    { rootMargin: NEAR },
  );
  for (const place of document.querySelectorAll("[data-loom]")) {
    if (place.matches("main")) start(/** @type {HTMLElement} */ (place));
    else near.observe(place);
  }
}

if (typeof document === "undefined") serve(/** @type {any} */ (globalThis));
else startAll();
