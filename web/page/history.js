/** What a run has told so far, as curves and as rows of a table. */
import { counted, duration, fixed, percent } from "./format.js";

const SETS = [["train", "training"], ["validation", "validation"], ["test", "test"]];

/** The share of an epoch that a point between epochs is the mean of, at least. */
const LEAST = 0.04;

/** The curves of a run; between epochs those of training have the mean since the last point. */
export class History {
  /** @type {any[]} */
  epochs = [];
  /** Means within epochs: [epoch, loss, accuracy]. @type {[number, number, number][]} */
  #within = [];
  #last = { epoch: 0, rows: 0, loss: 0, accuracy: 0 };

  /** Takes what a run tells. @param {any} event */
  add(event) {
    for (const epoch of event.epochs) {
      this.#mean(epoch.epoch, epoch.rows, epoch.rows, epoch.train.loss, epoch.train.accuracy);
      this.epochs.push(epoch);
    }
    if (event.rows && event.total && event.epoch > this.epochs.length) {
      this.#mean(event.epoch, event.rows, event.total, event.loss, event.accuracy);
    }
  }

  #mean(epoch, rows, total, loss, accuracy = NaN) {
    const last = this.#last.epoch === epoch ? this.#last : { rows: 0, loss: 0, accuracy: 0 };
    // A mean of few rows says little; an epoch has one point at least.
    if (rows - last.rows < LEAST * total && last.rows > 0) return;
    const since = (now, before) => (now * rows - before * last.rows) / (rows - last.rows);
    this.#within.push([epoch - 1 + rows / total, since(loss, last.loss), since(accuracy, last.accuracy)]);
    this.#last = { epoch, rows, loss, accuracy };
  }

  /** @param {"loss"|"accuracy"|"r2"} measure */
  curves(measure) {
    const place = ["", "loss", "accuracy"].indexOf(measure);
    const curves = SETS.map(([set, name]) => ({
      name, kind: `${set} c0`, isDotted: set !== "train" && this.epochs.length <= 20,
      points: set === "train" && place > 0
        ? this.#within.map(point => [point[0], point[place]])
        : this.epochs.map(epoch => [epoch.epoch, epoch[set]?.[measure] ?? NaN]),
    }));
    return curves.filter(curve => curve.points.some(point => Number.isFinite(point[1])));
  }

  /** Which sets of rows there are. */
  sets() {
    const first = this.epochs[0];
    return SETS.filter(([set]) => set === "train" || first?.[set]);
  }

  /** Names and rows of the table of epochs, the newest first. */
  rows() {
    const sets = this.sets();
    const isOfValues = this.epochs.some(epoch => (epoch.validation ?? epoch.test)?.r2 !== undefined);
    const measured = isOfValues ? ["r2", "R²", fixed] : ["accuracy", "accuracy", percent];
    const columns = sets.flatMap(([set, name]) => [
      [`${name} loss`, epoch => fixed(epoch[set]?.loss)],
      ...(isOfValues && set === "train" ? [] : [[`${name} ${measured[1]}`, epoch => measured[2](epoch[set]?.[measured[0]])]]),
    ]);
    const rows = this.epochs.map(epoch => [
      String(epoch.epoch), ...columns.map(([, cell]) => cell(epoch)), duration(epoch.seconds), counted(epoch.rows_per_second),
    ]);
    return { names: ["epoch", ...columns.map(([name]) => name), "time", "rows/s"], rows: rows.reverse() };
  }
}
