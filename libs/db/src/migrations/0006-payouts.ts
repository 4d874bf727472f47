import { GRANTS, POLICIES } from './0006-payouts/grants.ts';
import { EXPIRY, GUARDS } from './0006-payouts/guards.ts';
import { LEDGER_KINDS, RESERVATIONS } from './0006-payouts/ledger.ts';
import { MERCHANT_SECRETS } from './0006-payouts/merchant-secrets.ts';
import { HOT_WALLET_DEPOSITS, PAYOUT_MONEY } from './0006-payouts/payout-money.ts';
import { OLDER_TABLES, OPERATOR_TABLES, PAYOUT_TABLES } from './0006-payouts/tables.ts';

/**
 * Payouts: the signer's rows, what the chain made of its transactions, where their money stands in the ledger, and what
 * operators decide. Only added to: services of before go on, and what they reserve meanwhile gets its row as well.
 */
export const name = '0006-payouts';

/** Made while others write. What is left half made by a run that failed goes first. */
const INDEXES: readonly string[] = [
  [
    'orders_open_payouts',
    "orders (chain, order_pk) where order_type = 'PAYOUT' and status in ('INIT', 'PENDING', 'PENDING_CONFIRMATION')",
  ],
  ['orders_payout_receiver', "orders (address) where order_type = 'PAYOUT'"],
  ['ledger_transaction_created_at', 'ledger_transaction using brin (created_at)'],
].flatMap(([index, columns]) => [
  `do $$ begin
     if exists (select from pg_index where indexrelid = to_regclass('public.${index}') and not indisvalid) then
       drop index public.${index};
     end if;
   end $$`,
  `create index concurrently if not exists ${index} on ${columns}`,
]);

/**
 * The rows of payouts that were reserved before reserve() made them. Whoever is in the middle of the old one has written an
 * order by now: with the orders locked it is over, and everybody who comes after calls the new one.
 */
const BACKFILL = `
lock table orders in share mode;
insert into payout (order_pk, chain, wallet, requested_at, expires_at)
  select o.order_pk, o.chain, o.source_address, o.created_at, o.expires_at from orders o
  where o.order_type = 'PAYOUT' and o.status in ('INIT', 'PENDING', 'PENDING_CONFIRMATION')
    and o.source_address is not null
    and exists (select from ledger_transaction t where t.ref = 'reserve:' || o.order_pk)
  on conflict do nothing;
`;

export const sql = [
  ...INDEXES,
  PAYOUT_TABLES,
  OPERATOR_TABLES,
  ...OLDER_TABLES,
  ...LEDGER_KINDS,
  GUARDS,
  EXPIRY,
  RESERVATIONS,
  PAYOUT_MONEY,
  HOT_WALLET_DEPOSITS,
  POLICIES,
  GRANTS,
  MERCHANT_SECRETS,
  BACKFILL,
];
