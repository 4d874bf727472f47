import type { Chain } from '@opentill/domain/chains';
import type { BaseUnits } from '@opentill/domain/money';
import type { Address } from './address-codec.ts';
import type { BlockHeader } from './block.ts';
import type { AgreementOptions, ReadOptions } from './chain-reader.ts';
import type { TransactionFate } from './own-transaction.ts';
import type { SourceHealth } from './source-health.ts';
import type { TokenContract, TxHash } from './transfer.ts';

/** What a transaction is meant to do: one payment from a wallet of ours. */
export interface PaymentIntent {
  readonly from: Address;
  /** Null for the chain's native coin. */
  readonly contract: TokenContract | null;
  readonly to: Address;
  readonly amountBaseUnits: BaseUnits;
  /**
   * Absent: money moves. Else nothing of it does: the work of contracts that as much of the wallet's stake pays for is lent to
   * `to`, or taken back from there (TRON). A family that knows nothing of it refuses: INTENT_INVALID.
   */
  readonly resource?: 'LEND_ENERGY' | 'TAKE_ENERGY_BACK';
}

/** What a transaction may cost at most. Prices in base units of the native coin (EVM: wei) per unit of gas. */
export interface FeeTerms {
  readonly gasLimit: bigint;
  /** Never less than `maxPriorityFeePerGas`. */
  readonly maxFeePerGas: bigint;
  readonly maxPriorityFeePerGas: bigint;
}

export type FeePrices = Omit<FeeTerms, 'gasLimit'>;

/** Why a payment is not to be signed now. It may be possible later. */
export type PaymentObstacle =
  /** The chain would refuse it: not enough balance, a token that is paused, a blocked receiver, a contract's revert. */
  | 'WOULD_FAIL'
  /** Nodes do not say whether it would succeed, though they do of other payments. Never what one node alone fails at. */
  | 'UNCLEAR'
  /** The network's price is above what the configuration allows to pay. */
  | 'FEES_ABOVE_CAP';

export type Prepared =
  | { readonly kind: 'READY'; readonly gasLimit: bigint }
  /** `detail` is for operators: one line of printable ASCII, at most 200 characters. */
  | { readonly kind: 'OBSTACLE'; readonly obstacle: PaymentObstacle; readonly detail: string };

/** A transaction as it is stored before anything is sent. */
export interface SignedTransaction {
  /** Hash of `raw`; known before anybody has seen the transaction. */
  readonly txHash: TxHash;
  readonly raw: Uint8Array;
  readonly nonce: number;
  readonly terms: FeeTerms;
}

/** What stored bytes are said to be: signed by this wallet, with this nonce and these terms; without an intent, to move nothing. */
export interface StoredClaim {
  readonly wallet: Address;
  readonly nonce: number;
  readonly terms: FeeTerms;
  readonly intent: PaymentIntent | null;
}

/**
 * What became of sending stored bytes, the best over all sources, in this order. None of them proves that the payment
 * failed: they say where to look next, and receipts alone decide.
 */
export type SendOutcome =
  /** A node took it into its pool. */
  | 'ACCEPTED'
  /** A node has it already, in its pool or in a block. */
  | 'KNOWN'
  /** A transaction with this nonce is in the chain: this one, another of ours, or a stranger's. Go and look. */
  | 'NONCE_TOO_LOW'
  /** A node has another transaction with this nonce, or others, that pay more; or the price is below what it takes. */
  | 'UNDERPRICED'
  /** The wallet cannot pay value and fees of this and its other pending transactions. */
  | 'NO_GAS_MONEY'
  /** A node refused it for good, or for a reason this adapter does not know. Worth an alert. */
  | 'REFUSED'
  /** No usable answer: timeouts, faults, limits. It may have arrived all the same. */
  | 'UNKNOWN';

/** What several sources count. One may lie, and one alone proves nothing. */
export interface SourcesCount {
  /** By the source that counts most of those that `latestCount` believes alone; never below `agreed`. */
  readonly highest: number;
  /** At least so many by two sources, by the only one where one is configured; 0 while fewer answer. */
  readonly agreed: number;
  /** How many sources answered. */
  readonly answers: number;
}

/** A payment that stands in a block, read from the chain. */
export interface FoundPayment {
  readonly nonce: number;
  /** What it was signed to do. */
  readonly intent: PaymentIntent;
  readonly fate: TransactionFate;
}

/**
 * Builds, signs and sends payments of one network. Keeps nothing of wallets between calls but whose counts were wrong:
 * nonces, stored bytes and what was sent are the caller's. Reading methods throw a GatewayError with a ReaderErrorCode
 * as ChainReader does; signing ones with a SenderErrorCode. Every call ends by its own deadline, without
 * `options.signal` as well.
 */
