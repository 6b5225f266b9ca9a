/** Numbers as people read them. */

/** @param {number} count */
export const counted = count => Math.round(count).toLocaleString("en");

/**
 * A number with three digits that count.
 * @param {number|null} number
 */
export function short(number) {
  if (number === null || number === undefined || !Number.isFinite(number)) return "–";
  const rounded = Number(number.toPrecision(3));
  const size = Math.abs(rounded);
  return rounded !== 0 && (size < 1e-3 || size >= 1e5) ? rounded.toExponential().replace("e+", "e") : String(rounded);
}

/** A loss or another measure, with as many digits each time. @param {number|null|undefined} number */
export function fixed(number) {
  if (number === null || number === undefined || !Number.isFinite(number)) return "–";
  return Math.abs(number) >= 1000 ? short(number) : number.toFixed(4);
}

/** A share as percent. @param {number|null|undefined} share */
export const percent = share =>
  share === null || share === undefined || !Number.isFinite(share) ? "–" : `${(100 * share).toFixed(2)} %`;

/** @param {number} seconds */
export function duration(seconds) {
  if (seconds < 1) return `${seconds.toFixed(3)} s`;
  if (seconds < 10) return `${seconds.toFixed(2)} s`;
  if (seconds < 100) return `${seconds.toFixed(1)} s`;
  return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
}

/**
 * "1 row", "2 rows".
 * @param {number} count
 * @param {string} one
 * @param {string} [many]
 */
export const of = (count, one, many = `${one}s`) => `${counted(count)} ${count === 1 ? one : many}`;
