import type { Family } from '@opentill/domain/chains';
import type { TokenContract } from './token-contract.ts';

/**
 * An account's address in its family's canonical form, the only form that is stored, compared and sent in events:
 * EVM `0x` and 40 lower-case hex digits; TRON base58check (`T…`); SUI `0x` and 64 lower-case hex digits.
 * Made by an AddressCodec, or read from a chain by a ChainReader.
 */
export type Address = string & { readonly __brand: 'Address' };

/** What a family knows of addresses. Pure. */
export interface AddressCodec {
  readonly family: Family;
  /**
   * The canonical form of what a merchant or an operator typed, or undefined when it is not an address that may be
   * paid on this family: wrong length or alphabet, a wrong checksum, the zero address (docs/api.md section 3).
   */
  parse(text: string): Address | undefined;
  /**
   * The canonical form of what names a token, or undefined. Absent where a token is named by its contract's address. Read it by
   * contractIn.
   */
  parseContract?(text: string): TokenContract | undefined;
  /** The form shown to people and put into API answers (EVM: EIP-55 checksum). */
  format(address: Address): string;
  /** The form of a token's contract, or coin type, shown to people and put into API answers. */
  formatContract(contract: TokenContract): string;
  /**
   * The address of a secp256k1 public key, compressed (33 bytes) or uncompressed (65 bytes, leading 0x04).
   * Throws TypeError for anything else, also for bytes that are not a point of the curve.
   */
  fromPublicKey(publicKey: Uint8Array): Address;
  /** Whether it is the zero address: the sender of minted tokens, the recipient of burnt ones, never a person. */
  isZero(address: Address): boolean;
}
