import { sql, type RawBuilder } from 'kysely';
import type { WalletKey } from '../../payouts/payout-facts.ts';

/** Whose attempts: `a` is payout_attempt. */
export function ofWallet({ chain, wallet }: WalletKey): RawBuilder<boolean> {
  return sql<boolean>`a.chain = ${chain} and a.wallet = ${wallet}`;
}

/** What a payout that gets its next attempt must not have: one that is not proven dead, or any transaction that a block holds. */
export const hasNoLiveAttempt: RawBuilder<boolean> = sql<boolean>`(not exists (
    select from payout_attempt live where live.order_pk = p.order_pk and live.state <> 'DEAD')
  and not exists (
    select from own_transaction t join own_transaction_fate f on f.chain = t.chain and f.tx_hash = t.tx_hash
    where t.order_pk = p.order_pk and f.state in ('MINED', 'VERIFIED')))`;

/**
 * What the wallet did that nobody here signed, and that no halt was set for: not what a restore has found since, and an operator
 * or the restore itself has said whose it is.
 */
export function newForeign({ chain, wallet }: WalletKey): RawBuilder<unknown> {
  return sql`from foreign_transaction x where x.chain = ${chain} and x.wallet = ${wallet} and x.halt_id is null
    and not exists (select from own_transaction t where t.chain = x.chain and t.tx_hash = x.tx_hash)
    and not exists (select from forgotten_payment f where f.chain = x.chain and f.tx_hash = x.tx_hash and f.decision is not null)`;
}

/**
 * Where epochs end the attempt `a`: why the own scan is no proof that no block holds it. Null: it is; or an operator has decided about
 * this attempt after its end, and his word stands in its place.
 */
export const whyUnproven: RawBuilder<string | null> = sql<string | null>`case when not exists (
    select from payout_decision d where d.order_pk = a.order_pk and d.decision = 'PAY_AGAIN' and d.handled_at is null
      and d.unproven_tx_hash = a.tx_hash)
  then why_epochs_unproven(a.chain, a.reference_height, a.last_epoch) end`;

/** Of one that says no epoch: by then it can land no more. */
const LIVES = '3 days';

/**
 * Gatherings `t` of a chain, with their fates `f`, that may land yet or are in a block that is not verified: until the own scan has
 * verified a block of a later epoch.
 */
export function openGatherings(chain: WalletKey['chain']): RawBuilder<unknown> {
  return sql`from own_transaction t left join own_transaction_fate f on f.chain = t.chain and f.tx_hash = t.tx_hash
      left join chain_cursor c on c.chain = t.chain
    where t.chain = ${chain} and t.purpose = 'GATHER' and t.signed_at > now() - ${LIVES}::interval
      and f.state is distinct from 'VERIFIED'
      and (f.state = 'MINED' or coalesce((t.fee_terms->>'lastEpoch')::int8 >= c.verified_epoch, true))`;
}
