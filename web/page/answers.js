/** What the worker answers: a function for each request, and the objects of the module that they are about. */
import init, * as tinytrain from "./module/tinytrain_web.js";
import { fetched, firstItems, items, unpacked } from "./idx.js";
import { withThreads } from "./threads.js";
import { begun } from "./training.js";

const FILES = ["train-images-idx3", "train-labels-idx1", "t10k-images-idx3", "t10k-labels-idx1"];
/** A model that is asked for probabilities while it trains is read again after so many milliseconds. */
const STALE = 500;

const ready = init();
/** @type {Map<string, import("./training.js").Run>} */
export const runs = new Map();
/** Models by name, with the step at which they were taken from their run. @type {Map<string, {model: any, steps: number, at: number}>} */
const models = new Map();
/** MNIST: its plain files, of images and labels to train on and to test on. */
let mnist = null;
let table = null;
/** What the table was read from. */
let source = null;

function forget(name) {
  models.get(name)?.model.free();
  models.delete(name);
}

function end(name) {
  runs.get(name)?.trainer.free();
  runs.delete(name);
}

async function images(rows) {
  if (mnist?.rows === rows) return mnist;
  const files = await Promise.all(FILES.map(async name => unpacked(await fetched(`data/mnist/${name}-ubyte.gz`))));
  const [train, labels] = files.slice(0, 2).map(file => firstItems(file, rows));
  mnist = { rows, files: [train, labels, files[2], files[3]] };
  return mnist;
}

/** A trainer of a module. What it trains on is copied into the module's memory. */
async function trainer(module, { name, settings, device, rows }) {
  const given = JSON.stringify(settings);
  if (name === "table" && module === tinytrain) return module.Trainer.forTable(table, given, device);
  const data = name === "table" ? new module.Table(...source) : new module.Images(...(await images(rows)).files);
  try {
    return await module.Trainer[name === "table" ? "forTable" : "forImages"](data, given, device);
  } finally {
    data.free();
  }
}

/** The model of this name, as it stands now or stood a moment ago. */
async function current(name, stale = 0) {
  const run = runs.get(name);
  const kept = models.get(name);
  const isOld = run && (!kept || (kept.steps !== run.steps && performance.now() - kept.at >= stale));
  if (isOld) {
    const model = ours(await run.trainer.model());
    forget(name);
    models.set(name, { model, steps: run.steps, at: performance.now() });
  }
  const found = models.get(name);
  if (!found) throw new Error("there is no model yet");
  return found.model;
}

/** A model of either module as one of this. */
function ours(model) {
  if (model instanceof tinytrain.Model) return model;
  try {
    return tinytrain.Model.fromBytes(model.bytes());
  } finally {
    model.free();
  }
}

/** Begins a run. Where the CPU engine trains, it does so with as many threads as are given, if the browser has them. */
async function begin(asked) {
  const { name, threads } = asked;
  if (name === "table" && !table) throw new Error("there is no table yet");
  // Which device there is, the module finds that has WebGPU.
  const found = asked.device === "cpu" ? null : await trainer(tinytrain, asked);
  const isCpu = found === null || found.engine() === "cpu";
  const threaded = isCpu ? await withThreads(threads) : null;
  const made = threaded ? await trainer(threaded, { ...asked, device: "cpu" }) : found ?? (await trainer(tinytrain, asked));
  const notes = (found ?? made).notes();
  if (found !== made) found?.free();
  end(name);
  forget(name);
  runs.set(name, begun(name, made, notes));
  return { engine: made.engine(), notes };
}

/** What the browser says of its adapter, which is more than wgpu takes from it. */
async function adapterName() {
  const { description, vendor, architecture, device } = (await navigator.gpu.requestAdapter())?.info ?? {};
  return description || [vendor, architecture, device].filter(Boolean).join(" ");
}

function goOn(name, isGoing) {
  const run = runs.get(name);
  if (run && !run.isDone) run.isGoing = isGoing;
}

/** @type {Record<string, (given: any, tell: (told: any) => void) => any>} */
const requests = {
  async adapter() {
    const name = await tinytrain.adapterInfo();
    return name === undefined ? null : (await adapterName()) || name;
  },
  help: () => JSON.parse(tinytrain.settingsHelp()),
  begin,
  pause: ({ name }) => goOn(name, false),
  resume: ({ name }) => goOn(name, true),
  stop({ name }) {
    runs.get(name)?.trainer.stop();
    goOn(name, true);
  },
  /** Weights of the first layer, unit after unit. */
  units: ({ name, count }) => runs.get(name)?.trainer.firstLayer(count) ?? new Float32Array(),
  /** Probabilities of one row, by the model as it is. */
  probabilities: async ({ name, inputs }) => (await current(name, STALE)).probabilities(inputs),
  /** One of MNIST's test images, with its label. */
  async testImage({ place, rows }) {
    const [, , pictures, labels] = (await images(rows)).files;
    const { count, size, begin } = items(pictures);
    const chosen = Math.floor(place * count);
    const at = begin + chosen * size;
    return { pixels: pictures.slice(at, at + size), label: labels[items(labels).begin + chosen], number: chosen };
  },
  /** Reads a table, and says what was understood of it; a run of the table before ends. */
  understand({ bytes, options }) {
    const read = new tinytrain.Table(bytes, JSON.stringify(options));
    end("table");
    forget("table");
    table?.free();
    table = read;
    source = [bytes, JSON.stringify(options)];
    return JSON.parse(table.understood());
  },
  /** Takes a model file in place of what was trained. */
  async load({ name, bytes }) {
    const model = tinytrain.Model.fromBytes(bytes);
    end(name);
    forget(name);
    models.set(name, { model, steps: 0, at: 0 });
    return JSON.parse(model.describe());
  },
  /** What a model file is. */
  describeFile({ bytes }) {
    const model = tinytrain.Model.fromBytes(bytes);
    const described = JSON.parse(model.describe());
    model.free();
    return described;
  },
  describe: async ({ name }) => JSON.parse((await current(name)).describe()),
  evaluate: async ({ name }) => JSON.parse((await current(name)).evaluate(table)),
  evaluateFile: async ({ name, bytes }) => JSON.parse((await current(name)).evaluateCsv(bytes)),
  importance: async ({ name }) => JSON.parse((await current(name)).importance(table)),
  predict: async ({ name, bytes }) => (await current(name)).predictCsv(bytes),
  safetensors: async ({ name }) => (await current(name)).bytes(),
  onnx: async ({ name }) => (await current(name)).onnx(),
  async check({ device }, tell) {
    return JSON.parse(await tinytrain.check(device, outcome => tell(JSON.parse(outcome))));
  },
};

export const answers = Object.fromEntries(
  Object.entries(requests).map(([name, request]) => [name, async (given, tell) => {
    await ready;
    return request(given, tell);
  }]),
);
