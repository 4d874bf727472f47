/** What makes books and chain differ, by name. */
export type DifferenceKind =
  /** The postings of an asset do not sum to zero. */
  | 'LEDGER_NOT_ZERO'
  /** An account is not what the rows behind it add up to. */
  | 'ACCOUNT_WRONG'
  /** An asset stands in the ledger, but not in the networks file: the chain cannot be asked. */
  | 'ASSET_UNKNOWN'
  /** Something waits for its booking far longer than it should. */
  | 'BOOKING_LATE'
  /** A deposit address holds more than it received as far as the books know. */
  | 'DEPOSIT_UNSEEN'
  /** A deposit address holds less. */
  | 'DEPOSIT_MISSING'
  /** The hot wallets hold more than the ledger says. */
  | 'HOT_WALLET_MORE'
  /** The hot wallets hold less. */
  | 'HOT_WALLET_LESS'
  /** Native coin for fees that nobody booked. */
  | 'GAS_NOT_BOOKED'
  /** The chain has transactions of a hot wallet that the signer did not make, or lacks some that it made. */
  | 'TRANSACTIONS_FOREIGN'
  /** A hot wallet is halted because it sent what this database does not know: what it holds is not settled yet. */
  | 'WALLET_IN_DOUBT'
  /** payout-signer does not derive a deposit address: what it holds is not ours, whatever the ledger says. */
  | 'ADDRESS_NOT_OURS'
  /** Two sources say different things of the same block. */
  | 'SOURCES_DISAGREE';

/** One difference. Amounts in base units of the asset. */
export interface Difference {
  readonly kind: DifferenceKind;
  readonly symbol: string;
  /** Account, address, order or wallet. */
  readonly subject: string;
  /** What the chain (or the rows) has more than the ledger; null where that is not known. */
  readonly amount: bigint | null;
  /** One sentence on what was found. */
  readonly detail: string;
  /** One sentence on what it may be and what to do. */
  readonly mend: string;
}

/** What differs for a known reason that passes by itself. */
export interface Explanation {
  readonly kind: string;
  readonly symbol: string;
  readonly subject: string;
  readonly amount: bigint;
  readonly detail: string;
}

/** One line of the comparison. */
export interface Line {
  readonly symbol: string;
  readonly what: 'deposit addresses' | 'hot wallets';
  readonly ledger: bigint;
  /** What is on its way into the ledger; see Explanation. */
  readonly onItsWay: bigint;
  /** Native coin on deposit addresses that others sent and that no order could be paid with. */
  readonly unasked: bigint;
  readonly onChain: bigint | null;
}

/** What became of comparing one chain. */
export interface Comparison {
  readonly lines: readonly Line[];
  readonly explanations: readonly Explanation[];
  readonly differences: readonly Difference[];
}
