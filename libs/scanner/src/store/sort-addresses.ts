import type { Address } from '@opentill/chain/address-codec';

/** Characters that an order is told by: those behind the `0x` of an address in hex. */
const [KEY_FROM, KEY_TO] = [2, 10];
/** So many places have room in a double beside the key. */
const PLACES = 2 ** 18;

/**
 * All of the addresses, nearly each of them once, and nearly in the order in which Postgres sorts them, which is a quarter
 * of its time of looking for them, and next to none when they are sorted already. So for hex in lower case; others come in
 * some order. By numbers it takes less time than sorting the strings, or than putting them into a Set.
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

/** The value of eight hex digits; of other characters a number as well, below 2^33, the same for the same ones. */
function keyOf(address: string): number {
  let key = 0;
  for (let at = KEY_FROM; at < KEY_TO; at += 1) {
    const code = address.charCodeAt(at);
    key = key * 16 + (code & 15) + ((code >> 6) & 1) * 9;
  }
  return key;
}
