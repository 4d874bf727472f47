import { hash } from 'node:crypto';
import { countIn, malformed, type Raw } from '../node-value.ts';
import { bytesField, concat, varintField } from './wire.ts';

const HEIGHT_DIGITS = 16;
const HEX = /^(?:[0-9a-f]{2})*$/;

/** The digest of the header's `raw_data`, with the first 8 bytes replaced by the height. */
export function blockIdOf(header: Raw, height: number): string {
  return heightDigits(height) + headerDigestOf(header).slice(HEIGHT_DIGITS);
}

/**
 * SHA-256, in hex, of the message that a block producer signs (java-tron core/Tron.proto, BlockHeader.raw), from the
 * JSON of its `raw_data`. TronWeb cannot encode block headers.
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

export function heightDigits(height: number): string {
  return height.toString(16).padStart(HEIGHT_DIGITS, '0');
}
