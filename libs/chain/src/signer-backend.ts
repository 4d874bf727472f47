import type { Family } from '@opentill/domain/chains';
import type { Address } from './address-codec.ts';

/** Holds the private keys of hot wallets. Makes no decision: the caller first checks what a digest means. */
export interface SignerBackend {
  readonly addresses: readonly Address[];
  /**
   * Signs a 32-byte digest with the key of `address` (ECDSA over secp256k1). Returns 65 bytes: r, s (the lower of the
   * two valid ones) and the recovery bit, 0 or 1. Its errors name no key.
   */
  sign(address: Address, digest: Uint8Array): Promise<Uint8Array>;
  holds?(address: Address): boolean;
}

export function canSignFor(backend: SignerBackend, address: Address): boolean {
  return backend.addresses.includes(address) || backend.holds?.(address) === true;
}

/** A backend that also signs for deposit addresses, which are too many to list in advance. */
export interface DepositSigner extends SignerBackend {
  holds(address: Address): boolean;
  /** Compares `address` with the backend's own derivation. Throws RangeError for an impossible index. */
  isDeposit(family: Family, index: number, address: Address): boolean;
  /**
   * Like `isDeposit`. If it matches, `sign` accepts the address from now on, until many others were admitted. The
   * check is the backend's own, because the caller's data may be forged.
   */
  admitDeposit(family: Family, index: number, address: Address): boolean;
}
