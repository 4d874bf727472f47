import { hash } from 'node:crypto';

const ALPHABET = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';
const DIGITS = new Map(Array.from(ALPHABET, (letter, value) => [letter, value] as const));
const PAYLOAD_BYTES = 21;
const CHECKSUM_BYTES = 4;
const HASH_BYTES = 32;
const BYTES = PAYLOAD_BYTES + CHECKSUM_BYTES;
/** Length of any 25 bytes that begin with 0x41. */
const TEXT_LENGTH = 34;
/** Digits per division. With a limb of 24 bits after the remainder, the number stays below 2^53. */
const DIGITS_AT_ONCE = 4;
const STEP = 58 ** DIGITS_AT_ONCE;
const LIMB = 2 ** 24;
const LIMB_BYTES = 3;
const LIMBS = 1 + (BYTES - 1) / LIMB_BYTES;
const PAIR = 58 ** 2;
const FIRST_LETTERS = Uint8Array.from({ length: PAIR }, (_, value) =>
  ALPHABET.charCodeAt(Math.floor(value / 58)),
);
const SECOND_LETTERS = Uint8Array.from({ length: PAIR }, (_, value) => ALPHABET.charCodeAt(value % 58));
const TEXT_BYTES = Math.ceil(TEXT_LENGTH / DIGITS_AT_ONCE) * DIGITS_AT_ONCE;

const checksumOf = createChecksum();

/** Encodes 21 bytes that begin with 0x41, and the first four bytes of their double SHA-256: 34 characters. */
export const encodeBase58Check = createEncoder();

function createEncoder(): (payload: Uint8Array) => string {
  const limbs = new Float64Array(LIMBS);
  const text = Buffer.alloc(TEXT_BYTES);
  return (payload) => {
    if (payload.length !== PAYLOAD_BYTES) throw new TypeError(`not ${PAYLOAD_BYTES} bytes`);
    fillLimbs(limbs, payload, checksumOf(payload));
    let from = 0;
    for (let at = TEXT_BYTES - DIGITS_AT_ONCE; at >= 0; at -= DIGITS_AT_ONCE) {
      const rest = divideInPlace(limbs, from);
      if (limbs[from] === 0) from += 1;
      const high = Math.floor(rest / PAIR);
      const low = rest - high * PAIR;
      text[at] = FIRST_LETTERS[high] ?? 0;
      text[at + 1] = SECOND_LETTERS[high] ?? 0;
      text[at + 2] = FIRST_LETTERS[low] ?? 0;
      text[at + 3] = SECOND_LETTERS[low] ?? 0;
    }
    return text.toString('latin1', TEXT_BYTES - TEXT_LENGTH);
  };
}

/** Limbs of 24 bits, most significant first, after the first byte. The checksum follows the last payload byte. */
function fillLimbs(limbs: Float64Array, payload: Uint8Array, checksum: number): void {
  limbs[0] = payload[0] ?? 0;
  for (let limb = 1; limb < LIMBS - 2; limb += 1) {
    const at = LIMB_BYTES * (limb - 1) + 1;
    limbs[limb] = ((payload[at] ?? 0) << 16) | ((payload[at + 1] ?? 0) << 8) | (payload[at + 2] ?? 0);
  }
  const last = ((payload[PAYLOAD_BYTES - 2] ?? 0) << 8) | (payload[PAYLOAD_BYTES - 1] ?? 0);
  limbs[LIMBS - 2] = (last << 8) | (checksum >>> 24);
  limbs[LIMBS - 1] = checksum & 0xff_ff_ff;
}

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
  const checksum = Buffer.from(bytes.subarray(PAYLOAD_BYTES)).readUInt32BE();
  return checksumOf(payload) === checksum ? payload : undefined;
}

/** The number begins at limb `from` and is divided by 58^4; returns the remainder. */
function divideInPlace(limbs: Float64Array, from: number): number {
  let rest = 0;
  for (let place = from; place < LIMBS; place += 1) {
    const number = rest * LIMB + (limbs[place] ?? 0);
    const quotient = Math.floor(number / STEP);
    limbs[place] = quotient;
    rest = number - quotient * STEP;
  }
  return rest;
}

/** Hex digests: for binary ones Node creates buffers, which cost as much as the hashes. */
function createChecksum(): (payload: Uint8Array) => number {
  const first = Buffer.alloc(HASH_BYTES);
  return (payload) => {
    first.write(hash('sha256', payload, 'hex'), 'hex');
    return Number.parseInt(hash('sha256', first, 'hex').slice(0, 2 * CHECKSUM_BYTES), 16);
  };
}
