import type { Address, AddressCodec } from '@opentill/chain/address-codec';
import type { DepositSigner } from '@opentill/chain/signer-backend';
import type { Family, NetworkKind } from '@opentill/domain/chains';
import { signRecoverable } from 'tiny-secp256k1';
import { createChildPublicKeys } from './child-public-key.ts';
import {
  depositBranch,
  depositXpub,
  hotWalletPrivateKey,
  hotWalletPublicKey,
  openDepositKeys,
  seedFingerprint,
} from './derivation.ts';
import { openKeystore } from './keystore.ts';
import { requireOwnPublicKeys } from './require-own-public-keys.ts';
import { walletError } from './wallet-error.ts';

/** The first backend of the signer: keys of the local keystore, in the memory of this process until `close`. */
export interface KeystoreSigner extends DepositSigner {
  /** Fingerprint of the seed, which a sealed policy is bound to. Public. */
  readonly fingerprint: string;
  /** Zeroes the keys. From then on `sign` rejects with SIGNER_CLOSED. */
  close(): void;
}

export interface KeystoreSignerOptions {
  readonly keystoreFile: string;
  readonly passphrase: string;
  /** The families whose hot wallets it signs for. */
  readonly codecs: readonly AddressCodec[];
  /** The kind of network that it signs for: it derives no key of the other kind. */
  readonly kind: NetworkKind;
  /** Held against the seed, where it is given: what deposit addresses are derived from elsewhere. */
  readonly publicKeysFile?: string | undefined;
}

const DIGEST_BYTES = 32;
const SIGNATURE_BYTES = 65;
/** Deposit addresses that are remembered to be ours: many more than are swept at once. */
const ADMITTED_MAX = 10_000;

/**
 * Opens the keystore, derives the hot wallets' keys and zeroes the seed. Takes half a second (scrypt). Throws
 * FILE_UNREADABLE, FILE_TOO_OPEN, KEYSTORE_DAMAGED, KEYSTORE_WRONG_PURPOSE, KEYSTORE_WRONG_PASSPHRASE, and what
 * requireOwnPublicKeys throws.
 */
export async function openKeystoreSigner(options: KeystoreSignerOptions): Promise<KeystoreSigner> {
  const { secret, keyId } = await openKeystore(options.keystoreFile, 'seed', options.passphrase);
  try {
    if (seedFingerprint(secret) !== keyId) {
      const path = options.keystoreFile;
      throw walletError('KEYSTORE_DAMAGED', `${path} names another seed than it holds`, { path });
    }
    if (options.publicKeysFile !== undefined)
      await requireOwnPublicKeys(options.publicKeysFile, secret, options.codecs);
    return createSigner(secret, keyId, options);
  } finally {
    secret.fill(0);
  }
}

/** Only the closure knows the keys: nothing that prints, clones or serialises the signer can reach them. */
function createSigner(
  seed: Uint8Array,
  fingerprint: string,
  { codecs, kind }: Pick<KeystoreSignerOptions, 'codecs' | 'kind'>,
): KeystoreSigner {
  const keys = new Map<Address, Buffer>(
    codecs.map((codec) => [
      codec.fromPublicKey(hotWalletPublicKey(seed, codec.family, kind)),
      hotWalletPrivateKey(seed, codec.family, kind),
    ]),
  );
  const deposits = openDeposits(seed, codecs, kind);
  const addresses = Object.freeze([...keys.keys()]);
  let closed = false;
  return Object.freeze<KeystoreSigner>({
    fingerprint,
    addresses,
    holds: (address) => keys.has(address) || deposits.has(address),
    isDeposit(family, index, address) {
      if (closed) throw walletError('SIGNER_CLOSED', 'the signer is closed');
      return deposits.derives(family, index, address);
    },
    admitDeposit(family, index, address) {
      if (closed) throw walletError('SIGNER_CLOSED', 'the signer is closed');
      return deposits.admit(family, index, address);
    },
    // Async, so that whatever goes wrong is a rejection, as with a backend across a network.
    sign: async (address, digest) => {
      if (closed) throw walletError('SIGNER_CLOSED', 'the signer is closed');
      const key = keys.get(address);
      if (key !== undefined) return signDigest(digest, key);
      const child = deposits.keyOf(address);
      if (child === undefined)
        throw walletError('KEY_UNKNOWN', `no key of ${address} is held here`, { address });
      try {
        return signDigest(digest, child);
      } finally {
        child.fill(0);
      }
    },
    close() {
      closed = true;
      for (const key of keys.values()) key.fill(0);
      keys.clear();
      deposits.close();
    },
  });
}

/** Deposit addresses: their keys are made when they are needed, and only of addresses that were derived here before. */
function openDeposits(seed: Uint8Array, codecs: readonly AddressCodec[], kind: NetworkKind) {
  const families = new Map(
    codecs.map(
      (codec) =>
        [
          codec.family,
          {
            codec,
            keys: openDepositKeys(seed, codec.family, kind),
            children: createChildPublicKeys(depositBranch(depositXpub(seed, codec.family, kind), kind)),
          },
        ] as const,
    ),
  );
  const admitted = new Map<Address, { readonly family: Family; readonly index: number }>();
  return {
    derives(family: Family, index: number, address: Address): boolean {
      const of = families.get(family);
      return of !== undefined && of.codec.fromPublicKey(of.children.uncompressed(index)) === address;
    },
    admit(family: Family, index: number, address: Address): boolean {
      const of = families.get(family);
      if (of === undefined || of.codec.fromPublicKey(of.keys.publicKey(index)) !== address) return false;
      admitted.delete(address);
      admitted.set(address, { family, index });
      const [oldest] = admitted.keys();
      if (admitted.size > ADMITTED_MAX && oldest !== undefined) admitted.delete(oldest);
      return true;
    },
    has: (address: Address) => admitted.has(address),
    keyOf(address: Address): Buffer | undefined {
      const known = admitted.get(address);
      return known && families.get(known.family)?.keys.privateKey(known.index);
    },
    close() {
      for (const { keys } of families.values()) keys.close();
      admitted.clear();
    },
  };
}

/** libsecp256k1: the nonce is that of RFC 6979 and s the lower one, so a digest has one signature for ever. */
function signDigest(digest: Uint8Array, key: Uint8Array): Uint8Array {
  if (digest.length !== DIGEST_BYTES) throw new RangeError(`a digest has 32 bytes, not ${digest.length}`);
  const { signature, recoveryId } = signRecoverable(digest, key);
  // r above the curve's order, less likely than 2^-127: chains have no way to write it.
  if (recoveryId > 1) throw new RangeError('the signature of this digest cannot be written');
  const signed = new Uint8Array(SIGNATURE_BYTES);
  signed.set(signature);
  signed[SIGNATURE_BYTES - 1] = recoveryId;
  return signed;
}
