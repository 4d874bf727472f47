import type { Chain } from '@opentill/domain/chains';
import type { BaseUnits } from '@opentill/domain/money';
import type { Address } from './address-codec.ts';
import type { BlockHash, BlockHeader } from './block.ts';
import type { ReadOptions } from './chain-reader.ts';
import type { EnergyAccounts } from './energy-accounts.ts';
import type { TransactionFate } from './own-transaction.ts';
import type { SourceHealth } from './source-health.ts';
import type { TokenContract, TxHash } from './transfer.ts';
import type { PaymentIntent, PaymentObstacle } from './wallet-sender.ts';

/*
 * Sending on chains without a nonce: nothing orders a wallet's transactions, nothing replaces one, and what is built anew is
 * a second payment. What ends a transaction there is time: it names a moment after which no block may hold it.
 */

/** What bounds one transaction, chosen before it is signed and stored with it. */
export interface Validity {
  /** No block of a later time may hold it. Milliseconds since 1970 of the chain's own time, not of any clock here. */
  readonly expiresMs: number;
  /** A block that its chain must have: on a branch without it the transaction is worth nothing. */
  readonly reference: { readonly height: number; readonly hash: BlockHash };
  /**
   * Tells it apart from every other of its wallet: two that say the same are one transaction, and one of two equal
   * payments would be swallowed. A time in milliseconds by its form, which no chain checks.
   */
  readonly uniqueMs: number;
  /**
   * Where the chain ends transactions by its epochs and not by its time (SUI): those in which it may land. `expiresMs` is then
   * when the last of them is expected to end, and proves nothing.
   */
  readonly epochs?: EpochWindow;
}

/** Epochs of a chain, both included. */
export interface EpochWindow {
  readonly first: number;
  readonly last: number;
}

/**
 * Of what a payment is to be made, as `prepare` found it: objects, prices, who pays the fee. Made and read by the adapter alone,
 * and no promise: what it says is checked when it is signed, and by the chain.
 */
export type Funding = { readonly __brand: 'Funding' };

/** A transaction as it is stored before anything is sent. */
export interface SignedExpiring {
  /** Hash of what was signed; known before anybody has seen it. */
  readonly txHash: TxHash;
  readonly raw: Uint8Array;
  readonly validity: Validity;
  /** The most that the work of contracts may cost, in base units of the native coin; 0n where there is none. */
  readonly feeLimitBaseUnits: bigint;
}

/** A transaction by which a wallet moves its own money to where it pays from, as it is stored before it is sent. It pays nobody. */
export interface Gathering extends Pick<SignedExpiring, 'txHash' | 'raw' | 'feeLimitBaseUnits'> {
  readonly contract: TokenContract | null;
  readonly amountBaseUnits: BaseUnits;
}

/** What stored bytes are said to be. */
export interface ExpiringClaim {
  readonly intent: PaymentIntent;
  readonly validity: Validity;
  readonly feeLimitBaseUnits: bigint;
}

export type PreparedExpiring =
  | {
      readonly kind: 'READY';
      readonly feeLimitBaseUnits: bigint;
      /** What it costs at most, fees of every kind and nothing of it covered by an allowance. */
      readonly costBaseUnits: bigint;
      /** To be handed to `sign`. Absent where a payment is made of nothing but the wallet's balance. */
      readonly funding?: Funding;
      /** What it takes of work, with its margin, and of bytes. Absent where nothing but coin pays for them. */
      readonly takes?: { readonly workUnits: bigint; readonly bytes: bigint };
    }
  /** `detail` is for operators: one line of printable ASCII, at most 200 characters. */
  | { readonly kind: 'OBSTACLE'; readonly obstacle: PaymentObstacle; readonly detail: string };

/**
 * What became of sending stored bytes, the best over all sources, in this order. None of them says that the payment failed,
 * or will: nodes speak of themselves alone, and may have passed on what they refuse. Own blocks alone decide.
 */
