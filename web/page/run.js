/** A run as it is watched: buttons, figures, curves, epochs. */
import * as address from "./address.js";
import { button, element, table } from "./dom.js";
import { counted, duration, fixed, of, percent } from "./format.js";
import { History } from "./history.js";
import { Plot, legend } from "./plot.js";

/** Epochs of which the table shows the newest. */
const MOST_EPOCHS = 50;
const ENDS = {
  done: "Done", patience: "Stopped early (patience)", accuracy: "Target accuracy reached",
  time: "Time limit reached", interrupted: "Stopped",
};

/**
 * @typedef {object} Asked what begins a run
 * @property {object} settings by the program's names
 * @property {string} device
 * @property {number} [rows]
 */

/** A run with its view. It is idle, going, paused or ended. */
export class RunView {
  state = "idle";
  #history = new History();
  #seconds = 0;
  #since = 0;
  #trained = 0;
  #announced = -1;

  /**
   * @param {import("./engine.js").Engine} engine
   * @param {string} name of the run in the worker
   * @param {object} page
   * @param {string} page.verb of the button
   * @param {() => Asked} page.asked
   * @param {(state: string) => void} page.onstate
   * @param {(event: any) => void} page.onevent
   * @param {(message: string) => void} page.onerror
   */
  constructor(engine, name, page) {
    Object.assign(this, { engine, name, page });
    this.main = button(page.verb, () => this.#press(), "primary");
    this.main.id = `${name}-train`;
    this.halt = button("Stop", () => this.engine.ask("stop", { name }));
    this.halt.id = `${name}-stop`;
    this.status = element("p", { class: "status", role: "status", id: `${name}-status` });
    this.heard = element("p", { class: "unseen", role: "status" });
    this.notes = element("ul", { class: "notes", hidden: true });
    this.bar = element("progress", { max: 1, value: 0, "aria-label": "Progress of training" });
    this.figures = element("dl", { class: "figures" });
    this.loss = new Plot("Loss by epoch", "loss", true);
    this.quality = new Plot("Accuracy by epoch", "accuracy", false);
    this.legend = element("div");
    this.epochs = element("div");
    this.details = element("details", { hidden: true }, element("summary", {}, "All epochs"), this.epochs);
    this.results = element("div", { class: "results" }, this.figures,
      element("div", { class: "plots" }, this.loss.element, this.quality.element), this.legend, this.details);
    this.element = element("div", { class: "run" },
      element("div", { class: "row" }, this.main, this.halt, this.bar), this.status, this.heard, this.notes, this.results);
    this.details.addEventListener("toggle", () => this.#showEpochs());
    engine.watch(name, event => this.#take(event));
    this.#become("idle");
  }

  /** Whether a model could be asked for. */
  get hasModel() {
    return this.#history.epochs.length > 0;
  }

  /** Forgets a run whose place another model takes. */
  reset(message = "") {
    this.notes.hidden = true;
    this.details.hidden = true;
    this.#history = new History();
    for (const shown of [this.figures, this.legend, this.epochs]) shown.replaceChildren();
    for (const plot of [this.loss, this.quality]) plot.draw([], 1);
    this.#become("idle");
    this.status.textContent = message;
  }

  async #press() {
    if (this.state === "going") {
      this.#become("paused");
      this.status.textContent = "Paused.";
      return this.engine.ask("pause", { name: this.name });
    }
    if (this.state === "paused") {
      this.#become("going");
      this.status.textContent = "Training continues.";
      return this.engine.ask("resume", { name: this.name });
    }
    this.#history = new History();
    [this.#seconds, this.#trained, this.#announced] = [0, 0, -1];
    this.#become("going");
    this.status.textContent = "Loading data …";
    this.status.classList.remove("error");
    try {
      const { engine, notes } = await this.engine.ask("begin", { name: this.name, threads: address.threads(), ...this.page.asked() });
      this.#since = performance.now();
      this.status.textContent = `Training on ${engineName(engine)} …`;
      this.#note(notes);
    } catch (error) {
      this.#fail(error.message);
    }
  }

  #become(state) {
    const now = performance.now();
    if (this.state === "going") this.#seconds += (now - this.#since) / 1000;
    this.#since = now;
    this.state = state;
    const names = { going: "Pause", paused: "Continue", ended: `${this.page.verb} again`, idle: this.page.verb };
    this.main.textContent = names[state];
    this.halt.disabled = state !== "going" && state !== "paused";
    this.bar.hidden = this.halt.disabled;
    this.element.dataset.state = state;
    this.page.onstate(state);
  }

  #fail(message) {
    this.#become("ended");
    this.status.textContent = message;
    this.status.classList.add("error");
    this.page.onerror(message);
  }

  #note(notes) {
    this.notes.hidden = notes.length === 0;
    this.notes.replaceChildren(...notes.map(note => element("li", {}, note)));
  }

