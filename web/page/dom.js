/** Elements and what is often done with them. */

/**
 * Makes an element. Properties that begin with "on" are listeners, `class`, `for` and those with a dash are attributes.
 * @param {string} tag
 * @param {Record<string, any>} [properties]
 * @param {...(Node|string|null|undefined)} children
 * @returns {any}
 */
export function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (name === "class" || name === "for" || name === "role" || name.includes("-")) made.setAttribute(name, value);
    else made[name] = value;
  }
  made.append(...children.filter(child => child !== null && child !== undefined));
  return made;
}

/**
 * The element with this id, which the page has.
 * @param {string} id
 * @returns {any}
 */
export const byId = id => document.getElementById(id);

/**
 * A table that scrolls by itself where it is wider than the page.
 * @param {string} caption
 * @param {string[]} names of the columns; those that end in "|" are of text
 * @param {(Node|string)[][]} rows
 */
export function table(caption, names, rows) {
  const isText = names.map(name => name.endsWith("|"));
  const kind = place => (isText[place] ? { class: "text" } : {});
  const head = names.map((name, place) => element("th", { scope: "col", ...kind(place) }, name.replace("|", "")));
  const body = rows.map(row =>
    element("tr", {}, ...row.map((cell, place) =>
      element(place === 0 ? "th" : "td", { ...(place === 0 ? { scope: "row" } : {}), ...kind(place) }, cell))));
  return element("figure", { class: "table" }, element("figcaption", {}, caption),
    element("div", { class: "wide", role: "region", tabIndex: 0, "aria-label": caption },
      element("table", { "aria-label": caption }, element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...body))));
}

/**
 * A button.
 * @param {string} text
 * @param {(event: Event) => void} onclick
 * @param {string} [kind] "primary", or nothing
 */
export const button = (text, onclick, kind = "") => element("button", { type: "button", class: kind, onclick }, text);

/** Whether the reader wants little to move. */
export const isStill = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

/**
 * Hands a file to the browser's downloads.
 * @param {string} name
 * @param {Uint8Array} bytes
 */
export function download(name, bytes) {
  const link = element("a", { href: URL.createObjectURL(new Blob([bytes])), download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
