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
 * Sending on chains without a nonce. A wallet's transactions have no order there and cannot be replaced. A transaction
 * that is built again is a second payment. A transaction ends by time: it names a moment after which no block may
 * include it.
 */

/** Bounds of one transaction, chosen before it is signed and stored with it. */
export interface Validity {
  /** No later block may include it. Milliseconds since 1970 in the chain's own time, not by a local clock. */
  readonly expiresMs: number;
  /** A block that the chain must contain: on a branch without it the transaction is invalid. */
  readonly reference: { readonly height: number; readonly hash: BlockHash };
  /**
   * Makes the transaction unique in its wallet. Two with the same content are one transaction, so one of two equal
   * payments would be lost. A timestamp in milliseconds by its form; no chain checks it.
   */
  readonly uniqueMs: number;
  /**
   * Epochs in which the transaction may land, on a chain that expires transactions by epoch instead of time (SUI).
   * `expiresMs` is then an estimate of when the last one ends, and is no proof.
   */
  readonly epochs?: EpochWindow;
}

/** Both inclusive. */
export interface EpochWindow {
  readonly first: number;
  readonly last: number;
}

/** Inputs of a payment that `prepare` found. Opaque to callers and not trusted: `sign` and the chain check it. */
export type Funding = { readonly __brand: 'Funding' };

export interface SignedExpiring {
  /** Known before the transaction is sent. */
  readonly txHash: TxHash;
  readonly raw: Uint8Array;
  readonly validity: Validity;
  /** Upper limit of the contract execution fee, in base units of the native coin. */
  readonly feeLimitBaseUnits: bigint;
}

/** Moves a wallet's own scattered money to where it pays from; pays no other address. */
export interface Gathering extends Pick<SignedExpiring, 'txHash' | 'raw' | 'feeLimitBaseUnits'> {
  readonly contract: TokenContract | null;
  readonly amountBaseUnits: BaseUnits;
}

export interface ExpiringClaim {
  readonly intent: PaymentIntent;
  readonly validity: Validity;
  readonly feeLimitBaseUnits: bigint;
}

export type PreparedExpiring =
  | {
      readonly kind: 'READY';
      readonly feeLimitBaseUnits: bigint;
      /** Upper limit of all fees, with none of them covered by an allowance. */
      readonly costBaseUnits: bigint;
      /** Opaque; pass it to `sign`. */
      readonly funding?: Funding;
      /** Execution units with margin, and bytes. Absent: only the native coin pays for them. */
      readonly takes?: { readonly workUnits: bigint; readonly bytes: bigint };
    }
  /** `detail` is for operators: one line of printable ASCII, at most 200 characters. */
  | { readonly kind: 'OBSTACLE'; readonly obstacle: PaymentObstacle; readonly detail: string };

/**
 * Best result over all sources, in this order. None proves that the payment failed or will fail: a node reports only
 * its own state and may have relayed what it rejects. Only the gateway's own scan decides.
 */
export const EXPIRING_SEND_OUTCOMES = [
  /** A node took it into its pool. */
  'ACCEPTED',
  /** A node has it in its pool or in a block, or had it earlier. */
  'KNOWN',
  /** The wallet cannot pay amount and fees, by this node's state. */
  'NO_FUNDS',
  /** The node lacks the reference block: it is on another branch, or behind. */
  'REFERENCE_UNKNOWN',
  /** Expired by the node's head, or too far in the future. */
  'EXPIRED',
  /** The node rejected it permanently, or for a reason unknown to this adapter. Raise an alert. */
  'REFUSED',
  /** No usable answer: timeout, fault, rate limit. It may have arrived anyway. */
  'UNKNOWN',
] as const;
export type ExpiringSendOutcome = (typeof EXPIRING_SEND_OUTCOMES)[number];

export interface FoundExpiringPayment {
  readonly intent: PaymentIntent;
  readonly validity: Validity;
  readonly feeLimitBaseUnits: bigint;
  readonly fate: TransactionFate;
}

/** Consecutive blocks, each the parent of the next. */
export interface BlocksSearched {
  /** Contained in a block, successful or not. */
  readonly found: ReadonlySet<TxHash>;
  /** The last two blocks, in order, both at or after the requested moment. */
  readonly end: readonly [BlockHeader, BlockHeader];
}

/** For chains that expire transactions by epoch (SUI). */
export interface EpochWindows {
  /** `epoch` is that of the newest verified block. BLOCK_NOT_FOUND while a node is in another epoch. */
  currentWindow(
    epoch: number,
    options?: ReadOptions,
  ): Promise<{ readonly epochs: EpochWindow; readonly expiresMs: number }>;
}

/**
 * For chains where the hot wallet pays the fees of deposit addresses (SUI): its balance is their `allowanceBaseUnits`.
 */
export interface Sponsorship {
  /** Pays the fees of transactions from `wallet`. Undefined: `wallet` pays itself. */
  sponsorOf(wallet: Address): Address | undefined;
  /** Largest payment from a sponsored wallet (SUI: its largest coins). The lower of two sources' answers. */
  mostAtOnce(wallet: Address, contract: TokenContract | null, options?: ReadOptions): Promise<bigint>;
}

