import { zstdDecompressSync } from 'node:zlib';

/** A full node compresses answers of all services but subscriptions (sui-rpc-api, `send_compressed`). */
export const ACCEPTED_ENCODING = 'zstd';

const HEADER_BYTES = 5;
/** First byte of a frame: bit 0 marks a compressed message. */
const COMPRESSED = 1;

/**
 * The SDK's transport reads no compressed messages, so frames of gRPC-web are unpacked before it: a byte of flags, four
 * bytes of length, the message. Throws when an unpacked message exceeds `bytesMax`.
 */
export async function* unpackFrames(
  chunks: AsyncIterable<Uint8Array>,
  bytesMax: number,
): AsyncGenerator<Uint8Array> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const chunk of chunks) {
    rest =
      rest.length === 0
        ? Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length)
        : Buffer.concat([rest, chunk]);
    for (let end = endOfFrame(rest); end <= rest.length; end = endOfFrame(rest)) {
      yield unpacked(rest.subarray(0, end), bytesMax);
      rest = rest.subarray(end);
    }
  }
  if (rest.length > 0) yield rest;
}

function endOfFrame(bytes: Buffer): number {
  return bytes.length < HEADER_BYTES ? Infinity : HEADER_BYTES + bytes.readUInt32BE(1);
}

function unpacked(frame: Buffer, bytesMax: number): Buffer {
  const flags = frame[0] ?? 0;
  if ((flags & COMPRESSED) === 0) return frame;
  const message = zstdDecompressSync(frame.subarray(HEADER_BYTES), { maxOutputLength: bytesMax });
  const header = Buffer.alloc(HEADER_BYTES);
  header[0] = flags & ~COMPRESSED;
  header.writeUInt32BE(message.length, 1);
  return Buffer.concat([header, message]);
}
