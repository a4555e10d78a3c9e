/**
 * The state in the URL's fragment, both ways: a link may change it while the page is open. With two looms side by side
 * the second one's stands behind the first's: `#in=1%202&at=1,0,0&beside=at%3D1%2C0%2C0`.
 *
 * @typedef {import("./desk.js").Desk} Desk
 */
import { fits } from "./edits.js";
import { fragment, fromFragment } from "./state.js";

const REST = 250; // ms before the address is written

/**
 * @param {Desk[]} desks
 * @param {string} prefix what stands before the state
 * @param {AbortSignal} signal
 */
export function followAddress(desks, prefix, signal) {
  const read = () => fragmentsOf(location.hash, prefix, desks.length).forEach((hash, i) => take(desks[i], hash));
  let [timer, wrote] = [0, location.hash];
  const write = () => {
    wrote = combined(desks, prefix);
    history.replaceState(null, "", wrote);
  };
  for (const desk of desks) {
    desk.listeners.push(() => {
      clearTimeout(timer);
      timer = window.setTimeout(write, REST);
    });
  }
  const isOurs = () => location.hash !== wrote && location.hash.slice(1).startsWith(prefix);
  addEventListener("hashchange", () => isOurs() && read(), { signal });
  signal.addEventListener("abort", () => clearTimeout(timer));
  if (location.hash.length > 1) read();
  else for (const desk of desks) desk.update(desk.state);
}

/**
 * @param {Desk} desk
 * @param {string} hash
 */
const take = (desk, hash) => desk.update(fromFragment(desk.state, hash, (edit) => fits(desk.study.model, edit)));

/**
 * @param {Desk[]} desks
 * @param {string} prefix
 */
function combined([first, ...others], prefix) {
  const behind = others.map(({ state }) => `&beside=${encodeURIComponent(fragment(state).slice(1))}`);
  return [fragment(first.state, prefix), ...behind].join("");
}

/**
 * The fragment of each desk; one that is not there is empty.
 * @param {string} hash
 * @param {string} prefix
 * @param {number} count
 */
function fragmentsOf(hash, prefix, count) {
  const text = hash.slice(1);
  const [first, ...others] = (text.startsWith(prefix) ? text.slice(prefix.length) : text).split("&beside=");
  return Array.from({ length: count }, (_, i) => (i ? plain(others[i - 1] ?? first.split("&at=")[0]) : first));
}

/** @param {string} text as it was before it was encoded, or nothing if it is damaged */
function plain(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return "";
  }
}
