/** The second tab: a table of one's own, from its columns to predictions of other rows. */
import { columnTable, classes, names, summary } from "./columns.js";
import { controls } from "./controls.js";
import { byId, button, element } from "./dom.js";
import { dropZone } from "./drop.js";
import { ModelView } from "./model.js";
import { RunView } from "./run.js";
import { importance, rowsOf, scores } from "./scores.js";

const NAME = "table";
const SETTINGS = ["test-fraction", "validation-fraction", "preset", "hidden", "optimizer", "lr", "batch-size", "epochs", "seed", "device"];
const MORE = ["activation", "dropout", "weight-decay", "lr-schedule", "patience", "class-weights", "scale", "schedule"];
/** Rows are held out so that there is something to say of the model. */
const BEGUN = { "test-fraction": "0.2", "validation-fraction": "0.2" };
const SAMPLE = { path: "data/tables/penguins.csv", name: "penguins.csv", target: "species" };

/**
 * @param {import("./engine.js").Engine} engine
 * @param {any} help of the settings
 * @param {(bytes: Uint8Array, name: string) => Promise<void>} takeImages takes a model of MNIST's images
 */
export function tableTab(engine, help, takeImages) {
  /** The file, and how it is to be read. */
  let file = null;
  const options = { target: "", task: "auto", drops: false, excluded: new Set() };

  const status = byId("table-read");
  const understood = byId("table-understood");
  const usual = controls(NAME, SETTINGS, help, { "test-fraction": "0", "validation-fraction": "0", seed: "1" }, BEGUN);
  const more = controls(NAME, MORE, help, {});
  const results = element("div", { hidden: true });
  const training = byId("table-training");
  const model = new ModelView(engine, NAME);

  const view = new RunView(engine, NAME, {
    verb: "Train",
    asked() {
      const [first, second] = [usual.read(), more.read()];
      return { settings: { ...first.settings, ...second.settings }, device: first.device };
    },
    onstate(state) {
      const isBusy = state === "going" || state === "paused";
      usual.disable(isBusy);
      more.disable(isBusy);
      if (isBusy) {
        results.hidden = true;
        model.hide();
      }
    },
    onevent(event) {
      if (event.done) measure();
    },
    onerror: message => [usual, more].forEach(part => part.blame(message)),
  });
  training.append(element("h3", {}, "Train"), element("details", { open: !matchMedia("(max-width: 600px)").matches },
    element("summary", {}, "Settings"), usual.element,
    element("details", {}, element("summary", {}, "More settings"), more.element)), view.element, results);
  byId("table-model").append(model.element);

  const zone = dropZone("Drop a CSV file here, or a model.safetensors", ".csv,.tsv,.txt,.gz,.zst,.safetensors", take);
  const sample = button("Try it with penguins", async () => {
    const answer = await fetch(SAMPLE.path);
    await take(new Uint8Array(await answer.arrayBuffer()), SAMPLE.name, SAMPLE.target);
  });
  sample.id = "penguins";
  byId("table-choose").append(zone, element("div", { class: "row" }, sample,
    element("span", { class: "small" }, "344 penguins of three species. Files stay in this browser.")));

  /** Takes a file: a table, or a model. */
  async function take(bytes, name, target = "") {
    status.classList.remove("error");
    status.textContent = `Reading ${name} …`;
    try {
      if (/\.safetensors$/i.test(name)) await takeModel(bytes, name);
      else {
        file = { bytes, name };
        Object.assign(options, { target, task: "auto", drops: false, excluded: new Set() });
        await read();
      }
    } catch (error) {
      fail(error.message);
    }
  }

  function fail(message) {
    status.textContent = message;
    status.classList.add("error");
  }

  async function takeModel(bytes, name) {
    const described = await engine.ask("describeFile", { bytes });
    if (described.image?.join() === "28,28") {
      await takeImages(bytes, name);
      status.textContent = "";
      return;
    }
    await engine.ask("load", { name: NAME, bytes });
    understood.hidden = true;
    training.hidden = true;
    results.hidden = true;
    view.reset();
    status.textContent = `${name} is a model.`;
    model.show(described, name);
  }

  /** Reads the file with the options, and shows what was understood. */
  async function read() {
    const asked = {
      name: file.name, target: options.target ? [options.target] : [], task: options.task,
      exclude: [...options.excluded].filter(name => name !== options.target), "drop-missing-target": options.drops,
    };
    training.hidden = true;
    model.hide();
    const found = await engine.ask("understand", { bytes: file.bytes, options: asked });
    view.reset();
    results.hidden = true;
    status.classList.remove("error");
    status.textContent = `${file.name}: ${summary(found)}${found.undecided ? " Which column is the target? Choose it." : ""}`;
    show(found);
    training.hidden = Boolean(found.undecided);
  }

  /** Reads the file again, with other options; what is wrong with them can be mended by the same controls. */
  async function readAgain(change) {
    change();
    try {
      await read();
    } catch (error) {
      fail(error.message);
    }
  }

  function show(found) {
    const target = element("select", { id: "table-target", onchange: () => readAgain(() => (options.target = target.value)) },
      ...(found.targets.length ? [] : [element("option", { value: "" }, "choose a column")]),
      ...[...new Set([...names(found), ...options.excluded])].map(name => element("option", { value: name }, name)));
    target.value = found.targets[0] ?? "";
    const task = element("select", { id: "table-task", onchange: () => readAgain(() => (options.task = task.value)) },
      ...["auto", "classification", "regression"].map(value => element("option", { value }, value)));
    task.value = options.task;
    const drops = element("input", {
      type: "checkbox", id: "table-drops", checked: options.drops, onchange: () => readAgain(() => (options.drops = drops.checked)),
    });
    const isFirst = understood.hidden;
    understood.hidden = false;
    understood.replaceChildren(
      element("div", { class: "fields" },
        element("div", { class: "field" }, element("label", { for: target.id }, "target"), target),
        element("div", { class: "field" }, element("label", { for: task.id }, "task"), task),
        element("div", { class: "field" }, element("label", { for: drops.id }, "drop-missing-target"), drops)),
      ...[classes(found)].filter(Boolean),
      columnTable(found, options.excluded, (name, isUsed) => readAgain(() => {
        if (isUsed) options.excluded.delete(name);
        else options.excluded.add(name);
      })));
    if (isFirst) understood.scrollIntoView({ block: "nearest" });
  }

  /** Measures and importance of the trained model, and what can be done with it. */
  async function measure() {
    results.hidden = false;
    results.replaceChildren(element("p", { class: "small" }, "Measuring …"));
    try {
      const found = await engine.ask("evaluate", { name: NAME });
      const more = button("Importance of the columns", async () => {
        more.disabled = true;
        more.textContent = "Shuffling columns …";
        try {
          more.replaceWith(importance(await engine.ask("importance", { name: NAME })));
        } catch (error) {
          more.replaceWith(element("p", { class: "status error" }, error.message));
        }
      });
      more.id = "importance";
      results.replaceChildren(element("h3", {}, "How good it is"),
        element("div", { class: "side" }, scores(found, rowsOf(found)), element("div", {}, more)));
      model.show(await engine.ask("describe", { name: NAME }), "The trained model");
    } catch (error) {
      results.replaceChildren(element("p", { class: "status error" }, error.message));
    }
  }
}
