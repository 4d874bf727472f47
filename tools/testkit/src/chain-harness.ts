import type { Address, AddressCodec } from '@opentill/chain/address-codec';
import type { ChainReader } from '@opentill/chain/chain-reader';
import type { TokenContract, TxHash } from '@opentill/chain/transfer';

/** One thing that a transaction does. What a family does not have, its harness leaves out of `movements`. */
export type Movement =
  /** A transfer of the first or second configured token. Zero is allowed, as it is on chains. */
  | {
      readonly kind: 'transfer';
      readonly token: 0 | 1;
      readonly from?: Address;
      readonly to: Address;
      readonly amount: bigint;
    }
  /** The same event from a contract that is not configured. */
  | { readonly kind: 'fakeToken'; readonly to: Address; readonly amount: bigint }
  /** A configured token's contract says something that is not a transfer, though it looks like one. */
  | { readonly kind: 'malformed'; readonly to: Address }
  /** Another event of a configured token. */
  | { readonly kind: 'otherEvent' };

/** How a chain differs from those that record each movement by itself, and may take blocks back. */
export interface ChainTraits {
  /** A transaction is recorded by what each address has got of each token by it as a whole, and gave. */
  readonly recordsNetAmounts?: boolean;
  /** No block is ever replaced by another one. */
  readonly isFinalAtOnce?: boolean;
  /** The most that one movement of the harness moves. @default 2^256 - 1 */
  readonly largestAmount?: bigint;
}

/** A devnet of one family, and the family's parts reading it. Blocks are made only by `mine` and `reorg`. */
export interface ChainHarness {
  readonly codec: AddressCodec;
  readonly reader: ChainReader;
  readonly tokens: readonly [TokenContract, TokenContract];
  readonly movements: readonly Movement['kind'][];
  /** A secp256k1 public key, compressed, and the canonical address it gives. */
  readonly keyPair: { readonly publicKey: Uint8Array; readonly address: string };
  /** Texts that `parse` must refuse, and such that it must take, with their canonical forms. */
  readonly refusedAddresses: readonly string[];
  readonly acceptedAddresses: readonly (readonly [text: string, canonical: string])[];
  /** An address that was never used. */
  newAddress(): Address;
  /** Who signs what is submitted next: another one each time. */
  nextSender(): Address;
  /**
   * Sends one transaction with all these movements; it waits for `mine`. With `fails` it is mined and undone. Where nobody
   * moves what is another's, movements of others than its sender are left out.
   */
  submit(movements: readonly Movement[], options?: { readonly fails?: boolean }): Promise<TxHash>;
  /** Sends a transaction of before once more, the same bytes. */
  resubmit(txHash: TxHash): Promise<void>;
  /** Makes a block of all that waits, in order of sending; gives its height. */
  mine(): Promise<number>;
  /**
   * Has the blocks so far called final, by more blocks where the chain needs them. Absent where the verified pass reads any
   * block: elsewhere only final ones.
   */
  settle?(): Promise<void>;
  /**
   * Replaces the last `depth` blocks by as many empty ones; what they held is gone until sent again. Absent where blocks are
   * final at once.
   */
  reorg?(depth: number): Promise<void>;
  stop(): Promise<void>;
}
