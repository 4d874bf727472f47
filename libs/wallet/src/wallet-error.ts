import { GatewayError } from '@opentill/domain/gateway-error';

/** None is transient; no message contains a secret. */
export type WalletErrorCode =
  | 'MNEMONIC_INVALID'
  | 'PASSPHRASE_TOO_SHORT'
  /** Keystores are never overwritten. */
  | 'FILE_EXISTS'
  | 'FILE_UNREADABLE'
  /** Not a keystore, or its bytes changed. Restore it from a copy. */
  | 'KEYSTORE_DAMAGED'
  | 'KEYSTORE_WRONG_PASSPHRASE'
  | 'KEYSTORE_WRONG_PURPOSE'
  /** Users other than the owner can read or write it. */
  | 'FILE_TOO_OPEN'
  | 'PUBLIC_KEYS_INVALID'
  /** Belongs to another seed than the keystore, or contains a foreign key or wallet. */
  | 'PUBLIC_KEYS_OF_ANOTHER_SEED'
  /** Has no keys of test networks. Run `opentill keys renew-public`. */
  | 'PUBLIC_KEYS_OUTDATED'
  | 'FAMILY_UNKNOWN'
  | 'KEY_UNKNOWN'
  | 'SIGNER_CLOSED'
  /** Violates its schema, or contradicts itself or the network file. The message lists every mistake. */
  | 'POLICY_INVALID'
  | 'POLICY_OF_ANOTHER_SEED'
  | 'APPROVAL_INVALID'
  | 'SECRET_IN_ENVIRONMENT'
  /** BIP-32 gives this index no key (probability below 2^-127). Skip it. */
  | 'CHILD_INVALID';

/** `context` and `message` must not contain secrets. */
export function walletError(
  code: WalletErrorCode,
  message: string,
  context: Readonly<Record<string, unknown>> = {},
  cause?: unknown,
): GatewayError<WalletErrorCode> {
  return new GatewayError(code, message, { retryable: false, context, cause });
}
