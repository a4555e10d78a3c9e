/**
 * The badge: what the model's certificate says, word for word. It is about the weights that were certified: with the
 * first edit it is void, and when the edits are undone it holds again.
 *
 * @typedef {import("./desk.js").Desk} Desk
 */
import { el, say } from "./dom.js";
import { count } from "./words.js";

export class Badge {
  /** @param {Desk} desk */
  constructor(desk) {
    this.desk = desk;
    this.text = el("span");
    this.void = el("b", {}, "void: edited");
    this.element = el("span", { class: "badge", role: "status" }, this.text, this.void);
  }

  show() {
    const { certificate, sizes } = this.desk.page;
    const edits = this.desk.state.edits.length;
    const size = sizes ? `${count(sizes.total, "number")}, ${sizes.nonzero.toLocaleString("en-GB")} not zero` : "";
    say(this.text, certificate ? certificate.text : size);
    this.element.hidden = !certificate && !size;
    const isVoid = Boolean(certificate) && edits > 0;
    this.void.hidden = !isVoid;
    const wrong = certificate?.text.startsWith("WRONG");
    const kind = !certificate
      ? "plain"
      : isVoid
        ? "void"
        : wrong
          ? "bad"
          : certificate.method === "sampled"
            ? "sampled"
            : "good";
    this.element.className = `badge ${kind}`;
    this.element.title = isVoid
      ? `The certificate is about the weights without your ${count(edits, "edit")}; undo brings it back.`
      : certificate
        ? certificate.text
        : "";
  }
}
