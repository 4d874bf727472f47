import { messageFromJson, type JsonObject } from '@opentill/devnets/tron/protobuf/json';
import { encodeMessage } from '@opentill/devnets/tron/protobuf/wire';
import { sha256 } from '@opentill/devnets/tron/sha256';

/** A block as nodes tell it, as far as its id goes. */
export interface BlockWithHeader {
  readonly block_header: { readonly raw_data: Readonly<Record<string, unknown>> };
}

const HEIGHT_DIGITS = 16;

/** The block with another header in it, and with the id that this one has: by the codec of our own node. */
export function withHeader<T extends BlockWithHeader>(
  block: T,
  changes: Readonly<Record<string, unknown>>,
): T & { readonly blockID: string } {
  const data: JsonObject = { ...block.block_header.raw_data, ...changes };
  const digits = Buffer.from(headerHash(data)).toString('hex').slice(HEIGHT_DIGITS);
  const blockID = heightDigits(Number(data['number'] ?? 0)) + digits;
  return { ...block, blockID, block_header: { ...block.block_header, raw_data: data } };
}

/** What the producer of a block signs, by the JSON of its `raw_data`. */
export function headerHash(rawData: Readonly<Record<string, unknown>>): Uint8Array {
  return sha256(encodeMessage('HeaderRaw', messageFromJson('HeaderRaw', { ...rawData }, false)));
}

/** How the ids of a height begin. */
export function heightDigits(height: number): string {
  return height.toString(16).padStart(HEIGHT_DIGITS, '0');
}
