import type { Chain } from '@opentill/domain/chains';
import type { BlockHash, BlockHeader } from './block.ts';
import type { EpochCommittees, RangeProof } from './epoch-committee.ts';
import type { FatesRead, OwnTransaction } from './own-transaction.ts';
import type { SourceHealth } from './source-health.ts';
import type { Address } from './address-codec.ts';
import type { TokenWarning } from './token-warning.ts';
import type { CandidateTransfer, Transfer, TxHash } from './transfer.ts';

export interface RangeRead {
  /**
   * Blocks of the requested range, ascending and of one branch: at least the last one and those asked for. In a verified
   * reading, two sources agree on each of them.
   */
  readonly headers: readonly BlockHeader[];
  /**
   * Hash of the block below the range, as the sources of this answer name it. Absent: the parent of the first of
   * `headers`, which are then all blocks of the range.
   */
  readonly below?: BlockHash;
  /**
   * All transfers of the configured tokens in the range, ascending by block and index, without duplicates. With a
   * configured native coin, also the value of each transaction, including failed ones, which `confirmTransfers` removes.
   * Native coin that contracts send is not included.
   */
  readonly transfers: readonly CandidateTransfer[];
  /**
   * The actor of every transaction of the range, including failed ones and those that moved no money. Set only on a
   * verified reading, and only on chains where no transaction count of a wallet shows whether all of them are known.
   */
  readonly actors?: readonly Actor[];
  /** Replaces `actors` where the full list is long: transactions that these wallets signed or that took their money. */
  readonly actsOf?: (wallets: ReadonlySet<Address>) => readonly Actor[];
  readonly transactions?: number;
  /** Set on a verified reading where validators certify epochs. */
  readonly proof?: RangeProof;
}

/** The wallet that signed a transaction, or in whose name its signer was permitted to act. */
export interface Actor {
  readonly txHash: TxHash;
  readonly wallet: Address;
  readonly blockHeight: number;
}

/** A transfer as the seen pass recorded it, for the verified pass to find again. */
export type ExpectedTransfer = Pick<
  CandidateTransfer,
  'blockHeight' | 'blockHash' | 'txHash' | 'contract' | 'to' | 'amountBaseUnits'
>;

/** Each candidate is in one of the lists, except native transfers of failed transactions, which moved no coin. */
export interface ConfirmedTransfers {
  readonly confirmed: readonly Transfer[];
  /**
   * The logs named them, but the receipts show a failed transaction or no such log, or their block is not in the chain
   * (`refutesOtherBlocks`). Never recorded; raise an alert.
   */
  readonly refuted: readonly CandidateTransfer[];
  /** Blocks of the transfers that are not among the `headers` of the request. */
  readonly headers?: readonly BlockHeader[];
}

export interface ReadOptions {
  /** Aborting it ends the call with READ_ABORTED. Without a signal, the reader's request timeouts end every call. */
  readonly signal?: AbortSignal;
}

export interface SeenOptions extends ReadOptions {
  /** A block of the chain that is known. Where it is the last of the range, it need not be read. */
  readonly head?: BlockHeader | undefined;
  /** Expected hash of the block below the range. Where the logs name another one, its header must, too. */
  readonly below?: BlockHash | undefined;
  /**
   * Reads and returns the headers of all blocks, and counts one as empty only if its header permits that. For a branch
   * that replaces another one, whose payments must not appear lost.
   */
  readonly everyBlock?: boolean | undefined;
}

export interface VerifiedOptions extends ReadOptions {
  /** Heights in the range whose headers are returned, too. */
  readonly headersAt?: readonly number[] | undefined;
}

export interface ConfirmOptions extends ReadOptions {
  /** The headers read with the candidates. Other blocks of candidates are read now, from each source that is asked. */
  readonly headers?: readonly BlockHeader[];
  /** One source is enough. For the seen pass, which does not credit and must not wait. */
  readonly byOneSource?: boolean;
  /**
   * With `byOneSource`, for blocks that extend the chain: refutes a candidate whose block is not in the source's chain,
   * if that chain contains the last of `headers`. Otherwise the call fails: in a reorganisation a source may lag.
   */
  readonly refutesOtherBlocks?: boolean | undefined;
}

export interface AgreementOptions extends ReadOptions {
  /** Never accepts a single one of several sources, for decisions that cannot be reversed. */
  readonly requireTwoSources?: boolean;
}

export interface FateOptions extends ConfirmOptions, AgreementOptions {
  /** Asks only nodes that have this block: a lagging node lacks receipts, which proves no absence. */
  readonly atHeight?: number;
}

