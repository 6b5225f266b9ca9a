/** The third tab: whether this browser computes what it should. It has a worker of its own, so that it can be ended at any time. */
import * as address from "./address.js";
import { byId, button, element, table } from "./dom.js";
import { Engine } from "./engine.js";
import { of, short } from "./format.js";
import { hasThreads } from "./version.js";

const DEVICES = { gpu: "WebGPU", cpu: "the CPU engine" };

/** How many threads the CPU engine may take. */
const threads = () => (hasThreads ? address.threads() : 1);

/** What is known of this machine. @param {string|null} adapter */
export function facts(adapter) {
  return [
    ["WebGPU", adapter ?? (navigator.gpu ? "no adapter" : "not in this browser")],
    ["Processor", `${navigator.hardwareConcurrency ? `${of(navigator.hardwareConcurrency, "thread")}, ` : ""}the CPU engine takes up to ${threads()}`],
    ["Browser", browser()],
  ];
}

/** The browser, in two words. */
export function browser() {
  const brands = navigator.userAgentData?.brands.filter(({ brand }) => !/not.?a.?brand/i.test(brand.replaceAll(/[^a-z]/gi, ""))) ?? [];
  const best = brands.find(({ brand }) => brand !== "Chromium") ?? brands[0];
  const found = navigator.userAgent.match(/(Firefox|Edg|Chrome|Version)\/(\d+)/);
  const name = { Version: "Safari", Edg: "Edge" }[found?.[1]] ?? found?.[1];
  const system = navigator.userAgentData?.platform ?? navigator.platform;
  return `${best ? `${best.brand} ${best.version}` : `${name ?? "unknown"} ${found?.[2] ?? ""}`.trim()}, ${system || "unknown system"}`;
}

/** Outcomes by kernel: how many shapes, and the one that comes nearest its bound. */
function byKernel(outcomes) {
  const kernels = new Map();
  for (const outcome of outcomes) {
    const share = outcome.passed && outcome.bound > 0 ? outcome.error / outcome.bound : outcome.passed ? 0 : Infinity;
    const known = kernels.get(outcome.kernel) ?? { count: 0, failed: 0, share: -1, worst: outcome };
    known.count++;
    known.failed += outcome.passed ? 0 : 1;
    if (share > known.share) Object.assign(known, { share, worst: outcome });
    kernels.set(outcome.kernel, known);
  }
  return [...kernels].sort(([, a], [, b]) => b.failed - a.failed);
}

const verdict = isRight => element("span", { class: isRight ? "right" : "wrong" }, isRight ? "✓ pass" : "✗ fail");

/** @param {string|null} adapter */
export function machineTab(adapter) {
  const status = byId("check-status");
  const results = byId("check-results");
  byId("facts").replaceChildren(...facts(adapter).map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", {}, value))));

  let engine = null;
  const buttons = Object.entries(DEVICES).map(([device, name]) => {
    const made = button(`Check ${name}`, () => run(device), "primary");
    made.id = `check-${device}`;
    made.disabled = device === "gpu" && !adapter;
    return made;
  });
  const halt = button("Stop", () => end("Stopped."));
  halt.disabled = true;
  byId("check-buttons").append(...buttons, halt);

  function end(words) {
    engine?.close();
    engine = null;
    halt.disabled = true;
    buttons.forEach((made, place) => (made.disabled = place === 0 && !adapter));
    status.textContent = words;
  }

  async function run(device) {
    engine = new Engine();
    halt.disabled = false;
    buttons.forEach(made => (made.disabled = true));
    status.classList.remove("error");
    status.textContent = `Checking ${DEVICES[device]} …`;
    results.replaceChildren();
    const outcomes = [];
    let frame = 0;
    const count = element("p", { class: "small" });
    const box = element("div", { class: "tall" });
    results.append(count, box);
    const show = () => {
      frame = 0;
      count.textContent = `${of(outcomes.length, "comparison")} with the reference in f64 so far.`;
      box.replaceChildren(outcomeTable(outcomes));
    };
    try {
      const found = await engine.ask("check", { device }, outcome => {
        outcomes.push(outcome);
        frame ||= requestAnimationFrame(show);
      });
      cancelAnimationFrame(frame);
      show();
      count.textContent = "";
      status.classList.toggle("error", found.failed > 0);
      end(`${device === "gpu" ? adapter : "The CPU engine"}: ${of(found.checked, "comparison")} with the reference in f64, ${found.failed ? `${found.failed} failed` : "all passed"}.`);
    } catch (error) {
      status.classList.add("error");
      end(error.message);
    }
  }
}

function outcomeTable(outcomes) {
  const rows = byKernel(outcomes).map(([kernel, { count, failed, worst }]) => [
    kernel, verdict(failed === 0), String(count), worst.shape, worst.fault ?? short(worst.error), short(worst.bound),
  ]);
  return table("Each kernel, gradient and step, with the shape whose error is nearest its bound", ["kernel or step|", "result|", "shapes", "worst shape|", "error", "bound"], rows);
}
