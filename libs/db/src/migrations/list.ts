import * as foundations from './0001-foundations.ts';
import * as scanning from './0002-scanning.ts';
import * as callbacks from './0003-callbacks.ts';
import * as retention from './0004-retention.ts';
import * as ledgerChecks from './0005-ledger-checks.ts';
import * as payouts from './0006-payouts.ts';
import * as restores from './0007-restores.ts';
import * as tron from './0008-tron.ts';
import * as payoutHardening from './0009-payout-hardening.ts';
import * as sweeps from './0010-sweeps.ts';
import * as expiringWallets from './0011-expiring-wallets.ts';
import * as sui from './0012-sui.ts';
import * as unmatchedDeposits from './0014-unmatched-deposits.ts';
import * as suiSending from './0015-sui-sending.ts';
import * as suiFates from './0016-sui-fates.ts';
import * as foreignTransfers from './0017-foreign-transfers.ts';
import * as sweepDays from './0018-sweep-days.ts';
import * as restoredDeposits from './0019-restored-deposits.ts';
import * as readableAttempts from './0020-readable-attempts.ts';
import * as plannedCosts from './0021-planned-costs.ts';
import * as ageOfDeposits from './0022-age-of-deposits.ts';
import * as suiProofs from './0024-sui-proofs.ts';
import * as attemptLimits from './0025-attempt-limits.ts';
import * as collectionSums from './0026-collection-sums.ts';
import * as oldestMerchants from './0027-oldest-merchants.ts';
import * as handBookings from './0028-hand-bookings.ts';
import * as chainStatus from './0029-chain-status.ts';
import * as foreignDepositAddresses from './0030-foreign-deposit-addresses.ts';

/** A step of the schema. Once shipped it is frozen: its checksum is remembered, a change is a later step. */
export interface Migration {
  readonly name: string;
  /**
   * One transaction; or steps, each committed by itself, for tables that services write meanwhile: so none is locked while
   * another is changed, and an index can be made concurrently (alone in its step). A migration of steps that failed begins
   * anew: each must do no harm when it is done already.
   */
  readonly sql: string | readonly string[];
}

/** Every migration in the order of its application. Forward only. */
export const MIGRATIONS: readonly Migration[] = [
  foundations,
  scanning,
  callbacks,
  retention,
  ledgerChecks,
  payouts,
  restores,
  tron,
  payoutHardening,
  sweeps,
  expiringWallets,
  sui,
  unmatchedDeposits,
  suiSending,
  suiFates,
  foreignTransfers,
  sweepDays,
  restoredDeposits,
  readableAttempts,
  plannedCosts,
  ageOfDeposits,
  suiProofs,
  attemptLimits,
  collectionSums,
  oldestMerchants,
  handBookings,
  chainStatus,
  foreignDepositAddresses,
];
