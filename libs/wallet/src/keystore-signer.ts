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
import { requireMatchingPublicKeys } from './require-own-public-keys.ts';
import { walletError } from './wallet-error.ts';

export interface KeystoreSigner extends DepositSigner {
  /** The seed's, to which a sealed policy is bound. Public. */
  readonly fingerprint: string;
  /** Zeroes the keys. Later `sign` calls reject with SIGNER_CLOSED. */
  close(): void;
}

export interface KeystoreSignerOptions {
  readonly keystoreFile: string;
  readonly passphrase: string;
  readonly codecs: readonly AddressCodec[];
  /** The signer derives no key of the other kind. */
  readonly kind: NetworkKind;
  /** Other services derive deposit addresses from this file. Checked against the seed if set. */
  readonly publicKeysFile?: string | undefined;
  /** Scrypt's N of the file. Only tests set it. @default 2^17 */
  readonly cost?: number | undefined;
}

const DIGEST_BYTES = 32;
const SIGNATURE_BYTES = 65;
/** Far more addresses than are swept at once. */
const ADMITTED_MAX = 10_000;

/** Takes 0.5 s (scrypt). Zeroes the seed. @throws the errors of openKeystore and requireMatchingPublicKeys */
export async function openKeystoreSigner(options: KeystoreSignerOptions): Promise<KeystoreSigner> {
  const { keystoreFile, passphrase, cost } = options;
  const { secret, keyId } = await openKeystore(keystoreFile, 'seed', passphrase, cost);
  try {
    if (seedFingerprint(secret) !== keyId) {
      const path = options.keystoreFile;
      throw walletError(
        'KEYSTORE_DAMAGED',
        `${path} holds another seed than its keyId says. Restore it from a copy`,
        { path },
      );
    }
    if (options.publicKeysFile !== undefined)
      await requireMatchingPublicKeys(options.publicKeysFile, secret, options.codecs);
    return createSigner(secret, keyId, options);
  } finally {
    secret.fill(0);
  }
}

/** Keys are in the closure: code that prints, clones or serialises the signer cannot reach them. */
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
    // Async: every error is a rejection, as with a remote signer.
    sign: async (address, digest) => {
      if (closed) throw walletError('SIGNER_CLOSED', 'the signer is closed');
      const key = keys.get(address);
      if (key !== undefined) return signDigest(digest, key);
      const child = deposits.keyOf(address);
      if (child === undefined)
        throw walletError('KEY_UNKNOWN', `this signer has no key of ${address}`, { address });
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

/** Derives keys on demand, and only for addresses that `admit` accepted. */
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

/** libsecp256k1 uses the nonce of RFC 6979 and the lower s, so a digest always has the same signature. */
function signDigest(digest: Uint8Array, key: Uint8Array): Uint8Array {
  if (digest.length !== DIGEST_BYTES) throw new RangeError(`a digest has 32 bytes, not ${digest.length}`);
  const { signature, recoveryId } = signRecoverable(digest, key);
  // r above the curve's order: probability below 2^-127. Chains cannot encode it.
  if (recoveryId > 1) throw new RangeError('the signature of this digest has no encoding on a chain');
  const signed = new Uint8Array(SIGNATURE_BYTES);
  signed.set(signature);
  signed[SIGNATURE_BYTES - 1] = recoveryId;
  return signed;
}
