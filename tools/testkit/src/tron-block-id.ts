import { messageFromJson, type JsonObject } from '@opentill/devnets/tron/protobuf/json';
import { encodeMessage } from '@opentill/devnets/tron/protobuf/wire';
import { sha256 } from '@opentill/devnets/tron/sha256';

export interface BlockWithHeader {
  readonly block_header: { readonly raw_data: Readonly<Record<string, unknown>> };
}

const HEIGHT_DIGITS = 16;

/** Replaces header fields and recomputes the id with our devnet's codec. */
export function withHeader<T extends BlockWithHeader>(
  block: T,
  changes: Readonly<Record<string, unknown>>,
): T & { readonly blockID: string } {
  const data: JsonObject = { ...block.block_header.raw_data, ...changes };
  const digits = Buffer.from(headerHash(data)).toString('hex').slice(HEIGHT_DIGITS);
  const blockID = heightDigits(Number(data['number'] ?? 0)) + digits;
  return { ...block, blockID, block_header: { ...block.block_header, raw_data: data } };
}

/** Hash that the block producer signs. `rawData` is the header's `raw_data` in JSON. */
export function headerHash(rawData: Readonly<Record<string, unknown>>): Uint8Array {
  return sha256(encodeMessage('HeaderRaw', messageFromJson('HeaderRaw', { ...rawData }, false)));
}

export function heightDigits(height: number): string {
  return height.toString(16).padStart(HEIGHT_DIGITS, '0');
}
