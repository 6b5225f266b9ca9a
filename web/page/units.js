/** Units of the first layer as pictures of their weights, on one canvas. */

const GAP = 2;

/** A colour of the page's style, as three bytes. */
function color(name) {
  const text = getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  return [1, 3, 5].map(at => parseInt(text.slice(at, at + 2), 16));
}

/**
 * Draws units: weights above 0 in one colour, below 0 in the other, 0 is the paper.
 * @param {HTMLCanvasElement} canvas
 * @param {Float32Array} weights unit after unit
 * @param {number} side of a picture
 * @param {number} columns
 */
export function drawUnits(canvas, weights, side, columns) {
  const size = side * side;
  const count = Math.floor(weights.length / size);
  if (count === 0) return;
  const rows = Math.ceil(count / columns);
  canvas.width = columns * (side + GAP) - GAP;
  canvas.height = rows * (side + GAP) - GAP;
  const context = canvas.getContext("2d");
  const picture = context.createImageData(side, side);
  const [paper, above, below] = [color("--paper"), color("--c0"), color("--c1")];
  for (let unit = 0; unit < count; unit++) {
    const of = weights.subarray(unit * size, (unit + 1) * size);
    const scale = strongest(of);
    of.forEach((weight, pixel) => {
      const share = Math.min(1, Math.abs(weight) / scale);
      const ink = weight < 0 ? below : above;
      for (let part = 0; part < 3; part++) picture.data[4 * pixel + part] = paper[part] + share * (ink[part] - paper[part]);
      picture.data[4 * pixel + 3] = 255;
    });
    context.putImageData(picture, (unit % columns) * (side + GAP), Math.floor(unit / columns) * (side + GAP));
  }
}

/** Three times the usual size of a weight, so that a few large ones do not pale the others. */
function strongest(weights) {
  const mean = weights.reduce((sum, weight) => sum + weight * weight, 0) / weights.length;
  return 3 * Math.sqrt(mean) || 1;
}
