/**
 * The error function, right to 1e-15 of its value everywhere.
 *
 *     erf(x) = 2/√π · exp(-x²) · Σ 2ⁿ x²ⁿ⁺¹ / (1 · 3 · … · (2n+1))       no term is negative, so nothing cancels
 *     erfc(x) = exp(-x²)/√π / (x + ½/(x + 1/(x + 3/2 /(x + 2/(x + …)))))   Laplace's fraction, for large x
 *
 * (Abramowitz and Stegun, 7.1.6 and 7.1.14.)
 */
const SERIES_UP_TO = 2;
const ONE_FROM = 6; // erfc(6) = 2e-17
const TERMS = 8; // of the series, and more per unit of x: the first one left out is below 1e-17 of the sum
const MORE_TERMS = 15;
const LEVELS = 40; // of the fraction; from 2 on they give erfc to 1e-14 of itself, and erfc is below 5e-3 there

/** @param {number} x */
export function erf(x) {
  const size = Math.abs(x);
  if (size >= ONE_FROM) return Math.sign(x);
  if (size > SERIES_UP_TO) return Math.sign(x) * (1 - erfcLarge(size));
  const twice = 2 * x * x;
  let sum = 1; // 1 + 2x²/3 · (1 + 2x²/5 · (1 + …)), from the inside
  for (let n = 2 * Math.ceil(TERMS + MORE_TERMS * size) + 1; n > 1; n -= 2) sum = 1 + (sum * twice) / n;
  return (2 / Math.sqrt(Math.PI)) * gauss(x) * x * sum;
}

/** @param {number} x */
function erfcLarge(x) {
  let below = x;
  for (let n = LEVELS; n > 0; n--) below = x + n / 2 / below;
  return gauss(x) / Math.sqrt(Math.PI) / below;
}

/**
 * exp(-x²). x² is rounded, which exp would magnify; the first 26 bits of x have an exact square.
 * @param {number} x
 */
function gauss(x) {
  const scaled = x * 134_217_729; // 2²⁷ + 1
  const high = scaled - (scaled - x);
  const rest = (x - high) * (x + high);
  return Math.exp(-high * high) * (1 - rest + (rest * rest) / 2); // rest is below 2e-6
}
