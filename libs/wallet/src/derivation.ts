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

/** Hardened accounts. Never change them: addresses of the main accounts are in use. */
const ACCOUNTS = { main: { deposits: 0, hotWallet: 1 }, test: { deposits: 2, hotWallet: 3 } } as const;
/** BIP-44; SUI uses purpose 54 for secp256k1. */
const COINS: Readonly<Record<Family, string>> = { EVM: "m/44'/60'", TRON: "m/44'/195'", SUI: "m/54'/784'" };

/**
 * The deposit account is published as an extended public key; deposit address n is at `/0/n` below it. The hot wallet
 * has its own hardened account: one leaked deposit key and the extended public key together give every key of the
 * deposit account. Test networks use other accounts. A TRON transaction names no chain: with shared keys, a transaction
 * signed for a test network would be valid on the main network. EVM and SUI transactions name their chain; their
 * accounts differ too, so that safety does not depend on a node's or a file's statement about the network.
 */
export const DERIVATION_PATHS: Readonly<Record<NetworkKind, Readonly<Record<Family, FamilyPaths>>>> = {
  main: { EVM: pathsOf('main', 'EVM'), TRON: pathsOf('main', 'TRON'), SUI: pathsOf('main', 'SUI') },
  test: { EVM: pathsOf('test', 'EVM'), TRON: pathsOf('test', 'TRON'), SUI: pathsOf('test', 'SUI') },
};

function pathsOf(kind: NetworkKind, family: Family): FamilyPaths {
  const { deposits, hotWallet } = ACCOUNTS[kind];
  return { deposits: `${COINS[family]}/${deposits}'`, hotWallet: `${COINS[family]}/${hotWallet}'/0/0` };
}

/** BIP-32, of the master key: 8 hex digits, public. */
export function seedFingerprint(seed: Uint8Array): string {
  const master = bip32.fromSeed(seed);
  try {
    return Buffer.from(master.fingerprint).toString('hex');
  } finally {
    wipe(master);
  }
}

/** Base58. Not secret, but confidential (see DERIVATION_PATHS). */
export function depositXpub(seed: Uint8Array, family: Family, kind: NetworkKind): string {
  return withNode(seed, DERIVATION_PATHS[kind][family].deposits, (node) => node.neutered().toBase58());
}

export function hotWalletPublicKey(seed: Uint8Array, family: Family, kind: NetworkKind): Uint8Array {
  const { hotWallet } = DERIVATION_PATHS[kind][family];
  return withNode(seed, hotWallet, (node) => Uint8Array.from(node.publicKey));
}

/** 32 bytes. The caller owns the buffer and zeroes it. */
export function hotWalletPrivateKey(seed: Uint8Array, family: Family, kind: NetworkKind): Buffer {
  return withNode(seed, DERIVATION_PATHS[kind][family].hotWallet, ({ privateKey }) => {
    if (privateKey === undefined) throw new TypeError('a node below a seed has a private key');
    return Buffer.from(privateKey);
  });
}

/** Parent of the deposit addresses. Throws TypeError. */
export function depositBranch(xpub: string, kind: NetworkKind): BIP32Interface {
  const account = bip32.fromBase58(xpub);
  const { deposits } = ACCOUNTS[kind];
  if (!account.isNeutered())
    throw new TypeError('an extended private key is in the place of the extended public key');
  if (account.depth !== 3 || account.index !== HARDENED + deposits)
    throw new TypeError(`not the extended public key of account ${deposits}`);
  return account.derive(0);
}

/** Holds the parent key of a family's deposit addresses in memory until `close`. */
export interface DepositKeys {
  /** 32 bytes; the caller zeroes it. Throws RangeError. */
  privateKey(index: number): Buffer;
  publicKey(index: number): Uint8Array;
  /** Zeroes the parent key. Later calls throw TypeError. */
  close(): void;
}

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
    if (branch === undefined) throw new TypeError('the deposit keys are closed');
    if (!Number.isSafeInteger(index) || index < 0 || index >= HARDENED)
      throw new RangeError(`deposit address index must be an integer from 0 to 2^31 - 1, not ${index}`);
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

/** Zeroes each intermediate private key. */
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
