/** A thread of the module: a worker that has its memory, and does from then on what the module hands out. */
import init, { becomeThread } from "./threads/tinytrain_web.js";

addEventListener("message", async ({ data: { module, memory } }) => {
  try {
    await init({ module_or_path: module, memory });
    postMessage(null);
  } catch (error) {
    return postMessage(String(error));
  }
  becomeThread();
});
