/**
 * The random numbers that `core/decoding.py` draws for a row: NumPy's default_rng((seed, row)), so that a page samples
 * the tokens that Python samples. PCG64 (O'Neill 2014) started by NumPy's SeedSequence.
 */
const WORD = 0xffffffffn;
const LONG = 0xffffffffffffffffn;
const HUGE = (1n << 128n) - 1n;
const MULTIPLIER = 0x2360ed051fc65da44385df649fccf645n;
const POOL = 4; // words of 32 bits

/**
 * A function that gives uniform numbers from 0 to below 1.
 * @param {...number} entropy whole numbers, such as a seed and a row
 * @returns {() => number}
 */
export function uniform(...entropy) {
  const [a, b, c, d] = startingState(entropy.flatMap(words));
  const increment = (((c << 64n) | d) << 1n | 1n) & HUGE;
  let state = 0n;
  const step = () => (state = (state * MULTIPLIER + increment) & HUGE);
  step();
  state = (state + ((a << 64n) | b)) & HUGE;
  step();
  return () => {
    step();
    const mixed = (state >> 64n) ^ (state & LONG);
    const turn = state >> 122n;
    const bits = ((mixed >> turn) | (mixed << (64n - turn))) & LONG;
    return Number(bits >> 11n) * 2 ** -53;
  };
}

/**
 * A whole number as words of 32 bits, the lowest first.
 * @param {number} number
 */
function words(number) {
  const found = [BigInt(number) & WORD];
  for (let rest = BigInt(number) >> 32n; rest > 0n; rest >>= 32n) found.push(rest & WORD);
  return found;
}

/**
 * SeedSequence: the entropy mixed into a pool, and four words of 64 bits drawn from it.
 * @param {bigint[]} entropy
 */
function startingState(entropy) {
  const hash = hasher(0x43b0d7e5n, 0x931e8875n);
  const pool = Array.from({ length: POOL }, (_, i) => hash(entropy[i] ?? 0n));
  for (let from = 0; from < POOL; from++) {
    for (let to = 0; to < POOL; to++) if (to !== from) pool[to] = mix(pool[to], hash(pool[from]));
  }
  for (const more of entropy.slice(POOL)) {
    for (let to = 0; to < POOL; to++) pool[to] = mix(pool[to], hash(more));
  }
  const draw = hasher(0x8b51f9ddn, 0x58f38dedn);
  const drawn = Array.from({ length: 2 * POOL }, (_, i) => draw(pool[i % POOL]));
  return Array.from({ length: POOL }, (_, i) => drawn[2 * i] | (drawn[2 * i + 1] << 32n));
}

/**
 * @param {bigint} constant
 * @param {bigint} multiplier
 */
function hasher(constant, multiplier) {
  return (/** @type {bigint} */ value) => {
    value ^= constant;
    constant = (constant * multiplier) & WORD;
    value = (value * constant) & WORD;
    return value ^ (value >> 16n);
  };
}

/**
 * @param {bigint} x
 * @param {bigint} y
 */
function mix(x, y) {
  const mixed = (x * 0xca01f9ddn - y * 0x4973f715n) & WORD;
  return mixed ^ (mixed >> 16n);
}
