/** The worker as the page sees it: requests are promises, what a run tells are calls. */

/** A worker with a module of its own. */
export class Engine {
  #worker = new Worker(new URL("./worker.js", import.meta.url), { type: "module" });
  #next = 0;
  /** @type {Map<number, {resolve: (result: any) => void, reject: (error: Error) => void, tell?: (told: any) => void}>} */
  #pending = new Map();
  /** @type {Map<string, (event: any) => void>} */
  #runs = new Map();
  /** Called once when the worker can do nothing more. @type {(why: string) => void} */
  onfailure = () => {};

  constructor() {
    this.#worker.onmessage = ({ data }) => this.#take(data);
    this.#worker.onerror = event => this.#fail(event.message || "the worker could not be loaded");
  }

  /**
   * Asks the worker.
   * @param {string} name of the request, see answers.js
   * @param {object} [given]
   * @param {(told: any) => void} [tell] called with what the worker says before it answers
   * @returns {Promise<any>}
   */
  ask(name, given, tell) {
    const id = this.#next++;
    return new Promise((resolve, reject) => {
      this.#pending.set(id, { resolve, reject, tell });
      this.#worker.postMessage({ id, name, given });
    });
  }

  /**
   * Hears what happens in the run of this name.
   * @param {string} name
   * @param {(event: any) => void} listener
   */
  watch(name, listener) {
    this.#runs.set(name, listener);
  }

  /** Ends the worker with all that it does; what it was asked for is never answered. */
  close() {
    this.#worker.terminate();
    this.#pending.clear();
  }

  #take({ id, run, event, told, result, error, isFatal }) {
    if (run) return this.#runs.get(run)?.(event);
    const request = this.#pending.get(id);
    if (told !== undefined) return request?.tell?.(told);
    this.#pending.delete(id);
    if (isFatal) this.#fail(error);
    if (error === undefined) request?.resolve(result);
    else request?.reject(new Error(error));
  }

  #fail(why) {
    this.onfailure(why);
    for (const { reject } of this.#pending.values()) reject(new Error(why));
    this.#pending.clear();
  }
}
