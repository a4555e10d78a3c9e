/**
 * Keep: what was made in a loom as a page, a model file, a text, or lines of Python. Edits go with it.
 *
 * @typedef {import("./shell.js").Shell} Shell
 * @typedef {import("../loom/desk.js").Desk} Desk
 *
 * @typedef {object} Subject what is kept
 * @property {string} name the model's
 * @property {() => { model: string } | { name: string, text: string }} body how the server finds the model
 * @property {string} python the name by which Python finds it
 */
import { messageOf } from "../loom/desk.js";
import { el } from "../loom/dom.js";
import { download } from "../loom/save.js";
import { fragment, written } from "../loom/state.js";
import { asPython } from "./as_python.js";
import { askName, showText } from "./dialogs.js";

/**
 * A menu for the tools of a loom.
 * @param {Shell} shell
 * @param {Desk} desk
 * @param {Subject} subject
 */
export function keepMenu(shell, desk, subject) {
  const item = (/** @type {string} */ label, /** @type {string} */ title, /** @type {() => unknown} */ act) =>
    el("button", { title, onclick: () => done(act) }, label);
  const done = async (/** @type {() => unknown} */ act) => {
    menu.open = false;
    try {
      shell.fail("");
      await act();
    } catch (error) {
      shell.fail(messageOf(error));
    }
  };
  const menu = el(
    "details",
    { class: "menu" },
    el("summary", { title: "keep or share what you see" }, "Keep"),
    el(
      "div",
      { class: "items" },
      item("live page (.html)", "one file that works offline and opens as it is now", () =>
        savePage(shell, desk, subject),
      ),
      item("model file (.safetensors)", "with your edits in the weights", () =>
        saveModel(shell, desk, subject, ".safetensors"),
      ),
      item("text (.taotp)", "with your edits in the weights", () => saveModel(shell, desk, subject, ".taotp")),
      item("as Python", "lines that do the same", () => showPython(shell, desk, subject)),
    ),
  );
  const outside = (/** @type {Event} */ event) => {
    if (!menu.isConnected) document.removeEventListener("pointerdown", outside);
    else if (!menu.contains(/** @type {Node} */ (event.target))) menu.open = false;
  };
  document.addEventListener("pointerdown", outside);
  menu.addEventListener("keydown", ({ key }) => key === "Escape" && (menu.open = false));
  return menu;
}

/** @param {string} name a model's, as the beginning of a file's */
export const stem = (name) =>
  name
    .replace(/^.*[/\\](?=[^/\\]*$)/, "")
    .replace(/\.(safetensors|taotp|py)\b.*$/, "")
    .replace(/[^\w-]+/g, "-") || "model";

/** @param {Desk} desk */
const editsOf = (desk) => desk.state.edits.map(written);

/**
 * @param {Shell} shell
 * @param {Desk} desk
 * @param {Subject} subject
 */
async function savePage(shell, desk, { name, body }) {
  const state = fragment(desk.state, "", Infinity).slice(1);
  const { html } = await shell.api.post("/api/export", { ...body(), state });
  download(new Blob([html], { type: "text/html" }), `${stem(name)}.html`);
}

/**
 * @param {Shell} shell
 * @param {Desk} desk
 * @param {Subject} subject
 * @param {string} ending
 */
function saveModel(shell, desk, { name, body }, ending) {
  const edits = editsOf(desk);
  askName({
    title: `Save as ${ending}`,
    name: `${stem(name)}${edits.length ? "-edited" : "-copy"}${ending}`,
    words: `in ${shell.home.folder}, the folder of the studio; an existing file is never written over`,
    save: async (path) => {
      const saved = await shell.api.post("/api/save", { ...body(), path, edits });
      shell.models.add(saved.model);
      shell.tell("saved: ", el("a", { href: shell.link({ screen: "run", model: saved.model }) }, saved.model));
    },
  });
}

/**
 * @param {Shell} shell
 * @param {Desk} desk
 * @param {Subject} subject
 */
function showPython(shell, desk, { python }) {
  const { state, study } = desk;
  const isProgram = shell.models.isProgram(python);
  const params = Object.keys(study.model.params);
  const text = asPython({ name: python, isProgram, text: state.text, edits: state.edits, params });
  showText({ title: "As Python", text });
}
