import { hash } from 'node:crypto';
import { countIn, malformed, type Raw } from '../node-value.ts';
import { bytesField, concat, varintField } from './wire.ts';

const HEIGHT_DIGITS = 16;
const HEX = /^(?:[0-9a-f]{2})*$/;

/**
 * The id of the block with this header, by the JSON of its `raw_data`: its digest, the first 8 bytes replaced by the height. Throws
 * INCONSISTENT_ANSWER for fields that are none.
 */
export function blockIdOf(header: Raw, height: number): string {
  return heightDigits(height) + headerDigestOf(header).slice(HEIGHT_DIGITS);
}

/**
 * SHA-256, in hex, of the message that the producer of a block signs (java-tron's core/Tron.proto, BlockHeader.raw), by the JSON of
 * its `raw_data`. Throws INCONSISTENT_ANSWER for fields that are none. TronWeb has no block headers.
 */
export function headerDigestOf(header: Raw): string {
  const number = (field: string): bigint => BigInt(countIn(header[field], field));
  const bytes = (place: number, field: string): Uint8Array => {
    const value = header[field];
    if (value === undefined || value === '') return new Uint8Array(0);
    if (typeof value !== 'string' || !HEX.test(value)) return malformed(field, value);
    return bytesField(place, Buffer.from(value, 'hex'));
  };
  const message = concat([
    varintField(1, number('timestamp')),
    bytes(2, 'txTrieRoot'),
    bytes(3, 'parentHash'),
    varintField(7, number('number')),
    varintField(8, number('witness_id')),
    bytes(9, 'witness_address'),
    varintField(10, number('version')),
    bytes(11, 'accountStateRoot'),
  ]);
  return hash('sha256', message, 'hex');
}

/** How ids begin that are of this height. */
export function heightDigits(height: number): string {
  return height.toString(16).padStart(HEIGHT_DIGITS, '0');
}
