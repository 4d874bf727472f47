import type { NetworkConfig } from '@opentill/contracts/network-config';
import type { Db } from '@opentill/db/database';
import type { Anchor } from '../reconcile/books.ts';
import type { Hold, NamedPayout, StoredPayment } from './store/restored-rows.ts';

/** By so much the database's clock at the restore may have been behind the chain's. */
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

/** What has to be verified before nothing of the lost machine can land any more, and when about. */
export interface WorkEnd {
  readonly what: string;
  readonly at: Date;
}

/** The part of a family without nonces in reconciling a wallet; sentences are what the wallet waits for. */
export type OpenExpiringWallet = (work: AnchoredWork) => {
  /** Writes down what the wallet sent and the database does not know. */
  readonly noteSent: () => Promise<readonly string[]>;
  /** Books what paid nobody. */
  readonly bookOwn?: () => Promise<void>;
  /** Undefined: it is verified. */
  readonly readEnd: () => Promise<WorkEnd | undefined>;
  readonly findUnsettled: () => Promise<readonly string[]>;
};

/** What the transactions of a wallet since the backup prove. */
export interface WalletProof {
  /** What has to come about by itself, or be mended: sentences. */
  readonly waitsFor: readonly string[];
  /** All that it waits for is that the chain comes to this time; undefined: it waits for nothing, or for something else. */
  readonly waitsUntil: Date | undefined;
  readonly adopted: number;
  /** Endpoints that did not say what waits in their pool. */
  readonly silent: readonly string[];
}

/** How things stand with one held wallet. Nothing is open when all lists are empty. */
export interface WalletState extends WalletProof {
  readonly hold: Hold;
  readonly network: NetworkConfig;
  /** Whose order is not known. */
  readonly payments: readonly StoredPayment[];
  /** Which nobody knows whether to pay. */
  readonly payouts: readonly NamedPayout[];
}

/** Whether it stays held by itself, without anything for somebody to do: no other wallet has to wait for it. */
export function staysHeld({ waitsUntil, payments, payouts }: WalletState): boolean {
  return waitsUntil !== undefined && payments.length + payouts.length === 0;
}

/** Who decided, and why. */
export interface Decided {
  readonly by: string;
  readonly reason: string;
}

/** In whose name the restore takes a payment over that is certainly a payout's. */
export const PROVEN: Decided = {
  by: 'opentill restore',
  reason: 'signed by the wallet, for the nonce or within the life of just this payout',
};
