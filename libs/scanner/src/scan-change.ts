import type { RangeProof } from '@opentill/chain/epoch-committee';
import type { Address } from '@opentill/chain/address-codec';
import type { TokenContract, Transfer, TxHash } from '@opentill/chain/transfer';
import type { ChainState, ChainStep } from './chain-state.ts';
import type { FateChange } from './judge-fates.ts';

export interface MatchedTransfer extends Transfer {
  readonly symbol: string;
  /** Seconds since 1970. */
  readonly blockTimeSeconds: number;
}

/** Not orphaned, with the fields that a later read must match. */
export interface LiveTransfer extends Pick<
  MatchedTransfer,
  'txHash' | 'position' | 'blockHeight' | 'blockHash' | 'contract' | 'to' | 'amountBaseUnits'
> {
  /** Decimal row id. */
  readonly transferId: string;
}

/** A transaction of a hot wallet that the gateway did not sign, or that moved money from the wallet. */
export interface ForeignTransaction {
  readonly txHash: TxHash;
  readonly wallet: Address;
  readonly blockHeight: number;
  readonly blockHash: string;
  /** Seconds since 1970. */
  readonly blockTimeSeconds: number;
  /** Movements of configured assets to other addresses: from the wallet first, each group in chain order. */
  readonly moved: readonly ForeignTransfer[];
}

export interface ForeignTransfer {
  readonly contract: TokenContract | null;
  readonly to: Address;
  readonly amountBaseUnits: bigint;
}

/** Successful or failed, in a verified block. */
export interface LandedTransaction {
  readonly txHash: TxHash;
  readonly blockHeight: number;
  readonly blockHash: string;
}

export interface RescanRequest {
  readonly requestId: string;
  readonly fromHeight: number;
  readonly toHeight: number;
}

export interface RescanProgress {
  readonly requestId: string;
  /** First height not yet read. */
  readonly nextHeight: number;
  readonly isDone: boolean;
}

export interface ScanChange {
  readonly step: ChainStep;
  /** New transfers, or known ones in another block or state, in chain order. */
  readonly matched: readonly MatchedTransfer[];
  /** New state of the matched transfers. DETECTED does not downgrade a VERIFIED transfer in the same block. */
  readonly matchedState: 'DETECTED' | 'VERIFIED';
  /** Transfers that left the chain. Disjoint from `matched`. */
  readonly orphaned: readonly LiveTransfer[];
  readonly rescan?: RescanProgress;
  readonly fates?: readonly FateChange[] | undefined;
  readonly foreign?: readonly ForeignTransaction[];
  readonly landed?: readonly LandedTransaction[];
  readonly proof?: RangeProof | undefined;
}

/** A failed commit is thrown at the `yield`. */
export type Changes<R> = AsyncGenerator<ScanChange, R, ChainState>;

/** Transfers by row id, own transactions by hash. */
export interface Written {
  readonly detectedIds: readonly string[];
  readonly verifiedIds: readonly string[];
  readonly orphanedIds: readonly string[];
  readonly changedFates: readonly string[];
}

/** Transaction hash and position identify a transfer. */
export function notFound(live: readonly LiveTransfer[], found: readonly Transfer[]): readonly LiveTransfer[] {
  const keys = new Set(found.map(keyInChain));
  return live.filter((transfer) => !keys.has(keyInChain(transfer)));
}

function keyInChain(transfer: Pick<Transfer, 'txHash' | 'position'>): string {
  return `${transfer.txHash} ${transfer.position}`;
}
