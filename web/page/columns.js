/** What was understood of a table: its columns, what is left out and why, and which column is the target. */
import { element, table } from "./dom.js";
import { of } from "./format.js";

/** Categories that are named. */
const NAMED = 4;

/** A number as it may stand in a file. */
const number = value => (Number.isFinite(value) ? String(Number(value.toPrecision(6))) : "–");

function holds(column) {
  if (column.type === "number") return `${number(column.least)} to ${number(column.greatest)}, median ${number(column.median)}`;
  const named = column.categories.slice(0, NAMED).map(category => `${category.name} (${category.rows})`).join(", ");
  return column.categories.length > NAMED ? `${named}, …` : named;
}

/** One line on the table. @param {any} found */
export function summary(found) {
  const parts = [of(found.rows, "row"), of(found.columns.length, "column")];
  if (found.dropped_rows) parts.push(`${of(found.dropped_rows, "row")} without a target left out`);
  const target = found.targets.join(", ");
  if (found.task === "classification") parts.push(`${of(found.classes.length, "class", "classes")} of ${target}`);
  if (found.task === "regression") parts.push(`values of ${target}`);
  return `${parts.join(", ")}.`;
}

/** All columns that could be a target, in the order of the file as far as it is known. @param {any} found */
export const names = found =>
  [...new Set([...found.targets, ...found.columns.map(column => column.name), ...found.left_out.map(({ column }) => String(column))])];

/**
 * The columns as a table, with a box for each that says whether it is used.
 * @param {any} found what the module understood
 * @param {Set<string>} excluded by the reader
 * @param {(name: string, isUsed: boolean) => void} onuse
 */
export function columnTable(found, excluded, onuse) {
  const box = name => element("input", {
    type: "checkbox", checked: !excluded.has(name), "aria-label": `use ${name}`, onchange: event => onuse(name, event.target.checked),
  });
  const rows = found.columns.map(column => [
    column.name, box(column.name), column.type === "number" ? "numbers" : "categories", String(column.distinct),
    column.missing ? String(column.missing) : "–", holds(column) + (found.identifiers.includes(column.name) ? " (perhaps an identifier)" : ""),
  ]);
  const reason = new Map(found.left_out.map(({ column, why }) => [String(column), why]));
  for (const name of excluded) reason.set(name, "left out by you");
  for (const [name, why] of reason) {
    rows.push([name, excluded.has(name) ? box(name) : "–", "left out", "", "", why]);
  }
  return table("Columns", ["column|", "use", "type|", "distinct", "missing", "values|"], rows);
}

/** Classes with their rows. @param {any} found */
export function classes(found) {
  if (found.task !== "classification") return null;
  const most = Math.max(...found.classes.map(known => known.rows));
  return element("ul", { class: "classes", "aria-label": "Classes" }, ...found.classes.slice(0, 12).map(({ name, rows }) => {
    const fill = element("span", { class: "fill" });
    fill.style.width = `${100 * rows / most}%`;
    return element("li", {}, element("span", { class: "label" }, name), element("span", { class: "track" }, fill), element("span", { class: "share" }, String(rows)));
  }), found.classes.length > 12 ? element("li", { class: "small" }, `and ${found.classes.length - 12} more`) : null);
}
