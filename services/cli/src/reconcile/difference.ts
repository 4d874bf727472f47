export type DifferenceKind =
  /** The postings of an asset do not sum to zero. */
  | 'LEDGER_NOT_ZERO'
  /** An account differs from the sum of its rows. */
  | 'ACCOUNT_WRONG'
  /** The ledger has an asset that the networks file does not name, so the chain cannot be read. */
  | 'ASSET_UNKNOWN'
  /** A movement waits far too long for its booking. */
  | 'BOOKING_LATE'
  /** A deposit address holds more than the recorded movements. */
  | 'DEPOSIT_UNSEEN'
  /** A deposit address holds less. */
  | 'DEPOSIT_MISSING'
  /** The hot wallets hold more than the ledger. */
  | 'HOT_WALLET_MORE'
  /** The hot wallets hold less. */
  | 'HOT_WALLET_LESS'
  /** Unbooked native coin for fees. */
  | 'GAS_NOT_BOOKED'
  /** The chain has transactions of a hot wallet that the signer did not make, or lacks some that it made. */
  | 'TRANSACTIONS_FOREIGN'
  /** A hot wallet is halted because it sent transactions that this database does not know. */
  | 'WALLET_IN_DOUBT'
  /** payout-signer does not derive a deposit address: a third party controls its money, regardless of the ledger. */
  | 'ADDRESS_NOT_OURS'
  /** Two sources differ on the same block. */
  | 'SOURCES_DISAGREE';

/** One difference. Amounts in base units of the asset. */
export interface Difference {
  readonly kind: DifferenceKind;
  readonly symbol: string;
  readonly subject: string;
  /** Excess of the chain (or the rows) over the ledger; null if unknown. */
  readonly amount: bigint | null;
  /** One sentence with the observation. */
  readonly detail: string;
  /** One sentence with possible causes and the correction. */
  readonly mend: string;
}

/** A deviation with a known reason, which disappears by itself. */
export interface Explanation {
  readonly kind: string;
  readonly symbol: string;
  readonly subject: string;
  readonly amount: bigint;
  readonly detail: string;
}

export interface Line {
  readonly symbol: string;
  readonly what: 'deposit addresses' | 'hot wallets';
  readonly ledger: bigint;
  /** Amount that is not booked yet; see Explanation. */
  readonly onItsWay: bigint;
  /** Native coin from third parties on deposit addresses that is not an asset of orders. */
  readonly unasked: bigint;
  readonly onChain: bigint | null;
}

export interface Comparison {
  readonly lines: readonly Line[];
  readonly explanations: readonly Explanation[];
  readonly differences: readonly Difference[];
}
