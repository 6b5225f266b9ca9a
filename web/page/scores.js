/** How good a model is, and what it depends on. */
import { element, table } from "./dom.js";
import { counted, fixed, of } from "./format.js";

const between = interval => (interval && interval.every(Number.isFinite) ? `${fixed(interval[0])} to ${fixed(interval[1])}` : "–");
const isNumber = value => value !== null && value !== undefined;

/**
 * Measures with their intervals.
 * @param {any} found
 * @param {string} rows what was measured on
 */
export function scores(found, rows) {
  const lines = [["loss", fixed(found.loss), "–"], ...found.measures.filter(measure => isNumber(measure.value))
    .map(({ name, value, interval }) => [name.replaceAll("_", " "), fixed(value), between(interval)])];
  const unknown = found.unknown_cells ? element("p", { class: "small" }, `${of(found.unknown_cells, "cell")} with a category that the model does not know.`) : null;
  return element("div", {}, table(`Measures on ${rows}`, ["measure|", "value", "95 % interval"], lines), unknown);
}

/** Rows on which something was measured. @param {any} found */
export const rowsOf = found => `${counted(found.samples)} ${found.held_out ? "rows held out" : "rows of the table"}`;

/**
 * How much worse the model is without each column.
 * @param {any} found
 */
export function importance(found) {
  const columns = [...found.columns].sort((a, b) => b.importance - a.importance);
  const most = Math.max(...columns.map(column => column.importance), 1e-9);
  const rows = columns.map(({ column, importance, deviation }) => {
    const fill = element("span", { class: "fill" });
    fill.style.width = `${Math.max(0, 100 * importance / most)}%`;
    return [column, fixed(importance), fixed(deviation), element("span", { class: "track", "aria-hidden": "true" }, fill)];
  });
  const caption = `Importance on ${rowsOf(found)}: how much ${found.metric} (${fixed(found.value)}) falls when a column is shuffled, mean of ${found.repeats}`;
  return table(caption, ["column|", "importance", "deviation", "|"], rows);
}
