/** The page: opens the worker, says what it will train on, and fills the tabs. */
import * as address from "./address.js";
import { benchTab } from "./bench.js";
import { byId } from "./dom.js";
import { Engine } from "./engine.js";
import { machineTab } from "./machine.js";
import { mnistTab } from "./mnist.js";
import { tableTab } from "./table.js";
import { tabs } from "./tabs.js";

const opened = tabs();
opened.open(address.isBenchmark ? "machine" : location.hash.slice(1));

const engine = new Engine();
const status = byId("engine");
engine.onfailure = why => {
  status.textContent = `The page failed, please reload it: ${why}`;
  status.classList.add("error");
};

try {
  const [help, adapter] = await Promise.all([engine.ask("help"), engine.ask("adapter")]);
  status.textContent = adapter
    ? `WebGPU: ${adapter}.`
    : "No WebGPU adapter in this browser: training runs on the CPU engine (WebAssembly).";
  const mnist = mnistTab(engine, help);
  tableTab(engine, help, async (bytes, name) => {
    await mnist.load(bytes, name);
    opened.open("mnist");
  });
  machineTab(adapter);
  benchTab(adapter);
  document.documentElement.dataset.ready = "";
} catch (error) {
  engine.onfailure(error.message);
}
