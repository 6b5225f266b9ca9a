/**
 * The worker: it owns all objects of the module, answers one request after the other, and trains in between. No method of an object is
 * called while a promise of another call is pending.
 */
import { answers, runs } from "./answers.js";
import { step } from "./training.js";

/** @type {{id: number, name: string, given: any}[]} */
const waiting = [];
let wake = () => {};

addEventListener("message", ({ data }) => {
  waiting.push(data);
  wake();
});

/** Lets messages in: promises alone would keep them out. */
const { port1, port2 } = new MessageChannel();
let breathed = () => {};
port1.onmessage = () => breathed();
const breathe = () => new Promise(resolve => {
  breathed = resolve;
  port2.postMessage(null);
});

/** What can be handed over instead of copied. */
const movable = result => (result instanceof Uint8Array ? [result.buffer] : []);

async function answer({ id, name, given }) {
  try {
    const result = await answers[name](given ?? {}, told => postMessage({ id, told }));
    postMessage({ id, result }, movable(result));
  } catch (error) {
    postMessage({ id, error: error?.message ?? String(error), isFatal: error instanceof WebAssembly.RuntimeError });
  }
}

/** Trains a little of each run that goes on; says whether there was one. */
async function train() {
  const going = [...runs.values()].filter(run => run.isGoing);
  for (const run of going) postMessage({ run: run.name, event: await step(run) });
  return going.length > 0;
}

for (;;) {
  const request = waiting.shift();
  if (request) await answer(request);
  else if (!(await train())) await new Promise(resolve => (wake = resolve));
  await breathe();
}
