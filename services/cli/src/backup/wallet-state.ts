import type { NetworkConfig } from '@opentill/contracts/network-config';
import type { Db } from '@opentill/db/database';
import type { Anchor } from '../reconcile/books.ts';
import type { Hold, NamedPayout, StoredPayment } from './store/restored-rows.ts';

/** Maximum lag of the database's clock behind the chain's at the restore. */
export const CLOCKS_DIFFER_MS = 300_000;

export interface WalletWork {
  readonly db: Db;
  readonly network: NetworkConfig;
  readonly hold: Hold;
  readonly onProgress: (height: number) => void;
}

export interface AnchoredWork extends WalletWork {
  /** A block that the scanner has verified since the backup. */
  readonly anchor: Anchor;
}

/** The block to verify after which no transaction of the lost machine can land, and its estimated time. */
export interface WorkEnd {
  readonly what: string;
  readonly at: Date;
}

/** Reconciliation of a wallet on a family without nonces. The returned sentences are what the wallet waits for. */
export type OpenExpiringWallet = (work: AnchoredWork) => {
  readonly noteSent: () => Promise<readonly string[]>;
  /** Books transactions that paid no third party. */
  readonly bookOwn?: () => Promise<void>;
  /** Undefined once it is verified. */
  readonly readEnd: () => Promise<WorkEnd | undefined>;
  readonly findUnsettled: () => Promise<readonly string[]>;
};

/** Facts that the wallet's transactions since the backup prove. */
export interface WalletProof {
  /** Conditions that have to come true, or that the operator has to correct, as sentences. */
  readonly waitsFor: readonly string[];
  /** Set if the only condition is that the chain reaches this time. */
  readonly waitsUntil: Date | undefined;
  readonly adopted: number;
  /** Endpoints that did not report their pool. */
  readonly silent: readonly string[];
}

/** State of one held wallet. It is reconciled when all lists are empty. */
export interface WalletState extends WalletProof {
  readonly hold: Hold;
  readonly network: NetworkConfig;
  readonly payments: readonly StoredPayment[];
  readonly payouts: readonly NamedPayout[];
}

/** True if the wallet only waits for time, so that no other wallet has to wait for it. */
export function staysHeld({ waitsUntil, payments, payouts }: WalletState): boolean {
  return waitsUntil !== undefined && payments.length + payouts.length === 0;
}

export interface Decided {
  readonly by: string;
  readonly reason: string;
}

/** Recorded as the decider when the restore adopts a payment that certainly belongs to a payout. */
export const PROVEN: Decided = {
  by: 'opentill restore',
  reason: 'signed by the wallet, with the nonce or within the lifetime of this payout',
};