export interface WalletSender {
  readonly chain: Chain;

  /** Whether every source is the configured network. To be awaited before anything else. See ChainReader. */
  checkNetwork(options?: ReadOptions): Promise<void>;

  /**
   * How many transactions of the wallet the newest blocks hold; so the first nonce that none of them uses. The highest
   * of all sources that answer: a lagging one never hides a transaction. An upper bound only, as one source may lie: what
   * one alone claims counts until `countAt` refutes it at a block past the claim, then that source alone counts no more.
   * Never below what two sources name.
   */
  latestCount(wallet: Address, options?: ReadOptions): Promise<number>;

  /**
   * The same at the end of one block, agreed by two sources (by one where it may stand alone). INCONSISTENT_ANSWER
   * while they differ and no third decides, or one has another block at that height, BLOCK_NOT_FOUND while one lacks it:
   * the caller waits.
   */
  countAt(
    wallet: Address,
    block: Pick<BlockHeader, 'height' | 'hash'>,
    options?: AgreementOptions,
  ): Promise<number>;

  /**
   * How many transactions of the wallet the newest blocks hold together with those that wait in the sources' pools next
   * to them: so the first nonce that nothing anywhere is known to use.
   */
  pendingCount(wallet: Address, options?: ReadOptions): Promise<SourcesCount>;

  /**
   * What a transaction pays, and what became of it, agreed by two sources, of several never by one alone; undefined
   * when they know no such transaction in a block up to `height`, or when it is no payment of the kind that `sign`
   * makes. For transactions that this gateway no longer knows.
   */
  readPayment(
    txHash: TxHash,
    block: Pick<BlockHeader, 'height'>,
    options?: ReadOptions,
  ): Promise<FoundPayment | undefined>;

  /**
   * What the wallet holds of each (null: the native coin), and how many transactions of it the chain had, all at the same
   * new block: what the others still take is not in the amounts. By one source.
   */
  balances(
    wallet: Address,
    contracts: readonly (TokenContract | null)[],
    options?: ReadOptions,
  ): Promise<{
    readonly block: BlockHeader;
    readonly amounts: ReadonlyMap<TokenContract | null, bigint>;
    readonly count: number;
  }>;

  /** What a transaction should offer now to get into one of the next blocks; never above the configured cap. */
  currentPrices(options?: ReadOptions): Promise<FeePrices>;

  /**
   * Tries the payments on the newest state without sending them; the answers stand in the order of the intents. Where
   * there is a second source an obstacle stands only if it does not say otherwise. A fault of the nodes is thrown for
   * all of them and is never WOULD_FAIL. Throws RangeError for more than PREPARE_MAX intents.
   */
  prepare(intents: readonly PaymentIntent[], options?: ReadOptions): Promise<readonly Prepared[]>;

  /**
   * Terms that replace a pending transaction of `old` terms at every node: both prices at least 12.5 % higher, and at
   * least `now`. Undefined when the cap leaves no such terms. Pure.
   */
  raise(old: FeeTerms, now: FeePrices): FeeTerms | undefined;

  /**
   * Signs the payment, decodes the signed bytes again and compares each field with what was asked for:
   * SIGNED_OTHERWISE when one differs. Asks nothing of the network and sends nothing.
   */
  sign(intent: PaymentIntent, nonce: number, terms: FeeTerms): Promise<SignedTransaction>;

  /**
   * Signs a transaction that moves nothing (no coin, from the wallet to itself) and uses the nonce up. Asks the network
   * for the gas it takes. To replace a pending transaction, `prices` must come from `raise`.
   */
  signCancel(wallet: Address, nonce: number, prices: FeePrices): Promise<SignedTransaction>;

  /**
   * The first thing in which stored bytes are not what they are said to be, signature, network and hash included;
   * undefined when they are just that. What the wallet's own key signed vouches for itself, whoever stored it. Pure.
   */
  differenceOf(stored: Pick<SignedTransaction, 'txHash' | 'raw'>, claim: StoredClaim): string | undefined;

  /**
   * Sends stored bytes to all sources, any number of times; the outcomes stand in the order of `signed`. Never throws
   * for what nodes answer or fail to. Once `options.signal` is aborted, what is not answered is UNKNOWN.
   */
  broadcast(
    signed: readonly Pick<SignedTransaction, 'txHash' | 'raw'>[],
    options?: ReadOptions,
  ): Promise<readonly SendOutcome[]>;

  /** How each source does now, in the order of configuration. Absent where a sender has but one that it knows nothing of. */
  readonly sources?: () => readonly SourceHealth[];
}

/** Most intents of one `prepare`. */
export const PREPARE_MAX = 64;
