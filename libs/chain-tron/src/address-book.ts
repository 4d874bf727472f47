import type { Address } from '@opentill/chain/address-codec';
import { addressOfShortHex } from './address-codec.ts';

/** Reads the 20 bytes of hex by which nodes name an address; undefined for any other text. */
export type AddressOf = (shortHex: string) => Address | undefined;

/** Of so many addresses the text is remembered, and of up to twice as many: some 4 MB. */
const REMEMBERED = 8_192;

/**
 * Remembers the text of the addresses that were read last. Writing one takes two microseconds, and a
 * block names each sender twice, as who signed and in the log; many come again soon.
 */
export function createAddressBook(remembered = REMEMBERED): AddressOf {
  let newer = new Map<string, Address>();
  let older = new Map<string, Address>();
  return (shortHex) => {
    const known = newer.get(shortHex);
    if (known !== undefined) return known;
    const address = older.get(shortHex) ?? addressOfShortHex(shortHex);
    if (address === undefined) return undefined;
    if (newer.size >= remembered) {
      older = newer;
      newer = new Map();
    }
    newer.set(shortHex, address);
    return address;
  };
}
