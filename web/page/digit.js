/** A pad to draw a digit on, what the network sees of it, and the probability of each class while drawing. */
import { button, element } from "./dom.js";
import { percent } from "./format.js";
import { SIDE, image } from "./strokes.js";

const EDGE = 280;
const PEN = 20;

/** The pad. It asks for probabilities through `probabilities`, one question at a time. */
export class DigitPad {
  /** @type {import("./strokes.js").Stroke[]} */
  #strokes = [];
  /** What the network sees, if not strokes. @type {Float32Array|null} */
  #shown = null;
  #isAsking = false;
  #isStale = false;

  /**
   * @param {(inputs: Float32Array) => Promise<Float32Array>} probabilities
   * @param {() => Promise<{pixels: Uint8Array, label: number, number: number}>} testImage
   */
  constructor(probabilities, testImage) {
    this.probabilities = probabilities;
    this.testImage = testImage;
    this.pad = element("canvas", { width: EDGE, height: EDGE, class: "pad", id: "pad", role: "img", "aria-label": "Pad: draw a digit with mouse, finger or pen" });
    this.seen = element("canvas", { width: SIDE, height: SIDE, class: "seen", role: "img", "aria-label": "What the network sees: 28 by 28 pixels" });
    this.bars = element("ol", { class: "bars", "aria-label": "Probability of each digit" });
    this.answer = element("p", { class: "status", role: "status", id: "digit-answer" });
    this.clear = button("Clear", () => this.#clear());
    this.sample = button("Show a test image", () => this.#sample());
    this.element = element("div", { class: "digit" },
      element("div", { class: "drawing" }, this.pad, element("div", { class: "row" }, this.clear, this.sample)),
      element("div", { class: "answers" },
        element("div", { class: "seeing" }, this.seen, element("p", { class: "small" }, "What the network sees: scaled and centred as MNIST’s digits are.")),
        this.bars, this.answer));
    this.#listen();
    this.#paint();
    this.#bars(null);
  }

  /** Asks again, as the model is another one now; only where something is drawn. */
  refresh() {
    if (this.#inputs()) this.#ask();
  }

  /** @param {boolean} isOff */
  disable(isOff) {
    this.sample.disabled = isOff;
    this.element.classList.toggle("waiting", isOff);
  }

  #listen() {
    const at = event => {
      const box = this.pad.getBoundingClientRect();
      return [(event.clientX - box.left) * EDGE / box.width, (event.clientY - box.top) * EDGE / box.height];
    };
    let stroke = null;
    this.pad.addEventListener("pointerdown", event => {
      if (event.button !== 0) return;
      event.preventDefault();
      this.pad.setPointerCapture(event.pointerId);
      this.#shown = null;
      this.answer.textContent = "";
      stroke = [at(event)];
      this.#strokes.push(stroke);
      this.#changed();
    });
    this.pad.addEventListener("pointermove", event => {
      if (!stroke) return;
      const events = event.getCoalescedEvents?.() ?? [];
      stroke.push(...(events.length ? events : [event]).map(at));
      this.#changed();
    });
    const end = () => {
      if (stroke) this.#ask(true);
      stroke = null;
    };
    for (const kind of ["pointerup", "pointercancel"]) this.pad.addEventListener(kind, end);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.#paint());
  }

  #inputs() {
    return this.#shown ?? image(this.#strokes);
  }

  #changed() {
    this.#paint();
    this.#ask();
  }

  #clear() {
    this.#strokes = [];
    this.#shown = null;
    this.answer.textContent = "";
    this.#paint();
    this.#bars(null);
  }

  async #sample() {
    try {
      const { pixels, label, number } = await this.testImage();
      this.#strokes = [];
      this.#shown = Float32Array.from(pixels);
      this.#paint();
      await this.#ask(true, `Test image ${number} is labelled ${label}, `);
    } catch (error) {
      this.answer.textContent = error.message;
    }
  }

  /** Asks for probabilities, unless a question is open: then behind it. At the end of a stroke the answer is said. */
  async #ask(isSaid = false, before = "") {
    if (this.#isAsking) {
      this.#isStale = true;
      if (!isSaid) return;
    }
    while (this.#isAsking) await new Promise(resolve => setTimeout(resolve, 10));
    this.#isAsking = true;
    try {
      do {
        this.#isStale = false;
        const inputs = this.#inputs();
        if (!inputs) break;
        const found = await this.probabilities(inputs);
        this.#bars(found);
        const best = found.indexOf(Math.max(...found));
        const words = `${before ? "predicted" : "Predicted"}: ${best} (${percent(found[best])}).`;
        if (isSaid) this.answer.textContent = before + words;
      } while (this.#isStale);
    } catch (error) {
      this.answer.textContent = /no model/.test(error.message) ? "Train a network first, then it classifies what you draw." : error.message;
    } finally {
      this.#isAsking = false;
    }
  }

  #paint() {
    const context = this.pad.getContext("2d");
    const style = getComputedStyle(document.documentElement);
    context.fillStyle = style.getPropertyValue("--pad").trim() || "#fff";
    context.fillRect(0, 0, EDGE, EDGE);
    const inputs = this.#inputs();
    const seen = this.seen.getContext("2d");
    const pixels = seen.createImageData(SIDE, SIDE);
    for (let at = 0; at < SIDE * SIDE; at++) pixels.data.set([0, 0, 0, inputs ? inputs[at] : 0], 4 * at);
    const ink = style.getPropertyValue("--ink").trim() || "#000";
    const [red, green, blue] = [1, 3, 5].map(at => parseInt(ink.slice(at, at + 2), 16));
    for (let at = 0; at < SIDE * SIDE; at++) pixels.data.set([red, green, blue], 4 * at);
    seen.putImageData(pixels, 0, 0);
    if (this.#shown) {
      context.imageSmoothingEnabled = false;
      context.drawImage(this.seen, 0, 0, EDGE, EDGE);
      return;
    }
    Object.assign(context, { strokeStyle: ink, lineWidth: PEN, lineCap: "round", lineJoin: "round" });
    for (const stroke of this.#strokes) {
      context.beginPath();
      context.moveTo(...stroke[0]);
      for (const point of stroke) context.lineTo(...point);
      context.stroke();
    }
  }

  /** @param {Float32Array|null} found */
  #bars(found) {
    const shares = found ? [...found] : Array(10).fill(0);
    const best = found ? shares.indexOf(Math.max(...shares)) : -1;
    if (this.bars.children.length !== shares.length) {
      this.bars.replaceChildren(...shares.map((_, label) => element("li", {},
        element("span", { class: "label" }, String(label)), element("span", { class: "track" }, element("span", { class: "fill" })),
        element("span", { class: "share" }))));
    }
    [...this.bars.children].forEach((item, label) => {
      item.classList.toggle("best", label === best);
      item.querySelector(".fill").style.width = `${100 * shares[label]}%`;
      item.querySelector(".share").textContent = found ? `${(100 * shares[label]).toFixed(1)} %` : "–";
    });
  }
}
