// What scripts/test-web asks a browser: whether its compiler takes all kernels, and what the library trains in it.
import init, * as tinytrain from "../module/tinytrain_web.js";

const tell = (name, value) => postMessage([name, typeof value === "string" ? value : value.toBase64()]);
const bytes = async path => new Uint8Array(await (await fetch(path)).arrayBuffer());

/** Modules of all kernels; browsers compile a shader wholly only for a pipeline, but refuse what is wrong with it here. */
async function kernels(device) {
  const programs = await (await fetch("kernels.json")).json();
  const modules = programs.map(([entry, code]) => [entry, device.createShaderModule({ code })]);
  for (const [entry, module] of modules) {
    const { messages } = await module.getCompilationInfo();
    for (const { type, lineNum, message } of messages) {
      if (type === "error") console.error(`${entry}, line ${lineNum}: ${message}`);
    }
  }
  tell("kernels", String(modules.length));
}

/** Trains on a table to the end, and sends the model. */
async function train({ name, file, options, settings, device }) {
  const table = new tinytrain.Table(await bytes(file), JSON.stringify(options));
  const trainer = await tinytrain.Trainer.forTable(table, JSON.stringify(settings), device);
  let step;
  do {
    step = JSON.parse(await trainer.advance(100));
    await new Promise(resolve => setTimeout(resolve));
  } while (!step.done);
  tell(`trained/${name}`, JSON.stringify({ engine: trainer.engine(), notes: trainer.notes(), done: step.done }));
  const model = await trainer.model();
  tell(`model/${name}`, model.bytes());
  tell(`predictions/${name}`, model.predictCsv(await bytes(file)));
  trainer.free();
}

try {
  const adapter = await navigator.gpu?.requestAdapter();
  if (adapter) await kernels(await adapter.requestDevice());
  else console.error("the browser has no WebGPU adapter");
  await init();
  for (const run of await (await fetch("runs.json")).json()) await train(run);
} catch (error) {
  console.error(`${error}\n${error.stack ?? ""}`);
}
tell("done", "done");
