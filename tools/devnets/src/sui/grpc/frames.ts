import { zstdCompressSync } from 'node:zlib';

/** Frame header: flag and message length. */
const HEADER_BYTES = 5;
/** Flags of a frame with a compressed message, and of gRPC-web's trailers. */
const COMPRESSED = 1;
const TRAILERS = 0x80;

export function messageFrame(message: Uint8Array, isCompressed = false): Buffer {
  return isCompressed ? frame(COMPRESSED, zstdCompressSync(message)) : frame(0, message);
}

function frame(flag: number, content: Uint8Array): Buffer {
  const framed = Buffer.allocUnsafe(HEADER_BYTES + content.length);
  framed[0] = flag;
  framed.writeUInt32BE(content.length, 1);
  framed.set(content, HEADER_BYTES);
  return framed;
}

/** Returns the message of a one-frame body; undefined if the body is incomplete. */
export function readMessage(body: Buffer): Uint8Array | undefined {
  if (body.length < HEADER_BYTES) return undefined;
  const end = HEADER_BYTES + body.readUInt32BE(1);
  return body.length < end ? undefined : new Uint8Array(body.subarray(HEADER_BYTES, end));
}

export interface CallStatus {
  readonly code: number;
  readonly message: string;
}

export function statusHeaders({ code, message }: CallStatus): Record<string, string> {
  const status = { 'grpc-status': String(code) };
  return message === '' ? status : { ...status, 'grpc-message': encodeURIComponent(message) };
}

export function trailersFrame(status: CallStatus): Buffer {
  const lines = Object.entries(statusHeaders(status)).map(([name, value]) => `${name}:${value}\r\n`);
  return frame(TRAILERS, Buffer.from(lines.join('')));
}
