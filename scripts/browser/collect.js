// Runs trial.js in a worker, as the page runs the module, and keeps what it finds for scripts/test-web: text, or bytes as base64.
globalThis.found = {};
const base64 = bytes => new Promise(resolve => {
  const reader = new FileReader();
  reader.onload = () => resolve(reader.result.split(",")[1] ?? "");
  reader.readAsDataURL(new Blob([bytes]));
});
const worker = new Worker(new URL("trial.js", import.meta.url), { type: "module" });
worker.onerror = event => console.error(event.message);
// One after the other, so that "done" is the last.
let last = Promise.resolve();
worker.onmessage = ({ data: [name, value] }) => {
  last = last.then(async () => {
    found[name] = typeof value === "string" ? value : { base64: await base64(value) };
  });
};
