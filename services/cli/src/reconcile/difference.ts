export type DifferenceKind =
  | 'LEDGER_NOT_ZERO'
  | 'ACCOUNT_WRONG'
  /** The networks file does not name the asset, so the chain cannot be read. */
  | 'ASSET_UNKNOWN'
  | 'BOOKING_LATE'
  /** More than the recorded movements. */
  | 'DEPOSIT_UNSEEN'
  | 'DEPOSIT_MISSING'
  | 'HOT_WALLET_MORE'
  | 'HOT_WALLET_LESS'
  | 'GAS_NOT_BOOKED'
  /** The signer did not make them, or the chain lacks some that it made. */
  | 'TRANSACTIONS_FOREIGN'
  /** Halted, because it sent transactions that this database does not know. */
  | 'WALLET_IN_DOUBT'
  /** payout-signer does not derive the deposit address: a third party controls its money. */
  | 'ADDRESS_NOT_OURS'
  | 'SOURCES_DISAGREE';

/** Amounts in base units of the asset. */
export interface Difference {
  readonly kind: DifferenceKind;
  readonly symbol: string;
  readonly subject: string;
  /** Excess of the chain (or the rows) over the ledger; null if unknown. */
  readonly amount: bigint | null;
  readonly detail: string;
  /** One sentence with possible causes and the correction. */
  readonly mend: string;
}

/** It disappears by itself. */
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
