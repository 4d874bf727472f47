import { bcs } from '@mysten/sui/bcs';
import { normalizeStructTag, normalizeSuiAddress } from '@mysten/sui/utils';
import { createBcsWriter } from './bcs-writer.ts';

export const FRAMEWORK = normalizeSuiAddress('0x2');
export const SUI_TYPE = `${FRAMEWORK}::sui::SUI`;

/** Converts to the nodes' form, with 64-digit addresses. Throws an Error for an invalid type. */
export function canonicalType(type: string): string {
  return normalizeStructTag(type);
}

export function coinObjectType(coinType: string): string {
  return `${FRAMEWORK}::coin::Coin<${coinType}>`;
}

export function balanceType(coinType: string): string {
  return `${FRAMEWORK}::balance::Balance<${coinType}>`;
}

const TYPE_TAG_STRUCT = 7;

/** BCS of the TypeTag of a canonical type. */
export function typeTagBytes(type: string): Uint8Array {
  if (type.includes('<')) return bcs.TypeTag.serialize(type).toBytes();
  const [address = '', module = '', name = ''] = type.split('::');
  return createBcsWriter().u8(TYPE_TAG_STRUCT).address(address).text(module).text(name).uleb(0).finish();
}
