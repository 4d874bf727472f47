import type { Chain } from '@opentill/domain/chains';
import type { BaseUnits } from '@opentill/domain/money';
import type { Address } from './address-codec.ts';
import type { BlockHeader } from './block.ts';
import type { AgreementOptions, ReadOptions } from './chain-reader.ts';
import type { TransactionFate } from './own-transaction.ts';
import type { SourceHealth } from './source-health.ts';
import type { TokenContract, TxHash } from './transfer.ts';

export interface PaymentIntent {
  readonly from: Address;
  /** Null: the native coin. */
  readonly contract: TokenContract | null;
  readonly to: Address;
  readonly amountBaseUnits: BaseUnits;
  /**
   * Absent: a transfer of money. Otherwise no money moves: the energy of that much of the wallet's stake is lent to
   * `to`, or taken back from there (TRON). Other families reject it with INTENT_INVALID.
   */
  readonly resource?: 'LEND_ENERGY' | 'TAKE_ENERGY_BACK';
}

/** Prices in base units of the native coin (EVM: wei) per unit of gas. */
export interface FeeTerms {
  readonly gasLimit: bigint;
  /** Never less than `maxPriorityFeePerGas`. */
  readonly maxFeePerGas: bigint;
  readonly maxPriorityFeePerGas: bigint;
  /**
   * Highest estimate of what the chain charges for the data, in base units. Not part of the signed bytes. Absent: unknown,
   * or included in the gas.
   */
  readonly dataFeeBaseUnits?: bigint;
}

export type FeePrices = Omit<FeeTerms, 'gasLimit' | 'dataFeeBaseUnits'>;

export function highestCost({ gasLimit, maxFeePerGas, dataFeeBaseUnits = 0n }: FeeTerms): bigint {
  return gasLimit * maxFeePerGas + dataFeeBaseUnits;
}

/** Reasons not to sign now. The payment may become possible later. */
export type PaymentObstacle =
  /** The chain would reject it: low balance, paused token, blocked receiver, revert of the contract. */
  | 'WOULD_FAIL'
  /** Nodes cannot report whether it would succeed, though they can for other payments. */
  | 'UNCLEAR'
  /** The network's price is above the configured cap. */
  | 'FEES_ABOVE_CAP';

export type Prepared =
  | ({ readonly kind: 'READY' } & Pick<FeeTerms, 'gasLimit' | 'dataFeeBaseUnits'>)
  /** `detail` is for operators: one line of printable ASCII, at most 200 characters. */
  | { readonly kind: 'OBSTACLE'; readonly obstacle: PaymentObstacle; readonly detail: string };

export interface SignedTransaction {
  /** Known before the transaction is sent. */
  readonly txHash: TxHash;
  readonly raw: Uint8Array;
  readonly nonce: number;
  readonly terms: FeeTerms;
}

export interface UnsignedCall {
  readonly wallet: Address;
  /** Null means a cancel. */
  readonly intent: PaymentIntent | null;
  readonly gasLimit: bigint;
}

/** Expected content of stored bytes. A null intent means a cancel. */
export interface StoredClaim {
  readonly wallet: Address;
  readonly nonce: number;
  readonly terms: FeeTerms;
  readonly intent: PaymentIntent | null;
}

/** Best result over all sources, in this order. None proves that the payment failed; only receipts decide. */
export type SendOutcome =
  /** A node took it into its pool. */
  | 'ACCEPTED'
  /** Already in its pool or in a block. */
  | 'KNOWN'
  /** The chain has a transaction with this nonce: this one, another own one, or a foreign one. Check the receipts. */
  | 'NONCE_TOO_LOW'
  /** The node has other transactions with this nonce that pay more, or the price is below its minimum. */
  | 'UNDERPRICED'
  /** The wallet cannot pay value and fees of this and its other pending transactions. */
  | 'NO_GAS_MONEY'
  /** The node rejected it permanently, or for a reason unknown to this adapter. Raise an alert. */
  | 'REFUSED'
  /** No usable answer: timeout, fault, rate limit. It may have arrived anyway. */
  | 'UNKNOWN';

/** One source may be wrong; a single answer is no proof. */
export interface SourcesCount {
  /** Highest count among sources that `latestCount` accepts individually; never below `agreed`. */
  readonly highest: number;
  /** Lower bound by two sources (by the only one where one is configured); 0 while fewer answer. */
  readonly agreed: number;
  readonly answers: number;
}

export interface FoundPayment {
  readonly nonce: number;
  readonly intent: PaymentIntent;
  readonly fate: TransactionFate;
}

