/**
 * Scales: what the largest number of a direction is, so that it fills its thread. Every direction has its own, for in
 * one stream there may be a digit and 4,000. It is that of the unedited run: an edit is seen as a change of width.
 *
 * @typedef {import("./strands.js").Strand} Strand
 * @typedef {import("./stages.js").Stage} Stage
 * @typedef {import("./compute.js").Solution} Solution
 * @typedef {{ values: Float64Array[], scale: number }} Threaded the numbers of a strand: for each stage, (T · k)
 */
import { numbers } from "./readings.js";

/**
 * The numbers of every strand at every stage and position.
 * @param {Solution} solution
 * @param {Strand[]} strands
 * @param {Stage[]} stages
 * @returns {Float64Array[][]} strand, stage: (T · k)
 */
export function threaded(solution, strands, stages) {
  const T = solution.ids.length;
  return strands.map(({ reading, kind, index, stages: where }) => {
    const one = kind === "thread" ? { ...reading, vectors: [reading.vectors[index]] } : reading;
    return stages.map(({ site }, s) => {
      const stream = solution.values.get(site);
      if (!where[s] || !stream) return new Float64Array(0);
      const k = one.vectors.length;
      const found = new Float64Array(T * k);
      for (let t = 0; t < T; t++) found.set(numbers(one, stream.data, t), t * k);
      return found;
    });
  });
}

/**
 * The largest size of a number of each strand.
 * @param {Float64Array[][]} values
 */
export const scalesOf = (values) =>
  values.map((stages) => {
    let most = 0;
    for (const stage of stages) for (const one of stage) most = Math.max(most, Math.abs(one));
    return most > 1e-9 ? most : 1;
  });

/**
 * A number on a symmetric scale, from -1 to 1.
 * @param {number} x
 * @param {number} scale
 */
export const onScale = (x, scale) => Math.max(-1, Math.min(1, x / scale));
