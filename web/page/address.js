/**
 * What the address says: settings by their names (`?hidden=32&epochs=2&device=gpu`), `rows` of MNIST to train on, `threads` of the CPU
 * engine, and `bench`, which opens and runs the benchmark (with `device` on that alone). The part behind # is the tab.
 */
const asked = new URLSearchParams(location.search);
/** More do not pay for networks of this size. */
const MOST_THREADS = 8;

/** The value of a setting, if the address has one. @param {string} name */
export const given = name => asked.get(name);

/** Rows of MNIST to train on: the first of the file. */
export const rows = () => Math.max(1, Math.floor(Number(asked.get("rows"))) || 60_000);

/** Threads that the CPU engine may train with: those of the processor, where the browser lets them share memory. */
export const threads = () =>
  globalThis.crossOriginIsolated ? Math.max(1, Math.floor(Number(asked.get("threads"))) || Math.min(navigator.hardwareConcurrency || 1, MOST_THREADS)) : 1;

/** Whether the benchmark is to run at once. */
export const isBenchmark = asked.has("bench");