export const EXPIRING_SEND_OUTCOMES = [
  /** A node took it into its pool. */
  'ACCEPTED',
  /** A node has it already, in its pool or in a block, or has seen it once. */
  'KNOWN',
  /** The wallet cannot pay amount and fees by what this node knows. */
  'NO_FUNDS',
  /** The node lacks the block that it refers to: it is on another branch, or behind. */
  'REFERENCE_UNKNOWN',
  /** Its time is over by the node's head, or not come near enough. */
  'EXPIRED',
  /** A node refused it for good, or for a reason this adapter does not know. Worth an alert. */
  'REFUSED',
  /** No usable answer: timeouts, faults, limits. It may have arrived all the same. */
  'UNKNOWN',
] as const;
export type ExpiringSendOutcome = (typeof EXPIRING_SEND_OUTCOMES)[number];

/** A payment that stands in a block, read from the chain. */
export interface FoundExpiringPayment {
  readonly intent: PaymentIntent;
  readonly validity: Validity;
  readonly feeLimitBaseUnits: bigint;
  readonly fate: TransactionFate;
}

/** What was looked through for transactions: every block of a stretch of the chain, each the parent of the next. */
export interface BlocksSearched {
  /** Those of the asked ones that a block holds, whatever it made of them. */
  readonly found: ReadonlySet<TxHash>;
  /** The last two blocks, in order: both of the moment that was asked for, or later. */
  readonly end: readonly [BlockHeader, BlockHeader];
}

/** Part of a sender whose chain ends transactions by epochs (SUI). */
export interface EpochWindows {
  /**
   * The epochs in which a new transaction may land, where `epoch` is the one of the newest block that the own scan has verified.
   * BLOCK_NOT_FOUND while a node is in another epoch.
   */
  currentWindow(
    epoch: number,
    options?: ReadOptions,
  ): Promise<{ readonly epochs: EpochWindow; readonly expiresMs: number }>;
}

/**
 * Part of a sender whose hot wallet pays the fees of deposit addresses (SUI). No fee has to be brought there. What the hot
 * wallet has for fees is the `allowanceBaseUnits` of a deposit address.
 */
export interface Sponsorship {
  /** The other wallet that pays the fee of what leaves `wallet`, where it costs any. Undefined: `wallet` itself pays. */
  sponsorOf(wallet: Address): Address | undefined;
  /**
   * The most that one payment can take of the balance of a wallet that has a sponsor (SUI: the largest coins that one transaction has
   * room for). Where two sources differ, the lower amount.
   */
  mostAtOnce(wallet: Address, contract: TokenContract | null, options?: ReadOptions): Promise<bigint>;
}

/** Part of a sender whose wallets may hold pieces of a balance that pay only after they were gathered (SUI). */
export interface Gatherer {
  /**
   * Builds and signs a transaction by which a wallet moves scattered pieces of an asset (see `balances`) to where it pays from, and
   * decodes it again: no other address gets any of it. The money stays the wallet's in every outcome. Undefined where there is
   * nothing to move, or nothing to pay for it with.
   */
  signGathering(
    wallet: Address,
    contract: TokenContract | null,
    validity: Validity,
    options?: ReadOptions,
  ): Promise<Gathering | undefined>;
}

/** Part of a sender whose proofs rest on keys that block producers delegate their signatures to (TRON). */
export interface BlockKeys {
  /** Keys that sources show and that do not count in proofs yet, one text each. Asks the sources about once an hour. */
  newBlockKeys(options?: ReadOptions): Promise<readonly string[]>;
}

/**
 * Builds, signs and sends payments of one network whose transactions end by time. Keeps nothing between calls: stored
 * bytes, what tells transactions apart, and what was sent are the caller's. Reading methods throw a GatewayError with a
 * ReaderErrorCode as ChainReader does; signing ones with a SenderErrorCode. Every call ends by its own deadline.
 */
export interface ExpiringSender {
  readonly chain: Chain;
  /** How long a new transaction may be taken into blocks, from the head's time on. */
  readonly validForMs: number;
  /** Absent: time ends transactions. */
  readonly epochs?: EpochWindows;
  /** Absent: each wallet pays its own fees. */
  readonly sponsorship?: Sponsorship;
  /** Absent: a wallet pays with all that it holds. */
  readonly gathering?: Gatherer;
  /** Absent: only coin pays for work. */
  readonly energy?: EnergyAccounts;
  /** Absent: no proof rests on keys that block producers delegate to. */
  readonly blockKeys?: BlockKeys;

  /** Whether every source is the configured network. To be awaited before anything else. See ChainReader. */
  checkNetwork(options?: ReadOptions): Promise<void>;

