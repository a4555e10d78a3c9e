/**
 * What is known of runs: from the events of jobs, which are replayed when the page is opened again, and from a run's
 * folder. A run that is resumed is another job of the same folder, and one run here.
 *
 * @typedef {import("./api.js").Event} Event
 * @typedef {import("./chart.js").Point} Point
 * @typedef {import("./film.js").Frame} Frame
 * @typedef {{ id: number, kind: string, title: string, state: string, folder?: string, [more: string]: any }} Job
 */
import { bytes } from "../engine/base64.js";

const MOST_POINTS = 2000; // of a curve
const MOST_BYTES = 24e6; // of a film
export const RUNNING = ["running", "stopping"];
/** @type {Record<string, string[]>} the jobs that make or resume runs of a kind */
export const JOBS = { learn: ["learn", "resume"], discover: ["discover", "resume-discover"] };

/** One run, or a job that has no folder yet. */
export class Run {
  /** @param {string} folder */
  constructor(folder) {
    this.folder = folder;
    /** @type {Job | undefined} the last job that was at work on it */
    this.job = undefined;
    /** @type {any} what it said when it began, or what its folder says */
    this.about = {};
    /** @type {Map<number, any>} evaluations by step, generations by number */
    this.lines = new Map();
    /** @type {Point[]} losses between evaluations */
    this.losses = [];
    /** @type {Frame[]} */
    this.frames = [];
    /** @type {Map<number, string>} files of kept models by step */
    this.kept = new Map();
    /** @type {number[]} steps at which it was resumed */
    this.joints = [];
    /** @type {any[]} improvements */
    this.improved = [];
    /** @type {any} the newest event of its progress */
    this.now = undefined;
    /** @type {any} the event that ended its last job */
    this.end = undefined;
    /** @type {import("./samples.js").Sample[]} */
    this.samples = [];
    this.sampled = 0; // the step of the samples
    /** @type {{ at: number, seconds: number } | undefined} where the last job began */
    this.began = undefined;
  }

  get state() {
    return this.job?.state ?? "";
  }

  get isRunning() {
    return RUNNING.includes(this.state);
  }

  /** The lines in their order. */
  get ordered() {
    return [...this.lines.entries()].sort(([a], [b]) => a - b).map(([, line]) => line);
  }

  /** @param {Event} event */
  hear(event) {
    const hear = HEARD[event.type];
    if (hear) hear(this, event);
  }
}

/** @type {Record<string, (run: Run, event: Event) => void>} what each event changes */
const HEARD = {
  begun(run, event) {
    run.about = { ...run.about, ...event };
    run.end = run.now = run.began = undefined;
    if (event.step > 0) run.joints.push(event.step);
    run.losses = run.losses.filter(({ x }) => !(x > event.step));
    for (const step of run.lines.keys()) if (event.engine && step > event.step) run.lines.delete(step);
  },
  step(run, event) {
    run.now = event;
    run.began ??= { at: event.step, seconds: event.seconds };
    run.losses = thinned([...run.losses, { x: event.step, y: event.loss ?? NaN }], MOST_POINTS);
  },
  evaluation(run, event) {
    run.lines.set(event.step, event);
    if (!event.samples) return;
    run.samples = event.samples;
    run.sampled = event.step;
  },
  generation: (run, event) => run.lines.set(event.generation, event),
  saved: (run, event) => run.kept.set(event.step, event.file),
  frame(run, event) {
    const { step, tokens, layers, heads, size } = event;
    const frame = { step, tokens, layers, heads, size, data: bytes(event.data) };
    const others = run.frames.filter((one) => one.step < step && one.size === size);
    run.frames = thinned([...others, frame], Math.max(8, Math.floor(MOST_BYTES / frame.data.length)));
  },
  stage: (run, event) => (run.now = event),
  improved: (run, event) => run.improved.push(event),
  done: (run, event) => (run.end = event),
  error: (run, event) => (run.end = event),
};

/**
 * Every second one is dropped when there are too many; the first and the last stay.
 * @template T
 * @param {T[]} things
 * @param {number} most
 */
