import { addressOfKey, hex, toBase58 } from './tron-address.ts';
import { sha256 } from './sha256.ts';

/** An account whose key everybody knows. */
export interface TronDevAccount {
  /** Base58. */
  readonly address: string;
  readonly privateKeyHex: string;
}

/** Accounts of a seed, the same at every start. Account 0 made the tokens and is the one that funds others. */
export function devAccounts(seed: string, count: number): readonly TronDevAccount[] {
  return Array.from({ length: count }, (_, index) => {
    const privateKey = sha256(Buffer.from(`${seed} account ${index}`));
    return { address: toBase58(addressOfKey(privateKey)), privateKeyHex: hex(privateKey) };
  });
}
