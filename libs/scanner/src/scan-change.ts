import type { RangeProof } from '@opentill/chain/epoch-committee';
import type { Address } from '@opentill/chain/address-codec';
import type { TokenContract, Transfer, TxHash } from '@opentill/chain/transfer';
import type { ChainState, ChainStep } from './chain-state.ts';
import type { FateChange } from './judge-fates.ts';

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

/** A transaction of a hot wallet, or by which money left it, that the gateway did not sign. */
export interface ForeignTransaction {
  readonly txHash: TxHash;
  readonly wallet: Address;
  readonly blockHeight: number;
  readonly blockHash: string;
  /** Of its block, in whole seconds since 1970. */
  readonly blockTimeSeconds: number;
  /** All configured assets that it moved to other addresses: first those from the wallet, each in chain order. */
  readonly moved: readonly ForeignTransfer[];
}

/** A movement of a foreign transaction. */
export interface ForeignTransfer {
  readonly contract: TokenContract | null;
  readonly to: Address;
  /** More than 0. */
  readonly amountBaseUnits: bigint;
}

/** An own transaction in a verified block, successful or not. */
export interface LandedTransaction {
  readonly txHash: TxHash;
  readonly blockHeight: number;
  readonly blockHash: string;
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
  readonly orphaned: readonly LiveTransfer[];
  /** The rescan that this commit is a part of, if any. */
  readonly rescan?: RescanProgress;
  /** Outcomes of own transactions, in the chain as it is after the step; see createFateFollowing. */
  readonly fates?: readonly FateChange[] | undefined;
  /** What hot wallets did in verified blocks that the gateway did not sign. */
  readonly foreign?: readonly ForeignTransaction[];
  /** Attempts of the gateway that verified blocks hold; see findLanded. */
  readonly landed?: readonly LandedTransaction[];
  /** Of all that the verified cursor passes; see proofOf. */
  readonly proof?: RangeProof | undefined;
}

/** Yields changes, receives the committed state after each, and returns its result. A failed commit is thrown at the `yield`. */
export type Changes<R> = AsyncGenerator<ScanChange, R, ChainState>;

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
