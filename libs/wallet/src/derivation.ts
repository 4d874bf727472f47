import type { Family } from '@opentill/domain/chains';
import type { BIP32Interface } from 'bip32';
import { BIP32Factory } from 'bip32';
import * as secp256k1 from 'tiny-secp256k1';

const bip32 = BIP32Factory(secp256k1);
const HARDENED = 0x8000_0000;

/**
 * Where each family's keys stand (BIP-44; SUI uses purpose 54 for secp256k1). Deposits: account 0, published
 * as an extended public key; an address is at `/0/<index>` below it. The hot wallet has a hardened account of its own:
 * whoever learns one deposit key and the extended public key can compute every key of account 0, and of no other.
 */
export const DERIVATION_PATHS: Readonly<
  Record<Family, { readonly deposits: string; readonly hotWallet: string }>
> = {
  EVM: { deposits: "m/44'/60'/0'", hotWallet: "m/44'/60'/1'/0/0" },
  TRON: { deposits: "m/44'/195'/0'", hotWallet: "m/44'/195'/1'/0/0" },
  SUI: { deposits: "m/54'/784'/0'", hotWallet: "m/54'/784'/1'/0/0" },
};

/** BIP-32's fingerprint of the seed's master key, 8 hex digits: says which seed something belongs to. Public. */
export function seedFingerprint(seed: Uint8Array): string {
  const master = bip32.fromSeed(seed);
  try {
    return Buffer.from(master.fingerprint).toString('hex');
  } finally {
    wipe(master);
  }
}

/** The extended public key of a family's deposit account, base58. Not secret, but not for strangers (see above). */
export function depositXpub(seed: Uint8Array, family: Family): string {
  return withNode(seed, DERIVATION_PATHS[family].deposits, (node) => node.neutered().toBase58());
}

/** The compressed public key of a family's hot wallet. */
export function hotWalletPublicKey(seed: Uint8Array, family: Family): Uint8Array {
  return withNode(seed, DERIVATION_PATHS[family].hotWallet, (node) => Uint8Array.from(node.publicKey));
}

/** The private key of a family's hot wallet, 32 bytes that belong to the caller alone, who zeroes them. */
export function hotWalletPrivateKey(seed: Uint8Array, family: Family): Buffer {
  return withNode(seed, DERIVATION_PATHS[family].hotWallet, ({ privateKey }) => {
    if (privateKey === undefined) throw new TypeError('a node below a seed has a private key');
    return Buffer.from(privateKey);
  });
}

/** The node below an account's extended public key that the deposit addresses are children of. Throws TypeError. */
export function depositBranch(xpub: string): BIP32Interface {
  const account = bip32.fromBase58(xpub);
  if (!account.isNeutered()) throw new TypeError('an extended private key stands where a public one belongs');
  if (account.depth !== 3 || account.index !== HARDENED)
    throw new TypeError('not the extended public key of account 0');
  return account.derive(0);
}

/**
 * The private keys of a family's deposit addresses. They stand on the one key that all of them are derived from, which is kept
 * until `close`.
 */
export interface DepositKeys {
  /** The private key of deposit address `index`, 32 bytes that belong to the caller alone, who zeroes them. Throws RangeError. */
  privateKey(index: number): Buffer;
  /** The compressed public key of deposit address `index`. Throws RangeError. */
  publicKey(index: number): Uint8Array;
  /** Zeroes the key; nothing is derived any more. */
  close(): void;
}

/** Derives the key that a family's deposit addresses are children of, and keeps it. */
export function openDepositKeys(seed: Uint8Array, family: Family): DepositKeys {
  let branch: BIP32Interface | undefined = withNode(
    seed,
    `${DERIVATION_PATHS[family].deposits}/0`,
    ({ privateKey, chainCode }) => {
      if (privateKey === undefined) throw new TypeError('a node below a seed has a private key');
      return bip32.fromPrivateKey(Uint8Array.from(privateKey), Uint8Array.from(chainCode));
    },
  );
  const withChild = <T>(index: number, use: (node: BIP32Interface) => T): T => {
    if (branch === undefined) throw new TypeError('the keys of deposit addresses are gone');
    if (!Number.isSafeInteger(index) || index < 0 || index >= HARDENED)
      throw new RangeError(`not an index of a deposit address: ${index}`);
    const child = branch.derive(index);
    try {
      return use(child);
    } finally {
      wipe(child);
    }
  };
  return {
    privateKey: (index) =>
      withChild(index, ({ privateKey }) => {
        if (privateKey === undefined) throw new TypeError('a node below a seed has a private key');
        return Buffer.from(privateKey);
      }),
    publicKey: (index) => withChild(index, (node) => Uint8Array.from(node.publicKey)),
    close() {
      if (branch !== undefined) wipe(branch);
      branch = undefined;
    },
  };
}

/** Walks a path step by step, so that every private key on the way can be zeroed. */
function withNode<T>(seed: Uint8Array, path: string, use: (node: BIP32Interface) => T): T {
  let node = bip32.fromSeed(seed);
  try {
    for (const step of path.split('/').slice(1)) {
      const index = Number.parseInt(step, 10);
      const child = step.endsWith("'") ? node.deriveHardened(index) : node.derive(index);
      wipe(node);
      node = child;
    }
    return use(node);
  } finally {
    wipe(node);
  }
}

function wipe(node: BIP32Interface): void {
  node.privateKey?.fill(0);
}