  /**
   * What the wallet holds of each (null: the native coin), in a state that is not older than `block`: the least that two sources say
   * (SUI: by one). `allowanceBaseUnits`: how much of fees is paid for otherwise than in coin (TRON: staked resources).
   */
  balances(
    wallet: Address,
    contracts: readonly (TokenContract | null)[],
    options?: ReadOptions,
  ): Promise<{
    readonly block: BlockHeader;
    readonly amounts: ReadonlyMap<TokenContract | null, bigint>;
    readonly allowanceBaseUnits: bigint;
    /** The part of `amounts` that pays only after it was gathered (SUI: coin objects of a hot wallet). */
    readonly scattered: ReadonlyMap<TokenContract | null, bigint>;
  }>;

  /** What a unit of contracts' work costs now, base units of the native coin, by the source that names the most (TRON: sun for energy). */
  workPrice(options?: ReadOptions): Promise<bigint>;

  /**
   * Tries the payments on the newest state without sending them; the answers stand in the order of the intents. Where there
   * is a second source an obstacle stands only if it does not say otherwise; on TRON both have to say that a payment can be made,
   * and while they differ it is UNCLEAR. A fault of the nodes is thrown for all of them and is never WOULD_FAIL. Throws RangeError for more than PREPARE_MAX intents.
   */
  prepare(intents: readonly PaymentIntent[], options?: ReadOptions): Promise<readonly PreparedExpiring[]>;

  /**
   * Builds and signs the payment by itself, decodes the signed bytes again and compares each field with what was asked for:
   * SIGNED_OTHERWISE when one differs. The same question has the same bytes. Asks nothing of the network and sends nothing.
   */
  sign(
    intent: PaymentIntent,
    validity: Validity,
    feeLimitBaseUnits: bigint,
    funding?: Funding,
  ): Promise<SignedExpiring>;

  /**
   * The first thing in which stored bytes are not what they are said to be, signature and hash included; undefined when they
   * are just that. What the wallet's own key signed vouches for itself, whoever stored it. Pure.
   */
  differenceOf(stored: Pick<SignedExpiring, 'txHash' | 'raw'>, claim: ExpiringClaim): string | undefined;

  /**
   * Sends stored bytes to all sources, any number of times; the outcomes stand in the order of `signed`. Never throws for
   * what nodes answer or fail to. Once `options.signal` is aborted, what is not answered is UNKNOWN.
   */
  broadcast(
    signed: readonly Pick<SignedExpiring, 'txHash' | 'raw'>[],
    options?: ReadOptions,
  ): Promise<readonly ExpiringSendOutcome[]>;

  /**
   * Reads every block behind `after`, whole and linked to it, up to the second one whose time is `untilMs` or later, all of
   * them final, of two sources that give the same; of several configured one alone is never believed. On TRON headers prove the
   * transactions of each block, and signatures of the witnesses known at `after` prove the headers: sources that agree on other blocks
   * prove nothing. BLOCK_NOT_FOUND while the final chain has not got so far, INCONSISTENT_ANSWER while sources differ, while something
   * is not proven, or another block than `after` is in its place. This, and no node's word about a transaction, proves that one did not land in its time.
   * With `untilEpoch` up to the first two blocks of a later epoch. Where nodes index all that they executed, and name the oldest
   * block they still have, two that have the whole stretch are asked for the transactions instead of reading days of blocks. Their
   * word alone proves nothing: the caller asks when its own scan has proven every block of the stretch.
   */
  findInBlocks(
    txHashes: readonly TxHash[],
    stretch: {
      readonly after: Validity['reference'];
      readonly untilMs: number;
      readonly untilEpoch?: number;
    },
    options?: ReadOptions,
  ): Promise<BlocksSearched>;

  /**
   * What a transaction pays, and what became of it, agreed by two sources, of several never by one alone; undefined when
   * they know no such transaction in a block up to `height`, or when it is no payment of the kind that `sign` makes. For
   * transactions that this gateway no longer knows.
   */
  readPayment(
    txHash: TxHash,
    block: Pick<BlockHeader, 'height'>,
    options?: ReadOptions,
  ): Promise<FoundExpiringPayment | undefined>;

  /** How each source does now, in the order of configuration. */
  sources(): readonly SourceHealth[];
}
