/**
 * Small dialogs: a name under which something is saved, and a text to copy.
 */
import { messageOf } from "../loom/desk.js";
import { el, say } from "../loom/dom.js";

/**
 * Ask for a file's name, and do something with it; a refusal is shown, and the name can be corrected.
 * @param {{ title: string, name: string, words: string, save: (name: string) => Promise<void> }} ask
 */
export function askName({ title, name, words, save }) {
  const input = el("input", { type: "text", value: name, "aria-label": "file name", spellcheck: "false", size: 34 });
  const error = el("p", { class: "error", role: "alert" });
  error.hidden = true;
  const dialog = el("dialog", { class: "ask", "aria-label": title });
  const submit = async (/** @type {Event} */ event) => {
    event.preventDefault();
    try {
      await save(input.value.trim());
      dialog.close();
    } catch (failed) {
      say(error, messageOf(failed));
      error.hidden = false;
      input.select();
    }
  };
  const submitter = el("button", { class: "out", type: "submit" }, "save");
  const buttons = el("div", { class: "buttons" }, submitter, closer(dialog));
  const form = el("form", { onsubmit: submit }, input, error, el("p", { class: "soft" }, words), buttons);
  dialog.append(el("h2", {}, title), form);
  shown(dialog);
  input.setSelectionRange(0, name.lastIndexOf("."));
}

/**
 * Show a text with a button that copies it.
 * @param {{ title: string, text: string, words?: string }} given
 */
export function showText({ title, text, words = "" }) {
  const code = el("pre", { class: "code" }, text);
  const dialog = el("dialog", { class: "ask broad", "aria-label": title });
  const copy = el("button", { class: "out" }, "copy");
  copy.onclick = async () => {
    await navigator.clipboard.writeText(text).then(
      () => say(copy, "copied"),
      () => getSelection()?.selectAllChildren(code),
    );
  };
  const about = el("p", { class: "soft" }, words);
  about.hidden = !words;
  dialog.append(el("h2", {}, title), about, code, el("div", { class: "buttons" }, copy, closer(dialog)));
  shown(dialog);
}

/** @param {HTMLDialogElement} dialog */
const closer = (dialog) => el("button", { class: "out", type: "button", onclick: () => dialog.close() }, "close");

/** @param {HTMLDialogElement} dialog */
function shown(dialog) {
  dialog.addEventListener("close", () => dialog.remove());
  (document.getElementById("studio") ?? document.body).append(dialog);
  dialog.showModal();
}
