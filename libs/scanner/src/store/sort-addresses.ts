import type { Address } from '@opentill/chain/address-codec';

/** The sort key is the first eight hex digits after `0x`. */
const [KEY_FROM, KEY_TO] = [2, 10];
/** Largest place that fits into a double next to the key. */
const PLACES = 2 ** 18;

/**
 * Sorts nearly in Postgres order and removes nearly all duplicates: sorting takes Postgres a quarter of a lookup, and
 * almost no time if the input is sorted. Sorting numbers is faster than sorting strings or building a Set.
 */
export function sortAddresses(addresses: readonly Address[]): readonly Address[] {
  const keys = new Float64Array(Math.min(addresses.length, PLACES));
  for (let place = 0; place < keys.length; place += 1)
    keys[place] = keyOf(addresses[place] ?? '') * PLACES + place;
  keys.sort();
  const sorted: Address[] = [];
  for (const key of keys) {
    const address = addresses[key % PLACES];
    if (address !== undefined && address !== sorted.at(-1)) sorted.push(address);
  }
  for (const address of addresses.slice(PLACES)) sorted.push(address);
  return sorted;
}

/** Other characters than hex digits give an arbitrary stable number below 2^33. */
function keyOf(address: string): number {
  let key = 0;
  for (let at = KEY_FROM; at < KEY_TO; at += 1) {
    const code = address.charCodeAt(at);
    key = key * 16 + (code & 15) + ((code >> 6) & 1) * 9;
  }
  return key;
}