/**
 * Builds, signs and sends payments of one network. Between calls it remembers only which sources reported wrong counts.
 * Reading methods throw a GatewayError with a ReaderErrorCode, signing methods one with a SenderErrorCode. Every call
 * ends by its own deadline, even without `options.signal`.
 */
export interface WalletSender {
  readonly chain: Chain;

  /** Must be awaited before any other call. See ChainReader. */
  checkNetwork(options?: ReadOptions): Promise<void>;

  /**
   * The first unused nonce: transactions up to the newest block. The highest answer of all sources, so that a lagging
   * one hides no transaction. A source may overstate it: its claim counts until `countAt` refutes it, then none of its
   * claims count. Never below what two sources report.
   */
  latestCount(wallet: Address, options?: ReadOptions): Promise<number>;

  /**
   * At the end of one block; two sources must agree. INCONSISTENT_ANSWER: they differ and no third decides, or one has
   * another block at that height. BLOCK_NOT_FOUND: one lacks the block.
   */
  countAt(
    wallet: Address,
    block: Pick<BlockHeader, 'height' | 'hash'>,
    options?: AgreementOptions,
  ): Promise<number>;

  /** Including transactions in the sources' pools with consecutive nonces. */
  pendingCount(wallet: Address, options?: ReadOptions): Promise<SourcesCount>;

  /**
   * For a transaction that the gateway no longer has in its database. Two sources must agree; a single one of several
   * is never accepted. Undefined if unknown in blocks up to `height`, or not of the kind that `sign` makes.
   */
  readPayment(
    txHash: TxHash,
    block: Pick<BlockHeader, 'height'>,
    options?: ReadOptions,
  ): Promise<FoundPayment | undefined>;

  /** All at the same recent block, from one source. Null: the native coin. Excludes pending transactions. */
  balances(
    wallet: Address,
    contracts: readonly (TokenContract | null)[],
    options?: ReadOptions,
  ): Promise<{
    readonly block: BlockHeader;
    readonly amounts: ReadonlyMap<TokenContract | null, bigint>;
    readonly count: number;
  }>;

  /** Prices for inclusion in one of the next blocks; never above the configured cap. */
  currentPrices(options?: ReadOptions): Promise<FeePrices>;

  /**
   * Simulates the payments on the newest state; answers are in the order of the intents. With a second source, an
   * obstacle counts only if that source does not contradict it. A node fault is thrown for all intents and is never
   * WOULD_FAIL. Throws RangeError for more than PREPARE_MAX intents.
   */
  prepare(intents: readonly PaymentIntent[], options?: ReadOptions): Promise<readonly Prepared[]>;

  /**
   * Terms with which every node replaces a pending transaction of `old` terms: both prices at least 12.5 % higher,
   * and at least `now`. Undefined when the cap permits no such terms. Pure.
   */
  raise(old: FeeTerms, now: FeePrices): FeeTerms | undefined;

  /**
   * Highest estimates of what the chain charges for the data of transactions, by the newest prices, in base units.
   * Undefined for a call whose fee no source names. Absent where the gas includes all costs.
   */
  readonly dataFees?: (
    calls: readonly UnsignedCall[],
    options?: ReadOptions,
  ) => Promise<readonly (bigint | undefined)[]>;

  /** Decodes the signed bytes and compares each field with the request: SIGNED_OTHERWISE when one differs. */
  sign(intent: PaymentIntent, nonce: number, terms: FeeTerms): Promise<SignedTransaction>;

  /** Zero coin from the wallet to itself. To replace a pending transaction, `prices` must come from `raise`. */
  signCancel(wallet: Address, nonce: number, prices: FeePrices): Promise<SignedTransaction>;

  /**
   * Undefined when all fields, signature, network and hash are as claimed. The wallet's own signature proves the bytes,
   * even if the database was manipulated. Pure.
   */
  differenceOf(stored: Pick<SignedTransaction, 'txHash' | 'raw'>, claim: StoredClaim): string | undefined;

  /**
   * Sends stored bytes to all sources; may be repeated. Never throws because of a node's answer or failure. After an
   * abort, unanswered transactions are UNKNOWN.
   */
  broadcast(
    signed: readonly Pick<SignedTransaction, 'txHash' | 'raw'>[],
    options?: ReadOptions,
  ): Promise<readonly SendOutcome[]>;

  /** In the order of configuration. Absent where a sender has a single source without state. */
  readonly sources?: () => readonly SourceHealth[];
}

export const PREPARE_MAX = 64;