const thinned = (things, most) =>
  things.length <= most ? things : things.filter((_, i) => i % 2 === 0 || i === things.length - 1);

export class JobBook {
  /** @param {import("./api.js").Api} api */
  constructor(api) {
    this.api = api;
    /** @type {Map<string, Run>} by folder */
    this.runs = new Map();
    /** @type {Map<number, Run>} by the number of a job */
    this.ofJob = new Map();
    /** @type {Job[]} */
    this.jobs = [];
    /** @type {Set<(run: Run | undefined, event: Event | undefined) => void>} */
    this.listeners = new Set();
    this.asking = false;
    api.listen((event) => this.hear(event), new AbortController().signal);
  }

  /**
   * The run of a folder, of which nothing may be known yet.
   * @param {string} folder
   */
  run(folder) {
    const run = this.runs.get(folder) ?? new Run(folder);
    this.runs.set(folder, run);
    return run;
  }

  /** @param {Event} event */
  hear(event) {
    if (event.job === undefined) return;
    const job = Number(event.job);
    if (event.type === "begun" && event.folder) this.ofJob.set(job, this.run(event.folder));
    const run = this.ofJob.get(job) ?? new Run("");
    this.ofJob.set(job, run);
    run.hear(event);
    const known = this.jobs.find((one) => one.id === job);
    if (known) run.job = known;
    if (known && event.type === "stopping") known.state = "stopping";
    if (!known || ["begun", "done", "error"].includes(event.type)) this.ask();
    this.tell(run, event);
  }

  /** Ask for the list of jobs, for what no event says: their kinds and states. */
  async ask() {
    if (this.asking) return;
    this.asking = true;
    await new Promise((go) => setTimeout(go, 30)); // for all events of a replay once
    this.asking = false;
    try {
      this.take(await this.api.get("/api/jobs"));
    } catch {
      // the stream will say that the studio is gone
    }
  }

  /** @param {Job[]} jobs */
  take(jobs) {
    this.jobs = jobs;
    for (const job of jobs) {
      const run = this.ofJob.get(job.id);
      if (run && (!run.job || run.job.id <= job.id)) run.job = job;
    }
    this.tell(undefined, undefined);
  }

  /**
   * @param {Run | undefined} run
   * @param {Event | undefined} event
   */
  tell(run, event) {
    for (const listener of this.listeners) listener(run, event);
  }

  /**
   * Start a job, and wait until it has begun: the folder of its run. Raises what it says if it cannot.
   * @param {object} spec
   * @returns {Promise<string>}
   */
  async start(spec) {
    const { id } = await this.api.post("/api/jobs", spec);
    this.take(await this.api.get("/api/jobs"));
    return new Promise((go, fail) => {
      const look = () => {
        const run = this.ofJob.get(id);
        if (run?.folder) go(run.folder);
        else if (run?.end?.type === "error") fail(new Error(run.end.message));
        else return;
        this.listeners.delete(look);
      };
      this.listeners.add(look);
      look();
    });
  }

  /** @param {Run} run */
  async halt(run) {
    if (!run.job) return;
    this.take(await this.api.post("/api/jobs/halt", { job: run.job.id }));
  }

  /**
   * The folder of the newest run of a kind that is at work.
   * @param {string} kind
   * @returns {Promise<string | undefined>}
   */
  async running(kind) {
    this.take(await this.api.get("/api/jobs"));
    return this.of(JOBS[kind]).find((job) => RUNNING.includes(job.state) && job.folder)?.folder;
  }

  /**
   * The jobs of some kinds, the newest first.
   * @param {string[]} kinds
   */
  of(kinds) {
    return this.jobs.filter(({ kind }) => kinds.includes(kind)).reverse();
  }

  /**
   * Call a function after every event, with its run, until the signal.
   * @param {(run: Run | undefined, event: Event | undefined) => void} listener
   * @param {AbortSignal} signal
   */
  listen(listener, signal) {
    this.listeners.add(listener);
    signal.addEventListener("abort", () => this.listeners.delete(listener));
  }
}