/** For wallets with pieces of a balance that cannot pay until they are gathered (SUI). */
export interface Gatherer {
  /**
   * Moves scattered pieces of an asset (see `balances`) to where the wallet pays from. Checks by the signed bytes that
   * no other address receives any of it. Undefined without scattered pieces, or without native coin for its fee.
   */
  signGathering(
    wallet: Address,
    contract: TokenContract | null,
    validity: Validity,
    options?: ReadOptions,
  ): Promise<Gathering | undefined>;
}

/** For chains whose block producers delegate their signatures to other keys (TRON). */
export interface BlockKeys {
  /** Reported, but not accepted by proofs yet; one text each. Asks the sources about once an hour. */
  newBlockKeys(options?: ReadOptions): Promise<readonly string[]>;
}

/**
 * Builds, signs and sends payments of one network whose transactions expire. Keeps no state between calls. Reading
 * methods throw a GatewayError with a ReaderErrorCode, signing methods one with a SenderErrorCode. Every call ends by
 * its own deadline.
 */
export interface ExpiringSender {
  readonly chain: Chain;
  /** Lifetime of a new transaction, from the head's time. */
  readonly validForMs: number;
  /** Absent: transactions expire by time. */
  readonly epochs?: EpochWindows;
  /** Absent: each wallet pays its own fees. */
  readonly sponsorship?: Sponsorship;
  /** Absent: a wallet can pay with its whole balance. */
  readonly gathering?: Gatherer;
  /** Absent: only the native coin pays for execution. */
  readonly energy?: EnergyAccounts;
  readonly blockKeys?: BlockKeys;

  /** Must be awaited before any other call. See ChainReader. */
  checkNetwork(options?: ReadOptions): Promise<void>;

  /**
   * Balances of the wallet (null: the native coin), in a state not older than `block`; the lower of two sources'
   * answers (SUI: one source). `allowanceBaseUnits`: fees that are paid other than in coin (TRON: staked resources).
   */
  balances(
    wallet: Address,
    contracts: readonly (TokenContract | null)[],
    options?: ReadOptions,
  ): Promise<{
    readonly block: BlockHeader;
    readonly amounts: ReadonlyMap<TokenContract | null, bigint>;
    readonly allowanceBaseUnits: bigint;
    /** The part of `amounts` that cannot pay until it is gathered (SUI: coin objects). */
    readonly scattered: ReadonlyMap<TokenContract | null, bigint>;
  }>;

  /** Base units of the native coin per unit of execution (TRON: sun per energy); the highest of all sources. */
  workPrice(options?: ReadOptions): Promise<bigint>;

  /**
   * Simulates the payments on the newest state; answers are in the order of the intents. With a second source, an
   * obstacle counts only if that source does not contradict it. On TRON both must report that a payment can be made;
   * while they differ it is UNCLEAR. A node fault is thrown for all intents and is never WOULD_FAIL. Throws
   * RangeError for more than PREPARE_MAX intents.
   */
  prepare(intents: readonly PaymentIntent[], options?: ReadOptions): Promise<readonly PreparedExpiring[]>;

  /**
   * Decodes the signed bytes and compares each field with the request: SIGNED_OTHERWISE when one differs. Uses no
   * network. Deterministic: equal arguments give equal bytes.
   */
  sign(
    intent: PaymentIntent,
    validity: Validity,
    feeLimitBaseUnits: bigint,
    funding?: Funding,
  ): Promise<SignedExpiring>;

  /**
   * Undefined when all fields, signature and hash are as claimed. The wallet's own signature proves the bytes, even if
   * the database was manipulated. Pure.
   */
  differenceOf(stored: Pick<SignedExpiring, 'txHash' | 'raw'>, claim: ExpiringClaim): string | undefined;

  /**
   * Sends stored bytes to all sources; may be repeated. Never throws because of a node's answer or failure. After an
   * abort, unanswered transactions are UNKNOWN.
   */
  broadcast(
    signed: readonly Pick<SignedExpiring, 'txHash' | 'raw'>[],
    options?: ReadOptions,
  ): Promise<readonly ExpiringSendOutcome[]>;

  /**
   * Searches all blocks after `after`, up to the second one at or past `untilMs` (with `untilEpoch`: up to the first
   * two blocks of a later epoch). Each block is complete, linked and final, and two sources return the same; a single
   * one of several is never accepted. Only this proves that a transaction did not land in its lifetime; no node's
   * statement about the transaction does. TRON: headers prove the transactions of each block, and signatures of the
   * witnesses known at `after` prove the headers. Agreement on any other block is no proof. Where nodes index all
   * transactions and report their oldest block, two that have the whole stretch are asked for the transactions instead
   * of reading days of blocks. The caller may ask so only when its own scan has verified every block of the stretch.
   * BLOCK_NOT_FOUND while the final chain is not that long. INCONSISTENT_ANSWER while sources differ, a proof is
   * missing, or another block is in the place of `after`.
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
   * For a transaction that the gateway no longer has in its database. Two sources must agree; a single one of several
   * is never accepted. Undefined if unknown in blocks up to `height`, or not of the kind that `sign` makes.
   */
  readPayment(
    txHash: TxHash,
    block: Pick<BlockHeader, 'height'>,
    options?: ReadOptions,
  ): Promise<FoundExpiringPayment | undefined>;

  sources(): readonly SourceHealth[];
}