/**
 * Reads one network. Every method returns all that it was asked for, or throws a GatewayError with a ReaderErrorCode;
 * the caller retries. The reader itself only splits ranges that a provider finds too large. It caches no data that
 * could make an answer older, so several callers may share a reader.
 */
export interface ChainReader {
  readonly chain: Chain;
  /** Read it again for each part of a range: it changes with the blocks' content. @default 20 */
  readonly blocksPerCall?: number;

  /**
   * Checks network and tokens of every source. Must be awaited before any other call. A wrong source is excluded if
   * another one is right; WRONG_CHAIN or TOKEN_MISMATCH when none is right.
   */
  checkNetwork(options?: ReadOptions): Promise<void>;

  /** Newest block of the node. May be older than in its previous answer: nodes behind one URL differ. */
  head(options?: ReadOptions): Promise<BlockHeader>;

  /**
   * Newest block that the chain calls final: the lower of two sources' answers, unless that source lags far behind.
   * Only its height is certain. FINALITY_UNAVAILABLE when no source reports one.
   */
  finalized(options?: ReadOptions): Promise<BlockHeader>;

  /** Both inclusive, linked. BLOCK_NOT_FOUND when the node lacks some of them. */
  headers(from: number, to: number, options?: ReadOptions): Promise<readonly BlockHeader[]>;

  /** For the seen pass. BLOCK_NOT_FOUND beyond the node's head. */
  readSeen(from: number, to: number, options?: SeenOptions): Promise<RangeRead>;

  /**
   * For the verified pass. Two sources return the same transfers and agree on the hash of the last block, or the
   * complete receipts of the block decide. Receipts are also used while only one source is usable. `expected` are the
   * recorded, not orphaned transfers of this range. If the logs lack one, the reader looks for it in the receipts of
   * the block. The caller handles expected transfers of blocks that left the range. INCONSISTENT_ANSWER while two
   * sources are on different forks or return different receipts.
   */
  readVerified(
    from: number,
    to: number,
    expected: readonly ExpectedTransfer[],
    options?: VerifiedOptions,
  ): Promise<RangeRead>;

  /**
   * Reads the receipt of each candidate's transaction, once per transaction: success, the log in it, the same block;
   * for native transfers, the value. Costs a request per transaction and source, so pass only candidates whose
   * recipients matter. With several sources, two must agree on block, outcome and position.
   * INCONSISTENT_ANSWER when the transaction is now in another block, or two sources differ, also on the time of a
   * block (`headers`). BLOCK_NOT_FOUND when it is in no block.
   */
  confirmTransfers(
    candidates: readonly CandidateTransfer[],
    options?: ConfirmOptions,
  ): Promise<ConfirmedTransfers>;

  /**
   * Outcomes of own transactions by their receipts, in one batched call to each source that is asked. Unless
   * `byOneSource`, two sources must agree, as in `confirmTransfers`; a transaction on which they differ is
   * `disputed`, without affecting the others. A receipt may name a block that the caller does not follow: the caller
   * compares. BLOCK_NOT_FOUND when the nodes lack `atHeight`; otherwise the error of a source that cannot be asked.
   */
  readFates(own: readonly OwnTransaction[], options?: FateOptions): Promise<FatesRead>;

  /**
   * Resolves when two sources report this hash at this height, or the only source left after `aloneAfterSeconds`
   * does. For blocks that no read of two sources covers: the one from which depth is counted, or a branch that
   * replaces verified blocks. Otherwise the caller waits: INCONSISTENT_ANSWER when a source reports another hash,
   * BLOCK_NOT_FOUND when one lacks the block, or the error of a source that cannot be asked.
   */
  confirmBlock(block: Pick<BlockHeader, 'height' | 'hash'>, options?: ReadOptions): Promise<void>;

  /**
   * Two sources must agree. Throws the error of a source that cannot be asked. Absent where tokens report no warnings.
   */
  readonly tokenWarnings?: (options?: ReadOptions) => Promise<readonly TokenWarning[]>;

  readonly committees?: EpochCommittees;

  /**
   * Calls `onHead` at new heads until the signal is aborted. Reconnects by itself, resolves when stopped, never
   * rejects. A hint only: heads may be missed or repeated, so the caller also polls.
   */
  readonly subscribeHeads?: (onHead: () => void, signal: AbortSignal) => Promise<void>;

  /** In the order of configuration. Absent where a reader has a single source without state. */
  readonly sources?: () => readonly SourceHealth[];
}
