/** A model and what can be done with it: predict rows of a file, measure itself on one, be saved. */
import { button, download, element, table } from "./dom.js";
import { dropZone } from "./drop.js";
import { counted, of } from "./format.js";
import { scores } from "./scores.js";

/** Rows of predictions that are shown, and lines of a file that are looked at for them. */
const SHOWN = 5;

export class ModelView {
  /**
   * @param {import("./engine.js").Engine} engine
   * @param {string} name of the model in the worker
   */
  constructor(engine, name) {
    [this.engine, this.name] = [engine, name];
    this.heading = element("h3", {}, "Use the model");
    this.words = element("p", { id: `${name}-described` });
    this.status = element("p", { class: "status", role: "status", id: `${name}-predicted` });
    this.result = element("div");
    this.task = element("select", { id: `${name}-use`, "aria-label": "What to do with the rows of the file" },
      element("option", { value: "predict" }, "predict its rows"), element("option", { value: "evaluate" }, "measure the model on its labels"));
    const save = (kind, file) => button(file, async () => this.#try(async () => download(file, await this.engine.ask(kind, { name }))));
    this.element = element("section", { hidden: true, id: `${name}-use-model` }, this.heading, this.words,
      element("div", { class: "row" }, save("safetensors", "model.safetensors"), save("onnx", "model.onnx")),
      element("div", { class: "row" }, element("label", { for: this.task.id }, "With a file:"), this.task),
      dropZone("Drop a CSV file with the same columns", ".csv,.tsv,.txt,.gz,.zst", (bytes, file) => this.#use(bytes, file)),
      this.status, this.result);
  }

  /**
   * @param {any} described what the module says of the model
   * @param {string} title
   */
  show(described, title) {
    const outputs = described.task === "classification"
      ? `predicts ${described.classes.slice(0, 10).join(", ")}${described.classes.length > 10 ? ", …" : ""}` : `predicts ${described.values.join(", ")}`;
    this.words.textContent = `${title}: ${described.network}, ${of(described.parameters, "parameter")}; ${outputs}` +
      (described.columns ? ` from ${described.columns.join(", ")}.` : ` from ${of(described.inputs, "number")}.`);
    this.status.textContent = "";
    this.result.replaceChildren();
    this.element.hidden = false;
  }

  hide() {
    this.element.hidden = true;
  }

  async #try(action) {
    this.status.classList.remove("error");
    try {
      await action();
    } catch (error) {
      this.status.textContent = error.message;
      this.status.classList.add("error");
    }
  }

  async #use(bytes, file) {
    this.result.replaceChildren();
    this.status.textContent = `Reading ${file} …`;
    await this.#try(async () => {
      if (this.task.value === "evaluate") {
        const found = await this.engine.ask("evaluateFile", { name: this.name, bytes });
        this.status.textContent = `${file}: ${of(found.samples, "row")}.`;
        this.result.replaceChildren(scores(found, `the rows of ${file}`));
      } else {
        const predictions = await this.engine.ask("predict", { name: this.name, bytes });
        const lines = new TextDecoder().decode(predictions).trimEnd().split("\n");
        this.status.textContent = `${file}: ${of(lines.length - 1, "row")} predicted.`;
        this.result.replaceChildren(
          element("div", { class: "row" }, button("predictions.csv", () => download("predictions.csv", predictions), "primary")), preview(lines));
      }
    });
  }
}

function preview(lines) {
  const cells = lines.slice(0, SHOWN + 1).map(split);
  const caption = lines.length - 1 > SHOWN ? `The first ${SHOWN} of ${counted(lines.length - 1)} predictions` : "Predictions";
  const [head, ...rows] = cells;
  return table(caption, ["row|", ...head.map(name => (name === "class" ? "class|" : name))], rows.map((row, place) => [String(place + 1), ...row]));
}

/** The cells of a line of CSV; a cell in quotes may have commas, and two quotes are one. */
function split(line) {
  return [...line.matchAll(/("(?:[^"]|"")*"|[^,]*)(?:,|$)/g)].map(found => found[1])
    .slice(0, (line.match(/,(?=(?:[^"]*"[^"]*")*[^"]*$)/g)?.length ?? 0) + 1)
    .map(cell => (cell.startsWith("\"") ? cell.slice(1, -1).replaceAll("\"\"", "\"") : cell));
}
