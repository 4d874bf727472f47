import type { Db, Tx } from '@opentill/db/database';
import { assertLease, type Lease } from '@opentill/db/lease';
import type { SaveOutcome } from '../payouts/payout-facts.ts';

/** The transaction fails if another process has taken over the lease. */
export type UnderLease = <T>(lease: Lease, write: (tx: Tx, token: number) => Promise<T>) => Promise<T>;

export function underLeaseOf(db: Db): UnderLease {
  return (lease, write) =>
    db.transaction().execute(async (tx) => {
      await assertLease(tx, 'signer', lease);
      return write(tx, lease.fencingToken);
    });
}

export async function outcomeOf(write: Promise<void>): Promise<SaveOutcome> {
  try {
    await write;
    return { kind: 'SAVED' };
  } catch (error) {
    if (error instanceof NotSaved) return error.outcome;
    throw error;
  }
}

/** Rolls back: the state differs from the caller's view. */
export class NotSaved extends Error {
  override readonly name = 'NotSaved';
  readonly outcome: Exclude<SaveOutcome, { kind: 'SAVED' }>;

  constructor(outcome: Exclude<SaveOutcome, { kind: 'SAVED' }>) {
    super(outcome.kind);
    this.outcome = outcome;
  }
}
