import type { Address, AddressCodec } from '@opentill/chain/address-codec';
import type { ChainReader } from '@opentill/chain/chain-reader';
import type { TokenContract, TxHash } from '@opentill/chain/transfer';

/** Part of a transaction. A harness omits from `movements` what its family does not have. */
export type Movement =
  /** Transfer of the first or second configured token. Zero is allowed. */
  | {
      readonly kind: 'transfer';
      readonly token: 0 | 1;
      readonly from?: Address;
      readonly to: Address;
      readonly amount: bigint;
    }
  | { readonly kind: 'fakeToken'; readonly to: Address; readonly amount: bigint }
  /** Invalid logs of a configured token that resemble transfers. */
  | { readonly kind: 'malformed'; readonly to: Address }
  | { readonly kind: 'otherEvent' };

/** Differences from chains that record each transfer separately and can reorganise. */
export interface ChainTraits {
  /** Records only net amounts per transaction, address and token. */
  readonly recordsNetAmounts?: boolean;
  readonly isFinalAtOnce?: boolean;
  /** Maximum amount of a movement of the harness. @default 2^256 - 1 */
  readonly largestAmount?: bigint;
}

/** Devnet of a family with the family's codec and reader. Only `mine` and `reorg` create blocks. */
export interface ChainHarness {
  readonly codec: AddressCodec;
  readonly reader: ChainReader;
  readonly tokens: readonly [TokenContract, TokenContract];
  readonly movements: readonly Movement['kind'][];
  /** Compressed secp256k1 public key and its canonical address. */
  readonly keyPair: { readonly publicKey: Uint8Array; readonly address: string };
  /** Texts that `parse` must reject, and accepted texts with their canonical forms. */
  readonly refusedAddresses: readonly string[];
  readonly acceptedAddresses: readonly (readonly [text: string, canonical: string])[];
  newAddress(): Address;
  /** Sender of the next submitted transaction, different each time. */
  nextSender(): Address;
  /** `fails` makes the transaction revert. May omit movements of addresses other than the sender's. */
  submit(movements: readonly Movement[], options?: { readonly fails?: boolean }): Promise<TxHash>;
  resubmit(txHash: TxHash): Promise<void>;
  /** Mines pending transactions in order of submission. Returns the height. */
  mine(): Promise<number>;
  /** Makes the existing blocks final, if necessary by mining more. Absent if the verified pass may read any block. */
  settle?(): Promise<void>;
  /** Replaces the last `depth` blocks by empty ones. Absent on chains with immediate finality. */
  reorg?(depth: number): Promise<void>;
  stop(): Promise<void>;
}
