import type { BlockHash, BlockHeader } from '@opentill/chain/block';
import type { OwnTransaction, TransactionFate } from '@opentill/chain/own-transaction';
import type { TxHash } from '@opentill/chain/transfer';

/**
 * What is recorded of a transaction that the gateway signed. MINED: in a stored block, by one source's word at least.
 * VERIFIED: in a block at or below the verified cursor, by the word of two. ORPHANED: its block left the chain, or the
 * verified chain has no such transaction; it may be mined again. Without a record it was in no block yet.
 */
export interface RecordedFate extends Omit<TransactionFate, 'txHash'> {
  readonly state: 'MINED' | 'VERIFIED' | 'ORPHANED';
}

/** A transaction of the gateway's own that the chain has to be asked about. */
export interface OpenTransaction extends OwnTransaction {
  readonly signedAtSeconds: number;
  readonly fate: RecordedFate | undefined;
  /** Another's transaction used its nonce, as the signer found: it is not expected in a block any more. */
  readonly isTaken?: boolean;
}

/** What a commit writes of an own transaction. */
export type FateChange =
  | {
      readonly state: 'MINED' | 'VERIFIED';
      readonly fate: TransactionFate;
      /** Time of its block in whole seconds since 1970. */
      readonly blockTimeSeconds: number;
    }
  | { readonly state: 'ORPHANED'; readonly txHash: TxHash };

/** What two sources say of a transaction; 'none' where both have no receipt of it. */
export type VerifiedAnswer = TransactionFate | 'none' | 'disputed';

/** What the chain was asked about own transactions for one commit. */
export interface FateAnswers {
  /** By one source's word; what is not in it was not found, or not asked for: it makes no difference. */
  readonly seen: ReadonlyMap<TxHash, TransactionFate>;
  /** By the word of two, of those they were asked for. */
  readonly verified: ReadonlyMap<TxHash, VerifiedAnswer>;
  /** Blocks below all that is stored, which two sources named as the chain's. */
  readonly olderBlocks: ReadonlyMap<BlockHash, Pick<BlockHeader, 'height' | 'hash' | 'timeSeconds'>>;
}

/** What a scrape and the alarms want to know of own transactions. */
export interface FateFigures {
  /** Own transactions of which the last word is not said. */
  readonly open: number;
  /** When the oldest of those that are in no block was signed, in seconds since 1970. */
  readonly oldestUnminedSeconds: number | undefined;
  /** Since when the one waits that sources differ on for the longest time. */
  readonly waitingSinceMs: number | undefined;
}
