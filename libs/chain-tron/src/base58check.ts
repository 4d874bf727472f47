import { hash } from 'node:crypto';

const ALPHABET = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';
const DIGITS = new Map(Array.from(ALPHABET, (letter, value) => [letter, value] as const));
/** An address: the prefix 0x41 and 20 bytes. */
export const PAYLOAD_BYTES = 21;
const CHECKSUM_BYTES = 4;
const BYTES = PAYLOAD_BYTES + CHECKSUM_BYTES;
/** So many digits every number of 25 bytes has that begins with 0x41. */
export const TEXT_LENGTH = 34;
/** Five digits at once: their product with a limb of 16 bits is still exact. */
const DIGITS_AT_ONCE = 5;
const STEP = 58 ** DIGITS_AT_ONCE;
const LIMBS = Math.ceil(BYTES / 2);

/** Base58 of 21 bytes that begin with 0x41 and the first four bytes of their double SHA-256: 34 characters. */
export function encodeBase58Check(payload: Uint8Array): string {
  if (payload.length !== PAYLOAD_BYTES) throw new TypeError(`not ${PAYLOAD_BYTES} bytes`);
  const bytes = new Uint8Array(BYTES);
  bytes.set(payload);
  bytes.set(checksumOf(payload), PAYLOAD_BYTES);
  // Limbs of 16 bits, the highest first; it holds one byte.
  const limbs = Array.from({ length: LIMBS }, (_, place) =>
    place === 0 ? (bytes[0] ?? 0) : (bytes[2 * place - 1] ?? 0) * 256 + (bytes[2 * place] ?? 0),
  );
  let text = '';
  while (text.length < TEXT_LENGTH) {
    let rest = divideInPlace(limbs);
    for (let digit = 0; digit < DIGITS_AT_ONCE && text.length < TEXT_LENGTH; digit += 1) {
      text = (ALPHABET[rest % 58] ?? '') + text;
      rest = Math.floor(rest / 58);
    }
  }
  return text;
}

/** The 21 bytes of a text that `encodeBase58Check` gives; undefined for any other, a wrong checksum included. */
export function decodeBase58Check(text: string): Uint8Array | undefined {
  if (text.length !== TEXT_LENGTH) return undefined;
  const bytes = new Uint8Array(BYTES);
  for (const letter of text) {
    let carry = DIGITS.get(letter);
    if (carry === undefined) return undefined;
    for (let place = BYTES - 1; place >= 0; place -= 1) {
      carry += (bytes[place] ?? 0) * 58;
      bytes[place] = carry & 0xff;
      carry >>= 8;
    }
    if (carry !== 0) return undefined;
  }
  const payload = bytes.subarray(0, PAYLOAD_BYTES);
  const checksum = bytes.subarray(PAYLOAD_BYTES);
  return checksumOf(payload).equals(checksum) ? payload : undefined;
}

/** Divides the number by 58^5; gives the remainder. */
function divideInPlace(limbs: number[]): number {
  let rest = 0;
  for (const [place, limb] of limbs.entries()) {
    const number = rest * 65_536 + limb;
    limbs[place] = Math.floor(number / STEP);
    rest = number % STEP;
  }
  return rest;
}

function checksumOf(payload: Uint8Array): Buffer {
  return hash('sha256', hash('sha256', payload, 'buffer'), 'buffer').subarray(0, CHECKSUM_BYTES);
}