  #take(event) {
    if (event.error !== undefined) return this.#fail(event.error);
    const isFirst = this.details.hidden;
    const before = this.#history.epochs.length;
    this.#history.add(event);
    this.details.hidden = false;
    if (isFirst || event.refused.length) this.#note(event.refused);
    this.#trained = (event.epoch - 1) * (event.total ?? 0) + event.rows;
    this.bar.value = event.total ? this.#trained / (event.total * event.most_epochs) : 0;
    this.#show(event);
    if (this.#history.epochs.length !== before) this.#showEpochs();
    if (event.done) this.#end(event);
    this.page.onevent(event);
  }

  #end({ done, most_epochs }) {
    this.#become("ended");
    const epochs = this.#history.epochs;
    const kept = done.kept && done.kept !== epochs.length ? ` Kept: the model of epoch ${done.kept}, the best on the validation rows.` : "";
    const best = done.epochs[done.kept - 1] ?? done.epochs.at(-1);
    const of_ = best?.test ?? best?.validation;
    const reached = of_ ? `, ${best.test ? "test" : "validation"} ${of_.r2 === undefined ? `accuracy ${percent(of_.accuracy)}` : `R² ${fixed(of_.r2)}`}` : "";
    this.status.textContent = `${ENDS[done.end] ?? done.end} after ${of(epochs.length, "epoch")} of ${most_epochs}${reached}.${kept}` +
      (done.warning ? ` ${done.warning}` : "");
  }

  #show(event) {
    const { epochs } = this.#history;
    const last = epochs.at(-1);
    const seconds = this.#seconds + (this.state === "going" ? (performance.now() - this.#since) / 1000 : 0);
    const scored = last?.test ?? last?.validation;
    const isOfValues = scored ? scored.r2 !== undefined : !Number.isFinite(event.accuracy ?? NaN);
    const rate = event.done && last ? last.rows_per_second : this.#trained / seconds;
    const set = last?.test ? "Test" : "Validation";
    const figures = [
      ["Epoch", `${event.epoch} of ${event.most_epochs}`],
      ["Rows a second", counted(rate || 0)],
      ["Loss", fixed(event.loss)],
      isOfValues ? [`${set} R²`, fixed(scored?.r2)] : ["Accuracy", percent(event.accuracy)],
      ...(scored && !isOfValues ? [[`${set} accuracy`, percent(scored.accuracy)]] : []),
      ["Time", duration(seconds)],
      ["Network", event.network],
      ["Trained on", engineName(event.engine, event.device)],
    ];
    this.figures.replaceChildren(...figures.map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", {}, value))));
    const measure = isOfValues ? "r2" : "accuracy";
    [this.quality.title, this.quality.y] = isOfValues ? ["R² by epoch", "R²"] : ["Accuracy by epoch", "accuracy"];
    const end = event.done ? Math.max(1, epochs.length) : Math.max(1, Math.min(event.most_epochs, Math.ceil(epochs.length * 1.25) + 1));
    this.loss.draw(this.#history.curves("loss"), end);
    this.quality.draw(this.#history.curves(measure), end);
  }

  #showEpochs() {
    const { names, rows } = this.#history.rows();
    const lines = this.#history.sets().map(([set, name]) => [`${set} c0`, name]);
    this.legend.replaceChildren(legend(lines));
    if (this.details.open && rows.length) {
      const caption = rows.length > MOST_EPOCHS ? `The last ${MOST_EPOCHS} of ${of(rows.length, "epoch")}` : "Each epoch";
      this.epochs.replaceChildren(table(caption, names, rows.slice(0, MOST_EPOCHS)));
    }
    this.#announce();
  }

  /** What a screen reader hears: an epoch now and then, when the last is heard. */
  #announce() {
    const last = this.#history.epochs.at(-1);
    if (!last || this.state !== "going" || performance.now() - this.#announced < 4000 && this.#announced >= 0) return;
    this.#announced = performance.now();
    const scored = last.test ?? last.validation;
    const reached = scored?.r2 === undefined ? `accuracy ${percent((scored ?? last.train).accuracy)}` : `R² ${fixed(scored.r2)}`;
    this.heard.textContent = `Epoch ${last.epoch}: ${last.test ? "test " : last.validation ? "validation " : ""}${reached}.`;
  }
}

/**
 * An engine by the name that people know; the adapter stands on the page.
 * @param {string} engine
 * @param {string} [device] as the module calls it, with its threads; empty before the first step
 */
export const engineName = (engine, device) => (engine === "cpu" ? `the ${device || "CPU engine"}` : "WebGPU");
