/** Tabs as the keyboard and screen readers expect them: arrows go from tab to tab; the address keeps which is open. */

/** @param {(name: string) => void} [onopen] */
export function tabs(onopen = () => {}) {
  const all = [...document.querySelectorAll("[role=tab]")];
  const nameOf = tab => tab.getAttribute("aria-controls");

  function open(tab, isFocused) {
    for (const other of all) {
      const isOpen = other === tab;
      other.setAttribute("aria-selected", String(isOpen));
      other.tabIndex = isOpen ? 0 : -1;
      document.getElementById(nameOf(other)).hidden = !isOpen;
    }
    if (isFocused) tab.focus();
    history.replaceState(null, "", `#${nameOf(tab)}`);
    onopen(nameOf(tab));
  }

  all.forEach((tab, place) => {
    tab.addEventListener("click", () => open(tab, false));
    tab.addEventListener("keydown", event => {
      const moves = { ArrowRight: place + 1, ArrowLeft: place - 1 + all.length, Home: 0, End: all.length - 1 };
      if (!(event.key in moves)) return;
      event.preventDefault();
      open(all[moves[event.key] % all.length], true);
    });
  });
  const byName = name => all.find(tab => nameOf(tab) === name);
  addEventListener("hashchange", () => byName(location.hash.slice(1)) && open(byName(location.hash.slice(1)), false));
  return {
    /** @param {string} name */
    open: name => open(byName(name) ?? all[0], false),
  };
}
