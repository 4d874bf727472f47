import { Ed25519Keypair } from '@mysten/sui/keypairs/ed25519';
import { Secp256k1Keypair } from '@mysten/sui/keypairs/secp256k1';
import { blake2b256 } from './digest.ts';

export interface SuiDevAccount {
  readonly address: string;
  /** Bech32 text `suiprivkey1…`, which includes the scheme. */
  readonly secretKey: string;
  readonly scheme: 'ED25519' | 'Secp256k1';
}

export type DevKeypair = Ed25519Keypair | Secp256k1Keypair;

/** Derives accounts from a seed. Every second one has a secp256k1 key. Account 0 funds other addresses. */
export function devAccounts(seed: string, count: number): readonly SuiDevAccount[] {
  return Array.from({ length: count }, (_, index) => {
    const keypair = devKeypair(seed, index);
    const scheme = index % 2 === 0 ? 'ED25519' : 'Secp256k1';
    return { address: keypair.toSuiAddress(), secretKey: keypair.getSecretKey(), scheme };
  });
}

export function devKeypair(seed: string, index: number): DevKeypair {
  const secret = blake2b256(Buffer.from(`${seed} account ${index}`));
  return index % 2 === 0 ? Ed25519Keypair.fromSecretKey(secret) : Secp256k1Keypair.fromSecretKey(secret);
}
