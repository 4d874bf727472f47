import { GatewayError } from '@opentill/domain/gateway-error';

/** Why the wallet could not do what it was asked. None of them passes by itself; none names a secret. */
export type WalletErrorCode =
  /** Not the words of a BIP-39 mnemonic, or their checksum is wrong. */
  | 'MNEMONIC_INVALID'
  /** Shorter than a passphrase may be. */
  | 'PASSPHRASE_TOO_SHORT'
  /** The file is there already; keystores are never overwritten. */
  | 'FILE_EXISTS'
  /** The file is not there or may not be read. */
  | 'FILE_UNREADABLE'
  /** The file is not a keystore, or its bytes changed since it was written. Restore it from a copy. */
  | 'KEYSTORE_DAMAGED'
  /** The file is whole, but this passphrase does not open it. */
  | 'KEYSTORE_WRONG_PASSPHRASE'
  /** The keystore holds something else than what was asked for. */
  | 'KEYSTORE_WRONG_PURPOSE'
  /** Readable or writable by others than its owner. */
  | 'FILE_TOO_OPEN'
  /** The public key file is not what `opentill` writes; the message names every mistake. */
  | 'PUBLIC_KEYS_INVALID'
  /** The public key file is of another seed than the keystore, or holds a key or wallet that is not of it. */
  | 'PUBLIC_KEYS_OF_ANOTHER_SEED'
  /** The public key file is of a version without the keys of test networks: write it again. */
  | 'PUBLIC_KEYS_OUTDATED'
  /** The family has no public keys or no address codec here. */
  | 'FAMILY_UNKNOWN'
  /** The signer holds no key of this address. */
  | 'KEY_UNKNOWN'
  /** The signer was closed; its keys are gone. */
  | 'SIGNER_CLOSED'
  /** The policy breaks its schema, contradicts itself or the network file; the message names every mistake. */
  | 'POLICY_INVALID'
  /** The policy is sealed, but for the wallet of another seed. */
  | 'POLICY_OF_ANOTHER_SEED'
  /** What is to be signed or read is not the canonical text of an approval. */
  | 'APPROVAL_INVALID'
  /** A secret stands in the environment, where other processes can read it; the message names the variables. */
  | 'SECRET_IN_ENVIRONMENT'
  /** The index has no key by BIP-32's rules, which no index is likely ever to be; skip it. */
  | 'CHILD_INVALID';

/** Makes a wallet's error. `context` and `message` must not hold secrets. */
export function walletError(
  code: WalletErrorCode,
  message: string,
  context: Readonly<Record<string, unknown>> = {},
  cause?: unknown,
): GatewayError<WalletErrorCode> {
  return new GatewayError(code, message, { retryable: false, context, cause });
}
