import type { Chain } from '@opentill/domain/chains';
import type { BlockHeader } from './block.ts';
import type { EpochCommittees, RangeProof } from './epoch-committee.ts';
import type { FatesRead, OwnTransaction } from './own-transaction.ts';
import type { SourceHealth } from './source-health.ts';
import type { Address } from './address-codec.ts';
import type { TokenWarning } from './token-warning.ts';
import type { CandidateTransfer, Transfer, TxHash } from './transfer.ts';

/** A consistent reading of a range of blocks. */
export interface RangeRead {
  /** Every block of the range, ascending, each the parent of the next. Never fewer than asked for. */
  readonly headers: readonly BlockHeader[];
  /**
   * Every transfer of the configured tokens in the range and nothing else, ascending by block and index, without
   * duplicates. Each names the hash of one of `headers`. Where the native coin is configured, also the value that each
   * transaction carries, whether it succeeded or not: `confirmTransfers` tells. What contracts send is not seen.
   */
  readonly transfers: readonly CandidateTransfer[];
  /**
   * Who acted, by every transaction of the range, also by those that moved nothing or failed. Only of a verified reading, and only
   * where no count of a wallet's transactions says whether all of them are known.
   */
  readonly actors?: readonly Actor[];
  /**
   * In the place of `actors`, where all of them would be many addresses to write for a few that anybody asks for: what any of these
   * wallets did, or had moved out of it.
   */
  readonly actsOf?: (wallets: ReadonlySet<Address>) => readonly Actor[];
  /** How many transactions were read, beside `actsOf`. */
  readonly transactions?: number;
  /** Of a verified reading, only where validators certify epochs: every block was proven. */
  readonly proof?: RangeProof;
}

/** Whose transaction it is, by the key that signed it or by what that key was allowed to do in somebody's name. */
export interface Actor {
  readonly txHash: TxHash;
  readonly wallet: Address;
  readonly blockHeight: number;
}

/** What the seen pass recorded of a transfer, for the verified pass to find again. */
export type ExpectedTransfer = Pick<
  CandidateTransfer,
  'blockHash' | 'txHash' | 'contract' | 'to' | 'amountBaseUnits'
>;

/**
 * What became of candidates once their receipts were read. Every candidate is in one of the two, but for native ones
 * whose transaction failed: these are ordinary, moved nothing, and are in neither.
 */
export interface ConfirmedTransfers {
  /** Proven by the receipt; in the order of the candidates. */
  readonly confirmed: readonly Transfer[];
  /**
   * Not proven: the logs named them, but their transaction's receipt in the same block and the receipts of the whole
   * block both say the transaction failed or has no such log. Not to be recorded; worth an alert about the node.
   */
  readonly refuted: readonly CandidateTransfer[];
}

export interface ReadOptions {
  /** Ends the call with READ_ABORTED. Without it every call still ends by the reader's own request timeouts. */
  readonly signal?: AbortSignal;
}

export interface ConfirmOptions extends ReadOptions {
  /**
   * The headers that were read with the candidates. Where one source alone has told the times of some of them, those of
   * the candidates' blocks have to be what each source says that is asked now.
   */
  readonly headers?: readonly BlockHeader[];
  /** One source's word is enough: for the seen pass, which credits nothing and must not wait. */
  readonly byOneSource?: boolean;
}

/** Of what two sources must agree on. */
export interface AgreementOptions extends ReadOptions {
  /**
   * Where several sources are configured one alone is never believed, however long the others have been away. For what
   * can't be taken back.
   */
  readonly neverAlone?: boolean;
}

export interface FateOptions extends ConfirmOptions, AgreementOptions {
  /**
   * Only a node that has a block of this height is heard. Required where absence is to mean something: a node that is
   * behind has no receipt of what was mined since.
   */
  readonly atHeight?: number;
}

/**
 * Reads one network. No method ever answers with less than it was asked for: a lagging node, an empty or partial
 * answer, a reorganisation under the read are GatewayErrors with a ReaderErrorCode. The caller retries; the reader
 * itself only splits ranges that a provider finds too large.
 * Nothing is kept between calls that could make an answer older, so several callers may share a reader.
 */
export interface ChainReader {
  readonly chain: Chain;
  /**
   * How many blocks a node is asked for at once: a long way is read in parts of so many. May change with what blocks hold: it is looked
   * at for each part. @default 20
   */
  readonly blocksPerCall?: number;

