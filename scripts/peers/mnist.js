// What the pages of peers in a browser share: the workloads of the page's benchmark, MNIST, and how epochs are told.
const asked = new URLSearchParams(location.search);
export const given = name => asked.get(name);
export const rows = Number(given("rows") ?? 6400);
export const WORKLOADS = { W1: [[300, 100], 64], W3: [[32], 16] };
/** Epochs, of which the first compiles and warms up. */
export const EPOCHS = 3;

async function bytes(name) {
  const packed = (await fetch(`../../data/mnist/${name}-ubyte.gz`)).body.pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(packed).arrayBuffer());
}

/** Images as numbers of 0 to 1, row after row, and their classes. */
export async function mnist() {
  const [images, labels] = await Promise.all(["train-images-idx3", "train-labels-idx1"].map(bytes));
  return { x: Float32Array.from(images.subarray(16, 16 + rows * 784), grey => grey / 255), y: Int32Array.from(labels.subarray(8, 8 + rows)) };
}

/** Tells the seconds of epochs. */
export function tell(what, workload, seconds) {
  document.querySelector("#out").textContent += `${what}\t${workload}\t${seconds.map(value => value.toFixed(4)).join(" ")}\n`;
}

/** Runs a peer; its error is told, too. */
export async function run(peer) {
  try {
    await peer();
  } catch (error) {
    document.querySelector("#out").textContent += `${error}\n`;
  }
  document.documentElement.dataset.ready = "";
}
