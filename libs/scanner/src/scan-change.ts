import type { RangeProof } from '@opentill/chain/epoch-committee';
import type { Transfer } from '@opentill/chain/transfer';
import type { ChainStep } from './chain-state.ts';
import type { LandedTransaction } from './landed-transaction.ts';
import type { ForeignTransaction } from './foreign-transaction.ts';
import type { FateChange } from './own-fate.ts';

/** A proven transfer to one of the gateway's deposit addresses or hot wallets, as it is recorded. */
export interface MatchedTransfer extends Transfer {
  readonly symbol: string;
  /** Time of its block in whole seconds since 1970. */
  readonly blockTimeSeconds: number;
}

/** A recorded transfer that is not orphaned, as far as a pass has to find it again. */
export interface LiveTransfer extends Pick<
  MatchedTransfer,
  'txHash' | 'position' | 'blockHash' | 'contract' | 'to' | 'amountBaseUnits'
> {
  /** Decimal text of the row's id. */
  readonly transferId: string;
}

/** A request of an operator to read blocks once more. */
export interface RescanRequest {
  readonly requestId: string;
  /** First height that is still to be read. */
  readonly fromHeight: number;
  readonly toHeight: number;
}

/** How far a rescan is with a commit. */
export interface RescanProgress {
  readonly requestId: string;
  /** First height that is still to be read. */
  readonly nextHeight: number;
  readonly isDone: boolean;
}

/** All that one commit writes. */
export interface ScanChange {
  readonly step: ChainStep;
  /** New transfers, or known ones in another block or state; in the order of the chain. */
  readonly matched: readonly MatchedTransfer[];
  /** What the matched ones are from now on; DETECTED takes nothing from one that is VERIFIED in the same block. */
  readonly matchedState: 'DETECTED' | 'VERIFIED';
  /** Transfers that the chain does not have any more. None of them is among the matched ones. */
  readonly orphanedIds: readonly string[];
  /** The rescan that this commit is a part of, if any. */
  readonly rescan?: RescanProgress;
  /** What became of own transactions, in the chain as it is after the step; see FateFollowing. */
  readonly fates?: readonly FateChange[] | undefined;
  /** What hot wallets did in verified blocks that the gateway did not sign. */
  readonly foreign?: readonly ForeignTransaction[];
  /** Attempts of the gateway that verified blocks hold; see findLanded. */
  readonly landed?: readonly LandedTransaction[];
  /** Of all that the verified cursor passes; see proofOf. */
  readonly proof?: RangeProof | undefined;
}

/** What a commit made of own transactions and, by row id, of transfers; unchanged rows are in none of them. */
export interface Written {
  readonly detectedIds: readonly string[];
  readonly verifiedIds: readonly string[];
  readonly orphanedIds: readonly string[];
  /** Hashes of own transactions whose fate changed. */
  readonly changedFates: readonly string[];
}

/** The live transfers that are not among those found; a transfer is told by transaction and position alone. */
export function notFound(live: readonly LiveTransfer[], found: readonly Transfer[]): readonly LiveTransfer[] {
  const keys = new Set(found.map(keyInChain));
  return live.filter((transfer) => !keys.has(keyInChain(transfer)));
}

function keyInChain(transfer: Pick<Transfer, 'txHash' | 'position'>): string {
  return `${transfer.txHash} ${transfer.position}`;
}
