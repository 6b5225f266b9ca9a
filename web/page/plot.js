/** Curves as SVG, whose colours come from the style of the page. */
import { short } from "./format.js";

const SPACE = "http://www.w3.org/2000/svg";
const SIZE = [400, 250];
/** Room round a plot: left, right, top, bottom. */
const [LEFT, RIGHT, TOP, BOTTOM] = [50, SIZE[0] - 12, 28, SIZE[1] - 42];
/** Points of a curve at most. */
const POINTS = 400;
/** How many times the least the greatest number is where the axis is logarithmic. */
const WIDE = 20;
/** The share of the axis that is left free above the curves. */
const ROOM = 0.04;

/**
 * @typedef {object} Curve
 * @property {string} name
 * @property {string} kind class of its line
 * @property {[number, number][]} points
 * @property {boolean} [isDotted] whether its points are shown
 */

function svg(tag, attributes, text) {
  const made = document.createElementNS(SPACE, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

/** About `count` round numbers between two others, with their texts. */
function ticks(low, high, count, isLog, least) {
  if (isLog) {
    const found = [];
    for (let decade = Math.floor(Math.log10(low)); decade <= Math.ceil(Math.log10(high)); decade++) {
      for (const step of Math.log10(high / low) > count / 2 ? [1] : [1, 2, 5]) found.push(Number(`${step}e${decade}`));
    }
    return found.filter(tick => tick >= low && tick <= high).map(tick => [tick, short(tick)]);
  }
  const rough = Math.max((high - low) / count, least);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map(factor => factor * power).find(step => step >= rough * 0.999) ?? 10 * power;
  const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  const found = [];
  for (let number = Math.ceil(low / step - 1e-9); number <= high / step + 1e-9; number++) {
    const tick = number * step;
    found.push([tick, digits > 5 || Math.abs(tick) >= 1e5 ? short(tick) : (tick + 0).toFixed(digits)]);
  }
  return found;
}

/** From where to where the y axis goes; a few points that are far off do not press all others together. */
function range(values, isLoss) {
  const sorted = values.filter(Number.isFinite).sort((a, b) => a - b);
  if (sorted.length === 0) return [0, 1];
  const at = share => sorted[Math.floor((sorted.length - 1) * share)];
  const [low, high] = isLoss ? [at(0), at(0.99)] : [at(0.02), at(1)];
  const room = high > low ? 0 : 0.5 * Math.max(Math.abs(low), 1e-3);
  return [low - room, high + room + ROOM * (high - low)];
}

const thinned = points => {
  const every = Math.max(1, Math.ceil(points.length / POINTS));
  return points.filter((_, place) => place % every === 0 || place + 1 === points.length);
};

/** A plot that is drawn again as its curves grow. */
export class Plot {
  #frame = 0;

  /**
   * @param {string} title
   * @param {string} y what its curves show
   * @param {boolean} isLoss less is better, and the axis may be logarithmic
   */
  constructor(title, y, isLoss) {
    [this.title, this.y, this.isLoss] = [title, y, isLoss];
    this.svg = svg("svg", { viewBox: `0 0 ${SIZE[0]} ${SIZE[1]}`, role: "img", class: "plot" });
    this.element = document.createElement("figure");
    this.element.append(this.svg);
    this.#paint([], 1);
  }

  /**
   * Draws with the next frame.
   * @param {Curve[]} curves
   * @param {number} last epoch of the x axis
   */
  draw(curves, last) {
    cancelAnimationFrame(this.#frame);
    this.#frame = requestAnimationFrame(() => this.#paint(curves, last));
  }

  #paint(curves, last) {
    const [low, high] = range(curves.flatMap(curve => curve.points.map(point => point[1])), this.isLoss);
    const isLog = this.isLoss && low > 0 && high / low >= WIDE;
    const scale = isLog ? Math.log : value => value;
    const inside = share => Math.min(1, Math.max(0, share));
    const x = value => LEFT + (RIGHT - LEFT) * inside(value / last);
    const y = value => BOTTOM - (BOTTOM - TOP) * inside((scale(value) - scale(low)) / (scale(high) - scale(low)));
    const parts = [svg("title", {}, this.#words(curves))];
    const line = (kind, x1, y1, x2, y2) => parts.push(svg("line", { class: kind, x1, y1, x2, y2 }));
    const text = (x, y, anchor, words) => parts.push(svg("text", { x, y, "text-anchor": anchor }, words));
    for (const [tick, words] of curves.length ? ticks(low, high, 4.5, isLog, 0) : []) {
      line("grid", LEFT, y(tick), RIGHT, y(tick));
      text(LEFT - 6, y(tick) + 4, "end", words);
    }
    for (const [tick, words] of ticks(0, last, 6, false, 1)) {
      line("grid", x(tick), BOTTOM, x(tick), BOTTOM + 5);
      text(x(tick), BOTTOM + 18, "middle", words);
    }
    line("axis", LEFT, BOTTOM, RIGHT, BOTTOM);
    text(RIGHT, SIZE[1] - 6, "end", "epoch");
    text(4, 16, "start", isLog ? `${this.y}, logarithmic` : this.y);
    for (const { kind, points, isDotted } of curves) {
      const places = thinned(points.filter(point => Number.isFinite(point[1]))).map(([at, value]) => [x(at), y(value)].map(place => place.toFixed(1)));
      if (places.length > 1) parts.push(svg("polyline", { class: `curve ${kind}`, points: places.join(" ") }));
      // A line of one point would not be seen.
      if (isDotted || places.length === 1) parts.push(...places.map(([cx, cy]) => svg("circle", { class: `dot ${kind}`, cx, cy, r: 3.5 })));
    }
    this.svg.replaceChildren(...parts);
  }

  #words(curves) {
    const last = curves.filter(curve => curve.points.length).map(curve => `${curve.name} ${short(curve.points.at(-1)[1])}`);
    return last.length ? `${this.title}: ${last.join(", ")}` : `${this.title}: nothing yet`;
  }
}

/**
 * Which line is which.
 * @param {[string, string][]} lines kinds and names
 */
export function legend(lines) {
  const list = document.createElement("ul");
  list.className = "legend";
  for (const [kind, name] of lines) {
    const key = svg("svg", { class: "key", viewBox: "0 0 34 10", "aria-hidden": "true" });
    key.append(svg("polyline", { class: `curve ${kind}`, points: "1,5 33,5" }));
    const item = document.createElement("li");
    item.append(key, ` ${name}`);
    list.append(item);
  }
  return list;
}
