import type { NetworkConfig } from '@opentill/contracts/network-config';
import type { Db } from '@opentill/db/database';
import type { Anchor } from '../reconcile/chain-ledger.ts';
import type { Hold, NamedPayout, StoredPayment } from './store/restored-rows.ts';

/** Lag of the database's clock behind the chain's at the restore. */
export const CLOCKS_DIFFER_MS = 300_000;

export interface WalletWork {
  readonly db: Db;
  readonly network: NetworkConfig;
  readonly hold: Hold;
  readonly onProgress: (height: number) => void;
}

export interface AnchoredWork extends WalletWork {
  readonly anchor: Anchor;
}

/** After this block no transaction of the lost machine can land; the time is an estimate. */
export interface WorkEnd {
  readonly what: string;
  readonly at: Date;
}

/** Serves a family without nonces. The returned sentences are what the wallet waits for. */
export type OpenExpiringWallet = (work: AnchoredWork) => {
  readonly noteSent: () => Promise<readonly string[]>;
  /** Transactions that paid no third party. */
  readonly bookOwn?: () => Promise<void>;
  readonly readEnd: () => Promise<WorkEnd | undefined>;
  readonly findUnsettled: () => Promise<readonly string[]>;
};

export interface WalletProof {
  /** Sentences: what has to come true, or what the operator has to correct. */
  readonly waitsFor: readonly string[];
  /** Set if the wallet waits only for this chain time. */
  readonly waitsUntil: Date | undefined;
  readonly adopted: number;
  readonly silent: readonly string[];
}

/** Reconciled when all lists are empty. */
export interface WalletState extends WalletProof {
  readonly hold: Hold;
  readonly network: NetworkConfig;
  readonly payments: readonly StoredPayment[];
  readonly payouts: readonly NamedPayout[];
}

/** The wallet only waits for time, so no other wallet has to wait for it. */
export function staysHeld({ waitsUntil, payments, payouts }: WalletState): boolean {
  return waitsUntil !== undefined && payments.length + payouts.length === 0;
}

export interface Decided {
  readonly by: string;
  readonly reason: string;
}

/** The decider when the restore adopts a payment that certainly belongs to a payout. */
export const PROVEN: Decided = {
  by: 'opentill restore',
  reason: 'signed by the wallet, with the nonce or within the lifetime of this payout',
};
