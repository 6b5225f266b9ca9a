/** IDX files, in which MNIST is published: a header of big-endian numbers (a magic number whose last byte counts dimensions, then the dimensions), then bytes. */

/**
 * A file of this site.
 * @param {string} path
 */
export async function fetched(path) {
  const answer = await fetch(path);
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${answer.statusText}`);
  return new Uint8Array(await answer.arrayBuffer());
}

/**
 * Bytes without gzip, where they are packed by it.
 * @param {Uint8Array} bytes
 */
export async function unpacked(bytes) {
  if (bytes[0] !== 0x1f || bytes[1] !== 0x8b) return bytes;
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/**
 * Items of a plain file, their number, and where the first begins.
 * @param {Uint8Array} bytes
 */
export function items(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const dimensions = bytes[3];
  const sizes = Array.from({ length: dimensions }, (_, place) => view.getUint32(4 + 4 * place));
  return { count: sizes[0], size: sizes.slice(1).reduce((all, size) => all * size, 1), begin: 4 + 4 * dimensions };
}

/**
 * A plain file of the first items alone.
 * @param {Uint8Array} bytes
 * @param {number} most
 */
export function firstItems(bytes, most) {
  const { count, size, begin } = items(bytes);
  if (count <= most) return bytes;
  const kept = bytes.slice(0, begin + most * size);
  new DataView(kept.buffer).setUint32(4, most);
  return kept;
}
