import { Ed25519Keypair } from '@mysten/sui/keypairs/ed25519';
import { Secp256k1Keypair } from '@mysten/sui/keypairs/secp256k1';
import { blake2b256 } from './digest.ts';

/** An account whose key everybody knows. */
export interface SuiDevAccount {
  /** `0x` and 64 hex digits. */
  readonly address: string;
  /** `suiprivkey1…`, which says its scheme. */
  readonly secretKey: string;
  readonly scheme: 'ED25519' | 'Secp256k1';
}

export type DevKeypair = Ed25519Keypair | Secp256k1Keypair;

/**
 * Accounts of a seed, the same at every start. Every second one has a key of secp256k1. Account 0 is the one that funds
 * others.
 */
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
