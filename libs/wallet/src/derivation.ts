import type { Family, NetworkKind } from '@opentill/domain/chains';
import type { BIP32Interface } from 'bip32';
import { BIP32Factory } from 'bip32';
import * as secp256k1 from 'tiny-secp256k1';

const bip32 = BIP32Factory(secp256k1);
const HARDENED = 0x8000_0000;

interface FamilyPaths {
  readonly deposits: string;
  readonly hotWallet: string;
}

/** The hardened accounts of each kind of network. Those of main networks are published: they never change. */
const ACCOUNTS = { main: { deposits: 0, hotWallet: 1 }, test: { deposits: 2, hotWallet: 3 } } as const;
/** BIP-44; SUI uses purpose 54 for secp256k1. */
const COINS: Readonly<Record<Family, string>> = { EVM: "m/44'/60'", TRON: "m/44'/195'", SUI: "m/54'/784'" };

/**
 * Derivation paths by kind of network and family. Deposits: an account that is published as an extended public key; an
 * address is at `/0/<index>` below it. The hot wallet has a hardened account of its own: one deposit key and the extended
 * public key give every key of their account, and of no other.
 *
 * Test networks have other accounts than main networks. A TRON transaction names no chain: with shared keys, what is
 * signed for a test network would be valid on the main network. EVM and SUI transactions name their chain; their accounts
 * differ as well, so that no rule of a main network rests on what a node or a file says of a test network.
 */
export const DERIVATION_PATHS: Readonly<Record<NetworkKind, Readonly<Record<Family, FamilyPaths>>>> = {
  main: { EVM: pathsOf('main', 'EVM'), TRON: pathsOf('main', 'TRON'), SUI: pathsOf('main', 'SUI') },
  test: { EVM: pathsOf('test', 'EVM'), TRON: pathsOf('test', 'TRON'), SUI: pathsOf('test', 'SUI') },
};

function pathsOf(kind: NetworkKind, family: Family): FamilyPaths {
  const { deposits, hotWallet } = ACCOUNTS[kind];
  return { deposits: `${COINS[family]}/${deposits}'`, hotWallet: `${COINS[family]}/${hotWallet}'/0/0` };
}

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
export function depositXpub(seed: Uint8Array, family: Family, kind: NetworkKind): string {
  return withNode(seed, DERIVATION_PATHS[kind][family].deposits, (node) => node.neutered().toBase58());
}

/** The compressed public key of a family's hot wallet. */
export function hotWalletPublicKey(seed: Uint8Array, family: Family, kind: NetworkKind): Uint8Array {
  const { hotWallet } = DERIVATION_PATHS[kind][family];
  return withNode(seed, hotWallet, (node) => Uint8Array.from(node.publicKey));
}

/** The private key of a family's hot wallet, 32 bytes that belong to the caller alone, who zeroes them. */
export function hotWalletPrivateKey(seed: Uint8Array, family: Family, kind: NetworkKind): Buffer {
  return withNode(seed, DERIVATION_PATHS[kind][family].hotWallet, ({ privateKey }) => {
    if (privateKey === undefined) throw new TypeError('a node below a seed has a private key');
    return Buffer.from(privateKey);
  });
}

/** The node below an account's extended public key that the deposit addresses are children of. Throws TypeError. */
export function depositBranch(xpub: string, kind: NetworkKind): BIP32Interface {
  const account = bip32.fromBase58(xpub);
  const { deposits } = ACCOUNTS[kind];
  if (!account.isNeutered()) throw new TypeError('an extended private key stands where a public one belongs');
  if (account.depth !== 3 || account.index !== HARDENED + deposits)
    throw new TypeError(`not the extended public key of account ${deposits}`);
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
export function openDepositKeys(seed: Uint8Array, family: Family, kind: NetworkKind): DepositKeys {
  let branch: BIP32Interface | undefined = withNode(
    seed,
    `${DERIVATION_PATHS[kind][family].deposits}/0`,
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
