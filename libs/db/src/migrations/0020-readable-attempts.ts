/**
 * Numbers of attempts that programs can read: one that is written and can't be read keeps its wallet from everything, for good, since
 * nothing of an attempt is ever changed. Only added to.
 */
export const name = '0020-readable-attempts';

const READABLE_MAX = Number.MAX_SAFE_INTEGER;

export const sql = [
  `alter table payout_attempt drop constraint if exists payout_attempt_readable,
    add constraint payout_attempt_readable check (greatest(unique_ms, expires_ms, reference_height, last_epoch) <= ${READABLE_MAX}) not valid`,
  'alter table payout_attempt validate constraint payout_attempt_readable',
];
