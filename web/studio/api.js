/**
 * Questions to the studio's server, and its one stream of events.
 *
 * @typedef {{ id: number, job?: string, type: string, [more: string]: any }} Event
 */
const KEY = "X-Handloom-Key";
const PAUSE = 1000; // ms before a lost stream is asked for again

/** What the server refused or could not do, in one line; `more` is what else it said. */
export class Refusal extends Error {
  /**
   * @param {string} message
   * @param {any} [more]
   */
  constructor(message, more = {}) {
    super(message);
    this.more = more;
  }
}

export class Api {
  /** @param {string} key */
  constructor(key) {
    this.key = key;
    this.last = 0; // the id of the last event seen
    /** @type {Set<(event: Event) => void>} */
    this.listeners = new Set();
    /** @type {Event[]} what was told so far, for a screen that is opened later */
    this.told = [];
    /** @type {(connected: boolean) => void} */
    this.connected = () => undefined;
  }

  /**
   * @param {string} path
   * @returns {Promise<any>}
   */
  get(path) {
    return this.call(path, { headers: { [KEY]: this.key } });
  }

  /**
   * @param {string} path
   * @param {object} body
   * @returns {Promise<any>}
   */
  post(path, body) {
    const headers = { [KEY]: this.key, "Content-Type": "application/json" };
    return this.call(path, { method: "POST", headers, body: JSON.stringify(body) });
  }

  /**
   * @param {string} path
   * @param {RequestInit} request
   */
  async call(path, request) {
    let answer;
    try {
      answer = await fetch(path, request);
    } catch {
      throw new Refusal("The studio does not answer; start `handloom studio` again, and open what it prints.");
    }
    const values = await answer.json();
    if (!answer.ok) throw new Refusal(values.error ?? `the studio answered ${answer.status}`, values);
    return values;
  }

  /**
   * Call a function for every event of a job, those before included, until the signal.
   * @param {(event: Event) => void} listener
   * @param {AbortSignal} signal
   */
  listen(listener, signal) {
    for (const event of this.told) listener(event);
    this.listeners.add(listener);
    signal.addEventListener("abort", () => this.listeners.delete(listener));
  }

  /** Follow the stream for as long as the page is open; a lost one is taken up where it ended. */
  async follow() {
    for (;;) {
      try {
        const answer = await fetch(`/api/events?after=${this.last}`, { headers: { [KEY]: this.key } });
        if (!answer.ok || !answer.body) throw new Error();
        this.connected(true);
        await this.read(answer.body.pipeThrough(new TextDecoderStream()).getReader());
      } catch {
        // the server ended or the machine slept
      }
      this.connected(false);
      await new Promise((go) => setTimeout(go, PAUSE));
    }
  }

  /** @param {ReadableStreamDefaultReader<string>} reader */
  async read(reader) {
    let text = "";
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      const lines = (text + value).split("\n");
      text = /** @type {string} */ (lines.pop());
      for (const line of lines) this.tell(JSON.parse(line));
    }
  }

  /** @param {Event} event */
  tell(event) {
    if (event.type === "beat") return;
    this.last = event.id;
    const passing = ["step", "stage", "frame", "progress"];
    if (passing.includes(event.type)) {
      const last = this.told.findLastIndex((one) => one.job === event.job && one.type === event.type);
      if (last >= 0) this.told.splice(last, 1); // only the newest of these is shown
    }
    this.told.push(event);
    for (const listener of this.listeners) listener(event);
  }
}
