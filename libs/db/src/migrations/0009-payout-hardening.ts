import { INCIDENTS } from './0009-payout-hardening/incidents.ts';
import { POLICY_WINDOWS } from './0009-payout-hardening/policy-windows.ts';
import { RESERVATIONS } from './0009-payout-hardening/reservations.ts';

/**
 * Payouts that stand in nobody's way: none is reserved that nobody could ever pay or that would never end; many that wait
 * cost a look nothing; a wallet that sent what its database forgot is an incident; nobody but the signer can hold what it locks.
 */
export const name = '0009-payout-hardening';

const OPEN = "state in ('REQUESTED', 'AUTHORISED', 'SIGNED')";

/** Made while others write. What is left half made by a run that failed goes first. */
const INDEXES: readonly string[] = [
  // Approvals of the policy's keys, however many others there are.
  ['payout_approval_recent', 'payout_approval (approver, approved_at)'],
  // What a pass of the signer looks for, one index each: thousands that wait for one thing are not read for another.
  [
    'payout_fresh',
    "payout (chain, wallet, requested_at, order_pk) where state = 'REQUESTED' and obstacle is null",
  ],
  [
    'payout_hindered',
    "payout (chain, wallet, requested_at, order_pk) where state = 'REQUESTED' and obstacle is not null and (obstacle <> 'NEEDS_APPROVAL' or obstacle_at is null)",
  ],
  [
    'payout_for_approval',
    "payout (chain, wallet, waiting_since) where state = 'REQUESTED' and obstacle = 'NEEDS_APPROVAL'",
  ],
  [
    'payout_unsigned',
    "payout (chain, wallet, obstacle_at nulls first, requested_at, order_pk) where state = 'AUTHORISED'",
  ],
  // What operators ask for.
  ['payout_stuck', `payout (order_pk) where obstacle is not null and ${OPEN}`],
].flatMap(([index, columns]) => [
  `do $$ begin
     if exists (select from pg_index where indexrelid = to_regclass('public.${index}') and not indisvalid) then
       drop index public.${index};
     end if;
   end $$`,
  `create index concurrently if not exists ${index} on ${columns}`,
]);

export const sql = [...INDEXES, RESERVATIONS, ...INCIDENTS, POLICY_WINDOWS];
