import type { Address, AddressCodec } from '@opentill/chain/address-codec';
import type { SignerBackend } from '@opentill/chain/signer-backend';
import { signRecoverable } from 'tiny-secp256k1';
import { hotWalletPrivateKey, hotWalletPublicKey, seedFingerprint } from './derivation.ts';
import { openKeystore } from './keystore.ts';
import { requireOwnPublicKeys } from './require-own-public-keys.ts';
import { walletError } from './wallet-error.ts';

/** The first backend of the signer: keys of the local keystore, in the memory of this process until `close`. */
export interface KeystoreSigner extends SignerBackend {
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
  /** Held against the seed, where it is given: what deposit addresses are derived from elsewhere. */
  readonly publicKeysFile?: string | undefined;
}

const DIGEST_BYTES = 32;
const SIGNATURE_BYTES = 65;

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
    return createSigner(secret, keyId, options.codecs);
  } finally {
    secret.fill(0);
  }
}

/** Only the closure knows the keys: nothing that prints, clones or serialises the signer can reach them. */
function createSigner(
  seed: Uint8Array,
  fingerprint: string,
  codecs: readonly AddressCodec[],
): KeystoreSigner {
  const keys = new Map<Address, Buffer>(
    codecs.map((codec) => [
      codec.fromPublicKey(hotWalletPublicKey(seed, codec.family)),
      hotWalletPrivateKey(seed, codec.family),
    ]),
  );
  const addresses = Object.freeze([...keys.keys()]);
  let closed = false;
  return Object.freeze<KeystoreSigner>({
    fingerprint,
    addresses,
    // Async, so that whatever goes wrong is a rejection, as with a backend across a network.
    sign: async (address, digest) => {
      if (closed) throw walletError('SIGNER_CLOSED', 'the signer is closed');
      const key = keys.get(address);
      if (key === undefined)
        throw walletError('KEY_UNKNOWN', `no key of ${address} is held here`, { address });
      return signDigest(digest, key);
    },
    close() {
      closed = true;
      for (const key of keys.values()) key.fill(0);
      keys.clear();
    },
  });
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
