import type { BaseUnits } from '@opentill/domain/money';
import type { Address } from './address-codec.ts';
import type { BlockHash } from './block.ts';
import type { TokenContract, TxHash } from './transfer.ts';

/** A transaction that the gateway signed, as far as the chain is asked what became of it: its hash and its intent. */
export interface OwnTransaction {
  readonly txHash: TxHash;
  /** The wallet that signed and pays it. */
  readonly from: Address;
  /** Null: the native coin. */
  readonly contract: TokenContract | null;
  /** Who is meant to receive the amount; never the token's contract. */
  readonly to: Address;
  /** Zero for a transaction that is only to use a nonce up. */
  readonly amountBaseUnits: BaseUnits;
}

/** What the receipt of an own transaction says. */
export interface TransactionFate {
  readonly txHash: TxHash;
  readonly blockHeight: number;
  readonly blockHash: BlockHash;
  readonly succeeded: boolean;
  /**
   * What moved from the wallet to the intended receiver: of a token by the receipt's Transfer logs alone, so that a
   * token which answers false and logs nothing delivers nothing, and one that takes a fee what arrived; of the native
   * coin the intended amount, if the transaction succeeded.
   */
  readonly deliveredBaseUnits: bigint;
  /**
   * What was paid for the transaction, also for a failed one, in base units of the native coin. Below zero where more was given back
   * for what it removed than its work cost (SUI: storage rebates).
   */
  readonly feeBaseUnits: bigint;
}

/** What became of own transactions; those asked for that are in neither list have no receipt. */
export interface FatesRead {
  readonly fates: readonly TransactionFate[];
  /**
   * Of which two sources say different things, or one knows nothing, or an answer was no receipt of it: to be asked again. And
   * those that another wallet than `from` sent, for ever: they are none of ours, whoever says so.
   */
  readonly disputed: readonly TxHash[];
}
