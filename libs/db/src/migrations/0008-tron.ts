import { ATTEMPT_GUARDS } from './0008-tron/attempt-guards.ts';
import { PAYOUT_ATTEMPTS, PAYOUT_CHECKS } from './0008-tron/attempts.ts';
import { ATTEMPT_GRANTS } from './0008-tron/grants.ts';
import { RETURNED_MONEY } from './0008-tron/payout-money.ts';
import { SCANNER_GRANTS, SCANNER_SCHEMA } from './0008-tron/scanner.ts';

/**
 * TRON: transactions that end by time instead of by a nonce, and the payouts that go back to be signed anew, or to their end,
 * when it is proven that what was signed for them landed nowhere. Only added to.
 */
export const name = '0008-tron';

export const sql = [
  PAYOUT_ATTEMPTS,
  ...PAYOUT_CHECKS,
  ATTEMPT_GUARDS,
  RETURNED_MONEY,
  ATTEMPT_GRANTS,
  SCANNER_SCHEMA,
  SCANNER_GRANTS,
];
