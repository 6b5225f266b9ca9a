/** A place for files: dropped, or chosen by a button that the keyboard reaches. */
import { element } from "./dom.js";

let numbers = 0;

// A file that misses its place must not open in place of the page.
for (const kind of ["dragover", "drop"]) addEventListener(kind, event => event.preventDefault());

/**
 * @param {string} text
 * @param {string} accept
 * @param {(bytes: Uint8Array, name: string) => Promise<void>} take
 */
export function dropZone(text, accept, take) {
  const id = `file-${numbers++}`;
  const input = element("input", {
    type: "file", id, accept, class: "file",
    async onchange() {
      const [file] = input.files;
      if (file) await take(new Uint8Array(await file.arrayBuffer()), file.name);
      input.value = "";
    },
  });
  const zone = element("div", {
    class: "drop",
    ondragover(event) {
      event.preventDefault();
      zone.classList.add("over");
    },
    ondragleave: () => zone.classList.remove("over"),
    async ondrop(event) {
      event.preventDefault();
      zone.classList.remove("over");
      const [file] = event.dataTransfer.files;
      if (file) await take(new Uint8Array(await file.arrayBuffer()), file.name);
    },
  }, element("p", {}, text), input, element("label", { for: id, class: "button" }, "Choose a file"));
  return zone;
}
