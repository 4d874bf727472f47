import { addressOfKey, hex, toBase58 } from './tron-address.ts';
import { sha256 } from './sha256.ts';

export interface TronDevAccount {
  readonly address: string;
  readonly privateKeyHex: string;
}

/** Derives accounts from a seed. Account 0 deployed the tokens and funds other addresses. */
export function devAccounts(seed: string, count: number): readonly TronDevAccount[] {
  return Array.from({ length: count }, (_, index) => {
    const privateKey = sha256(Buffer.from(`${seed} account ${index}`));
    return { address: toBase58(addressOfKey(privateKey)), privateKeyHex: hex(privateKey) };
  });
}
