/**
 * What somebody draws, as MNIST has its digits: scaled into a box of 20 x 20 pixels, with the centre of mass in the middle of 28 x 28, by a
 * pen as wide as MNIST's however large it was drawn.
 */

export const SIDE = 28;
const BOX = 20;
/** From the middle of a stroke to where its grey is half, in pixels. */
const RADIUS = 1.1;

/** @typedef {[number, number][]} Stroke points in any unit */

/**
 * The image as MNIST's bytes, 0 where nothing is drawn; nothing where there are no strokes.
 * @param {Stroke[]} strokes
 * @returns {Float32Array|null}
 */
export function image(strokes) {
  const points = strokes.flat();
  if (points.length === 0) return null;
  const [xs, ys] = [0, 1].map(axis => points.map(point => point[axis]));
  const [left, right, top, bottom] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
  const extent = Math.max(right - left, bottom - top, 1e-6);
  const scale = (BOX - 2 * RADIUS) / extent;
  const middle = [(left + right) / 2, (top + bottom) / 2];
  // A dot stays a dot.
  const factor = extent < 1e-3 ? 0 : scale;
  const placed = strokes.map(stroke => simplified(stroke.map(([x, y]) =>
    [(x - middle[0]) * factor + SIDE / 2, (y - middle[1]) * factor + SIDE / 2])));
  const [x, y] = centreOfMass(raster(placed, 0, 0));
  return raster(placed, SIDE / 2 - x, SIDE / 2 - y);
}

/** Without points that are nearer to the last than a third of a pixel. */
function simplified(stroke) {
  const kept = [stroke[0]];
  for (const point of stroke.slice(1)) {
    if (Math.hypot(point[0] - kept.at(-1)[0], point[1] - kept.at(-1)[1]) > 0.33) kept.push(point);
  }
  return kept;
}

/** Grey values of the strokes, moved by so many pixels; a stroke is as dark as its nearest point is near. */
function raster(strokes, dx, dy) {
  const nearest = new Float32Array(SIDE * SIDE).fill(Infinity);
  for (const stroke of strokes) {
    stroke.forEach((to, place) => {
      const from = stroke[Math.max(place - 1, 0)];
      const [x0, y0, x1, y1] = [from[0] + dx, from[1] + dy, to[0] + dx, to[1] + dy];
      const reach = RADIUS + 1;
      const span = (a, b) => [Math.max(0, Math.floor(Math.min(a, b) - reach)), Math.min(SIDE - 1, Math.ceil(Math.max(a, b) + reach))];
      const [[firstX, lastX], [firstY, lastY]] = [span(x0, x1), span(y0, y1)];
      for (let row = firstY; row <= lastY; row++) {
        for (let column = firstX; column <= lastX; column++) {
          const far = distance(column + 0.5, row + 0.5, x0, y0, x1, y1);
          const at = row * SIDE + column;
          if (far < nearest[at]) nearest[at] = far;
        }
      }
    });
  }
  return nearest.map(far => Math.round(255 * Math.min(1, Math.max(0, RADIUS + 0.5 - far))));
}

function distance(x, y, x0, y0, x1, y1) {
  const [dx, dy] = [x1 - x0, y1 - y0];
  const length = dx * dx + dy * dy;
  const along = length === 0 ? 0 : Math.min(1, Math.max(0, ((x - x0) * dx + (y - y0) * dy) / length));
  return Math.hypot(x - x0 - along * dx, y - y0 - along * dy);
}

function centreOfMass(pixels) {
  let [mass, x, y] = [0, 0, 0];
  pixels.forEach((grey, at) => {
    mass += grey;
    x += grey * ((at % SIDE) + 0.5);
    y += grey * (Math.floor(at / SIDE) + 0.5);
  });
  return mass === 0 ? [SIDE / 2, SIDE / 2] : [x / mass, y / mass];
}
