import { crc32 } from 'node:zlib';

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const SIDE_MIN = 16;
const SIDE_MAX = 2_048;
const HEADER_LENGTH = 13;
/** Length, type and checksum of a chunk. */
const AROUND_DATA = 12;
/** Colour type: permitted bit depths. */
const DEPTHS: Readonly<Record<number, readonly number[]>> = {
  0: [1, 2, 4, 8, 16],
  2: [8, 16],
  3: [1, 2, 4, 8],
  4: [8, 16],
  6: [8, 16],
};

/**
 * Checks signature, header, dimensions, and that the file consists of chunks with right checksums from IHDR to IEND, so
 * that it is no second file format at once. Pixels are not decoded. @returns the problem, if there is one
 */
export function checkPng(bytes: Uint8Array): string | undefined {
  const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (!file.subarray(0, SIGNATURE.length).equals(SIGNATURE)) return 'is not a PNG file';
  let hasPixels = false;
  for (let at = SIGNATURE.length; at < file.length;) {
    if (at + AROUND_DATA > file.length) return DAMAGED;
    const length = file.readUInt32BE(at);
    const end = at + AROUND_DATA + length;
    if (end > file.length) return DAMAGED;
    if (crc32(file.subarray(at + 4, end - 4)) !== file.readUInt32BE(end - 4)) return DAMAGED;
    const type = file.toString('latin1', at + 4, at + 8);
    const data = file.subarray(at + 8, end - 4);
    if ((at === SIGNATURE.length) !== (type === 'IHDR')) return DAMAGED;
    if (type === 'IHDR') {
      const problem = headerProblem(data);
      if (problem !== undefined) return problem;
    }
    hasPixels ||= type === 'IDAT' && length > 0;
    if (type === 'IEND') return hasPixels && end === file.length ? undefined : DAMAGED;
    at = end;
  }
  return DAMAGED;
}

const DAMAGED = 'is a damaged PNG file';

function headerProblem(header: Buffer): string | undefined {
  if (header.length !== HEADER_LENGTH) return DAMAGED;
  const [width, height] = [header.readUInt32BE(0), header.readUInt32BE(4)];
  if (Math.min(width, height) < SIDE_MIN || Math.max(width, height) > SIDE_MAX) {
    return `has ${width} × ${height} pixels; each side may have 16 to 2,048`;
  }
  const [depth = 0, colour = 0, compression, filter, interlace = 0] = header.subarray(8);
  const isKnown =
    DEPTHS[colour]?.includes(depth) === true && compression === 0 && filter === 0 && interlace <= 1;
  return isKnown ? undefined : DAMAGED;
}
