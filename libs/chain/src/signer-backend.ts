import type { Family } from '@opentill/domain/chains';
import type { Address } from './address-codec.ts';

/**
 * Holds the private keys of hot wallets and signs digests with them. It decides nothing: its caller checks before what a
 * digest means and whether it may be signed. The only implementation reads a local keystore.
 */
export interface SignerBackend {
  /** Whose keys it holds, in canonical form. */
  readonly addresses: readonly Address[];
  /**
   * Signs a 32-byte digest with the key of `address` (ECDSA over secp256k1). Gives 65 bytes: r, s (the lower of the two
   * that are valid) and the recovery bit, 0 or 1. Its errors name no key.
   */
  sign(address: Address, digest: Uint8Array): Promise<Uint8Array>;
  /** Whether `sign` would sign for it. Absent where that is said by `addresses`. */
  holds?(address: Address): boolean;
}

/** Whether a backend signs for this address. */
export function canSignFor(backend: SignerBackend, address: Address): boolean {
  return backend.addresses.includes(address) || backend.holds?.(address) === true;
}

/** A backend that also signs for deposit addresses, which are too many to be named beforehand. */
export interface DepositSigner extends SignerBackend {
  holds(address: Address): boolean;
  /** Whether deposit address `index` of the family is this one, by the backend's own derivation. Throws RangeError. */
  isDeposit(family: Family, index: number, address: Address): boolean;
  /**
   * Whether deposit address `index` of the family is this one, by the backend's own derivation: whoever asks may have been
   * told anything. From then on `sign` signs for it, until many others were asked for.
   */
  admitDeposit(family: Family, index: number, address: Address): boolean;
}
