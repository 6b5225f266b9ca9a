/** The first tab: a network for MNIST, its first layer, and a digit of one's own. */
import * as address from "./address.js";
import { controls, plainDefaults } from "./controls.js";
import { DigitPad } from "./digit.js";
import { byId, button, download, element, isStill } from "./dom.js";
import { of } from "./format.js";
import { RunView } from "./run.js";
import { drawUnits } from "./units.js";

const NAME = "mnist";
const SETTINGS = ["hidden", "activation", "optimizer", "lr", "batch-size", "epochs", "seed", "device"];
const MORE = ["lr-schedule", "momentum", "weight-decay", "dropout", "label-smoothing", "schedule"];
const SIDE = 28;
const UNITS = 30;
/** Pictures in a row. */
const COLUMNS = 6;
/** Milliseconds between two looks at the weights while training. */
const LOOK = 800;

/**
 * @param {import("./engine.js").Engine} engine
 * @param {any} help of the settings
 */
export function mnistTab(engine, help) {
  const rows = address.rows();
  const defaults = { ...plainDefaults(help), epochs: "10", "batch-size": "64", optimizer: "sgd", schedule: "the fastest" };
  const usual = controls(NAME, SETTINGS, help, defaults);
  const more = controls(NAME, MORE, help, defaults);
  const canvas = element("canvas", { class: "units", role: "img", "aria-label": "Weights of units of the first layer, as pictures of 28 by 28 pixels" });
  const count = element("span");
  const weights = element("section", { hidden: true },
    element("h3", {}, "First layer"), canvas,
    element("p", { class: "small" }, "The weights of ", count, " units, each as a picture over the 28 × 28 pixels: ",
      element("span", { class: "chip above" }, "above 0"), " and ", element("span", { class: "chip below" }, "below 0"), "."));
  const pad = new DigitPad(
    inputs => engine.ask("probabilities", { name: NAME, inputs }),
    () => engine.ask("testImage", { place: Math.random(), rows }),
  );
  const saved = element("div", { class: "row", hidden: true });
  let looked = 0;
  /** The weights that are shown. */
  let seen = new Float32Array();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => drawUnits(canvas, seen, SIDE, COLUMNS));

  const view = new RunView(engine, NAME, {
    verb: "Train",
    asked() {
      const [first, second] = [usual.read(), more.read()];
      return { settings: { ...first.settings, ...second.settings }, device: first.device, rows };
    },
    onstate(state) {
      const isBusy = state === "going" || state === "paused";
      usual.disable(isBusy);
      more.disable(isBusy);
      if (state === "going") byId("mnist-loaded").hidden = true;
    },
    onevent(event) {
      saved.hidden = false;
      const now = performance.now();
      const isTime = isStill() ? event.epochs.length > 0 : now - looked > LOOK;
      if (isTime || event.done) {
        looked = event.done ? 0 : Infinity;
        look().finally(() => (looked = event.done ? 0 : performance.now()));
      }
    },
    onerror(message) {
      usual.blame(message);
      more.blame(message);
    },
  });

  /** The weights and the probabilities as they are now. */
  async function look() {
    seen = await engine.ask("units", { name: NAME, count: UNITS });
    weights.hidden = seen.length === 0;
    count.textContent = String(seen.length / SIDE ** 2);
    drawUnits(canvas, seen, SIDE, COLUMNS);
    pad.refresh();
  }

  async function save(kind, name) {
    try {
      download(name, await engine.ask(kind, { name: NAME }));
    } catch (error) {
      view.status.textContent = error.message;
    }
  }
  saved.append(button("model.safetensors", () => save("safetensors", "model.safetensors")), button("model.onnx", () => save("onnx", "model.onnx")));

  const isNarrow = matchMedia("(max-width: 600px)").matches;
  byId("mnist-settings").append(
    element("details", { open: !isNarrow }, element("summary", {}, "Settings"), usual.element,
      element("details", {}, element("summary", {}, "More settings"), more.element)));
  byId("mnist-rows").textContent = rows < 60_000 ? `Only the first ${of(rows, "row")} are trained on, as the address says.` : "";
  byId("mnist-run").append(view.element, saved);
  byId("mnist-weights").append(weights);
  byId("mnist-digit").append(pad.element);

  return {
    /** Takes a model file of images in place of a trained network. */
    async load(bytes, name) {
      const described = await engine.ask("load", { name: NAME, bytes });
      view.reset();
      weights.hidden = true;
      saved.hidden = true;
      byId("mnist-loaded").hidden = false;
      byId("mnist-loaded").textContent = `${name}: ${described.network}. Draw a digit to classify it with this model.`;
      pad.refresh();
    },
  };
}
