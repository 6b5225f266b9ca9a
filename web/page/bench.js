/** The benchmark: epochs of MNIST by two networks, on WebGPU and on the CPU engine, and a line of text to hand on. */
import * as address from "./address.js";
import { byId, button, element, table } from "./dom.js";
import { Engine } from "./engine.js";
import { counted, duration, of, percent } from "./format.js";
import { browser } from "./machine.js";
import { engineName } from "./run.js";
import { version } from "./version.js";

/** The workloads of docs/BENCHMARKS.md. */
const WORKLOADS = [
  { name: "W1", network: "784-300-100-10, batch 64", settings: { hidden: "300,100", "batch-size": 64 } },
  { name: "W3", network: "784-32-10, batch 16", settings: { hidden: "32", "batch-size": 16 } },
];
/** The first epoch compiles shaders and warms up; the faster of the others counts. */
const EPOCHS = 3;

/** Trains to the end, and gives its last event. @param {Engine} engine */
async function train(engine, workload, device, tell) {
  const ended = new Promise((resolve, reject) => engine.watch("mnist", event => {
    if (event.error !== undefined) reject(new Error(event.error));
    else if (event.done) resolve(event);
    else tell(event);
  }));
  const settings = { ...workload.settings, epochs: EPOCHS, seed: 1 };
  await engine.ask("begin", { name: "mnist", settings, device, rows: address.rows(), threads: address.threads() });
  return ended;
}

/** @param {string|null} adapter */
export function benchTab(adapter) {
  const status = byId("bench-status");
  const results = byId("bench-results");
  const line = byId("bench-line");
  let engine = null;
  const go = button("Run the benchmark", run, "primary");
  go.id = "bench";
  const halt = button("Stop", () => end("Stopped."));
  halt.disabled = true;
  byId("bench-buttons").append(go, halt);

  function end(words) {
    engine?.close();
    engine = null;
    go.disabled = false;
    halt.disabled = true;
    status.textContent = words;
  }

  async function run() {
    const mine = new Engine();
    engine = mine;
    go.disabled = true;
    halt.disabled = false;
    line.hidden = true;
    results.replaceChildren();
    status.classList.remove("error");
    const found = [];
    try {
      for (const device of devices(adapter)) {
        for (const workload of WORKLOADS) {
          const what = `${workload.name} on ${device === "gpu" ? adapter : "the CPU engine"}`;
          status.textContent = `${what} …`;
          const event = await train(mine, workload, device, () => {});
          found.push(measured(workload, device, event));
          results.replaceChildren(shown(found));
        }
      }
      say(found);
      end("Done.");
    } catch (error) {
      status.classList.add("error");
      end(error.message);
    }
  }

  function say(found) {
    const rows = address.rows() < 60_000 ? ` | ${of(address.rows(), "row")}` : "";
    const parts = found.map(({ workload, device, seconds, accuracy, engine, by }) =>
      `${workload.name} ${engine === "cpu" && device === "gpu" ? "gpu refused" : device} ${seconds.toFixed(3)} s (${percent(accuracy)}${engine === "cpu" ? `, ${by.match(/\d+ threads?/)}` : ""})`);
    const text = `tinytrain ${version} | ${adapter ?? "no WebGPU"} | ${parts.join(", ")}${rows} | ${browser()} | ${new Date().toISOString().slice(0, 10)}`;
    const code = element("code", { id: "bench-text", tabIndex: 0 }, text);
    const copy = button("Copy", async () => {
      await navigator.clipboard.writeText(text);
      copy.textContent = "Copied";
      setTimeout(() => (copy.textContent = "Copy"), 2000);
    });
    line.replaceChildren(code, copy);
    line.hidden = false;
  }

  if (address.isBenchmark) run();
}

/** What is measured: the device that the address names, or all. */
function devices(adapter) {
  const all = adapter ? ["gpu", "cpu"] : ["cpu"];
  return all.includes(address.given("device")) ? [address.given("device")] : all;
}

function measured(workload, device, event) {
  const epochs = event.done.epochs;
  const best = epochs.slice(1).reduce((least, epoch) => (epoch.seconds < least.seconds ? epoch : least));
  return {
    workload, device, engine: event.engine, by: event.device, first: epochs[0].seconds, seconds: best.seconds, rate: best.rows_per_second,
    accuracy: epochs.at(-1).test.accuracy,
  };
}

function shown(found) {
  const rows = found.map(({ workload, engine, by, first, seconds, rate, accuracy }) => [
    `${workload.name}: ${workload.network}`, engineName(engine, by), duration(seconds), duration(first), counted(rate), percent(accuracy),
  ]);
  return table(`Epochs of MNIST; the test accuracy is that of epoch ${EPOCHS}`, ["workload|", "device|", "an epoch", "the first", "rows a second", "test accuracy"], rows);
}
