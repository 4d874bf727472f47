import type { Family } from '@opentill/domain/chains';
import type { TokenContract } from './token-contract.ts';

/**
 * An account's address in its family's canonical form, the only form that is stored, compared and sent in events: EVM
 * `0x` and 40 lower-case hex digits; TRON base58check (`T…`); SUI `0x` and 64 lower-case hex digits. An AddressCodec
 * makes it, or a ChainReader reads it from a chain.
 */
export type Address = string & { readonly __brand: 'Address' };

/** Address rules of a family. Pure. */
export interface AddressCodec {
  readonly family: Family;
  /**
   * Canonical form of an address that a merchant or an operator typed. Undefined for an address that cannot be paid
   * on this family: wrong length or alphabet, wrong checksum, the zero address (docs/api.md section 3).
   */
  parse(text: string): Address | undefined;
  /** Canonical form of a token's identifier. Absent where that is an address. Callers use contractIn instead. */
  parseContract?(text: string): TokenContract | undefined;
  /** Displayed form, also used in API answers (EVM: EIP-55 checksum). */
  format(address: Address): string;
  formatContract(contract: TokenContract): string;
  /**
   * The address of a secp256k1 public key, compressed (33 bytes) or uncompressed (65 bytes, leading 0x04).
   * Throws TypeError for anything else, also for bytes that are not a point of the curve.
   */
  fromPublicKey(publicKey: Uint8Array): Address;
  /** The zero address is the sender of minted tokens and the recipient of burnt ones, never a person. */
  isZero(address: Address): boolean;
}