  /**
   * Asks every source whether it is the configured network and the configured tokens are what they are said to be.
   * To be awaited before anything else. A source that is wrong while another is right is left out from then on;
   * WRONG_CHAIN and TOKEN_MISMATCH when none is right: the operator's to mend.
   */
  checkNetwork(options?: ReadOptions): Promise<void>;

  /** The newest block the node has. May be older than what it answered before: nodes behind one URL differ. */
  head(options?: ReadOptions): Promise<BlockHeader>;

  /**
   * Height of the newest block that the chain itself calls final, of two sources' answers the lower one (unless that
   * source hangs far behind). FINALITY_UNAVAILABLE when none names one.
   */
  finalizedHeight(options?: ReadOptions): Promise<number>;

  /** The blocks `from` to `to` (both included), linked. BLOCK_NOT_FOUND when the node has not got all of them. */
  headers(from: number, to: number, options?: ReadOptions): Promise<readonly BlockHeader[]>;

  /** For the seen pass: the blocks `from` to `to` and their transfers. BLOCK_NOT_FOUND beyond the node's head. */
  readSeen(from: number, to: number, options?: ReadOptions): Promise<RangeRead>;

  /**
   * For the verified pass, at depths where the answer must be right. What it answers is complete in one of two ways:
   * two sources gave the same transfers and agree on the hash of the last block, or the block's receipts say so,
   * checked to be whole; they are the judge of every difference, and all there is while only one source is usable.
   * `expected` are the transfers recorded from this range and not orphaned; one that the logs lack is looked for in
   * the block's receipts. Expected transfers of blocks that are not in the range any more are left to the caller's
   * reorganisation logic. INCONSISTENT_ANSWER while two sources are on different forks, or give receipts that
   * differ: which of them is right is never guessed.
   */
  readVerified(
    from: number,
    to: number,
    expected: readonly ExpectedTransfer[],
    options?: ReadOptions,
  ): Promise<RangeRead>;

  /**
   * Reads the receipt of each candidate's transaction, once per transaction: success, the log really in it, in the
   * same block; of native transfers, the value. Only for candidates whose recipients matter: it costs a request per
   * transaction, of each of two sources where several are configured, which must say the same of block, outcome and
   * position.
   * INCONSISTENT_ANSWER when the transaction is in another block by now or two sources differ, also on the time of a
   * block (`headers`); BLOCK_NOT_FOUND when it is in none.
   */
  confirmTransfers(
    candidates: readonly CandidateTransfer[],
    options?: ConfirmOptions,
  ): Promise<ConfirmedTransfers>;

  /**
   * What became of own transactions, by their receipts, in one batched call to each source that is asked. Unless
   * `byOneSource`, only what two sources say alike, as in `confirmTransfers`; what they don't is `disputed`, one
   * transaction without the others. A receipt may name a block that the caller does not follow: the caller compares.
   * BLOCK_NOT_FOUND when the nodes lack `atHeight`, or the error of a source that cannot be asked.
   */
  readFates(own: readonly OwnTransaction[], options?: FateOptions): Promise<FatesRead>;

  /**
   * Resolves when two sources name this hash at this height, or when the only one left by `aloneAfterSeconds` does.
   * For what no read of two sources covers: the block from which depth is counted, a branch that replaces verified
   * blocks. INCONSISTENT_ANSWER when one names another hash, BLOCK_NOT_FOUND when one does not have the block, or the
   * error of a source that cannot be asked: then the caller waits.
   */
  vouch(block: Pick<BlockHeader, 'height' | 'hash'>, options?: ReadOptions): Promise<void>;

  /**
   * What the contracts of the configured tokens say of themselves, where two sources say the same. Throws the error of a source that
   * cannot be asked. Absent where a family's tokens say nothing of the kind.
   */
  readonly tokenWarnings?: (options?: ReadOptions) => Promise<readonly TokenWarning[]>;

  /** Who certifies blocks, and which. Absent where no epoch of validators does. */
  readonly committees?: EpochCommittees;

  /**
   * Wakes the caller up at new heads until the signal is aborted; reconnects by itself, resolves when stopped, never
   * rejects. A hint only: heads may be missed or repeated, so polling stays. Absent where the network has no
   * subscription.
   */
  readonly subscribeHeads?: (onHead: () => void, signal: AbortSignal) => Promise<void>;

  /** How each source does now, in the order of configuration. Absent where a reader has but one that it knows nothing of. */
  readonly sources?: () => readonly SourceHealth[];
}
