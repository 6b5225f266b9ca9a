/** In the worker: the module with threads, which are workers that share its memory. */
import { hasThreads } from "./version.js";

let made = null;

/**
 * The module with so many threads, that of the caller among them; null where one thread is wanted, where the browser lets no memory be
 * shared, or where they cannot be started. The first call that wants several decides how many there are.
 * @param {number} count
 */
export function withThreads(count) {
  if (!hasThreads || !globalThis.crossOriginIsolated || !(count > 1)) return null;
  made ??= start(count).catch(() => null);
  return made;
}

async function start(count) {
  const tinytrain = await import("./threads/tinytrain_web.js");
  const module = await WebAssembly.compileStreaming(fetch(new URL("./threads/tinytrain_web_bg.wasm", import.meta.url)));
  const { memory } = await tinytrain.default({ module_or_path: module });
  tinytrain.makeThreads(count - 1);
  await Promise.all(Array.from({ length: count - 1 }, () => thread(module, memory)));
  return tinytrain;
}

/** Starts a thread; nothing waits for one that could not be started. */
const thread = (module, memory) => new Promise((resolve, reject) => {
  const worker = new Worker(new URL("./thread.js", import.meta.url), { type: "module" });
  worker.onmessage = ({ data: error }) => (error ? reject(new Error(error)) : resolve());
  worker.onerror = event => reject(new Error(event.message));
  worker.postMessage({ module, memory });
});
