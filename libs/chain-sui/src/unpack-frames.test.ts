import { zstdCompressSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { unpackFrames } from './unpack-frames.ts';

function frame(flags: number, message: Buffer): Buffer {
  const header = Buffer.alloc(5);
  header[0] = flags;
  header.writeUInt32BE(message.length, 1);
  return Buffer.concat([header, message]);
}

async function* inChunks(bytes: Buffer, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function unpack(bytes: Buffer, size: number, bytesMax = 10_000): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  for await (const part of unpackFrames(inChunks(bytes, size), bytesMax)) parts.push(part);
  return Buffer.concat(parts);
}

const PLAIN = Buffer.from('a plain message');
const PACKED = Buffer.alloc(1_000, 'packed');
const BODY = Buffer.concat([
  frame(1, zstdCompressSync(PACKED)),
  frame(0, PLAIN),
  frame(0x80, Buffer.from('grpc-status:0\r\n')),
]);

test.each([1, 7, 10_000])('unpacks compressed frames only, in chunks of %i bytes', async (size) => {
  const expected = [frame(0, PACKED), frame(0, PLAIN), frame(0x80, Buffer.from('grpc-status:0\r\n'))];
  expect(await unpack(BODY, size)).toEqual(Buffer.concat(expected));
});

test('passes on the bytes of an incomplete frame', async () => {
  expect(await unpack(BODY.subarray(0, 3), 10)).toEqual(BODY.subarray(0, 3));
});

test('rejects a message that is larger than the limit once it is unpacked', async () => {
  await expect(unpack(BODY, 100, 999)).rejects.toThrow(RangeError);
});
