import type { BaseUnits } from '@opentill/domain/money';
import type { Address } from './address-codec.ts';
import type { BlockHash } from './block.ts';
import type { TokenContract, TxHash } from './transfer.ts';

export interface OwnTransaction {
  readonly txHash: TxHash;
  /** Signs and pays the transaction. */
  readonly from: Address;
  /** Null: the native coin. */
  readonly contract: TokenContract | null;
  /** Never the token's contract. */
  readonly to: Address;
  /** Zero for a transaction that only uses a nonce. */
  readonly amountBaseUnits: BaseUnits;
}

export interface TransactionFate {
  readonly txHash: TxHash;
  readonly blockHeight: number;
  readonly blockHash: BlockHash;
  readonly succeeded: boolean;
  /**
   * Amount that moved from the wallet to the intended receiver. Tokens: only the receipt's Transfer logs count. A
   * token that returns false without a log delivers 0; one that takes a fee delivers less. Native coin: the intended
   * amount if the transaction succeeded.
   */
  readonly deliveredBaseUnits: bigint;
  /**
   * Fee paid for the transaction, also for a failed one, in base units of the native coin. Negative where storage
   * rebates exceed the execution cost (SUI).
   */
  readonly feeBaseUnits: bigint;
}

/** Outcomes of own transactions. One that is in neither list has no receipt. */
export interface FatesRead {
  readonly fates: readonly TransactionFate[];
  /**
   * Transactions to ask for again: two sources differ, one does not know it, or an answer was not its receipt. A
   * transaction that another wallet than `from` sent is listed permanently: it is not the gateway's.
   */
  readonly disputed: readonly TxHash[];
}
