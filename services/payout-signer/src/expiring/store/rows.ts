import { sql, type RawBuilder } from 'kysely';
import type { WalletKey } from '../../payouts/payout-facts.ts';

export function ofWallet({ chain, wallet }: WalletKey): RawBuilder<boolean> {
  return sql<boolean>`a.chain = ${chain} and a.wallet = ${wallet}`;
}

/** No attempt of payout `p` may be alive, and no own transaction is in a block. */
export const hasNoLiveAttempt: RawBuilder<boolean> = sql<boolean>`(not exists (
    select from payout_attempt live where live.order_pk = p.order_pk and live.state <> 'DEAD')
  and not exists (
    select from own_transaction t join own_transaction_fate f on f.chain = t.chain and f.tx_hash = t.tx_hash
    where t.order_pk = p.order_pk and f.state in ('MINED', 'VERIFIED')))`;

/** Without a halt; excludes those that a restore found and assigned. */
export function newForeign({ chain, wallet }: WalletKey): RawBuilder<unknown> {
  return sql`from foreign_transaction x where x.chain = ${chain} and x.wallet = ${wallet} and x.halt_id is null
    and not exists (select from own_transaction t where t.chain = x.chain and t.tx_hash = x.tx_hash)
    and not exists (select from forgotten_payment f where f.chain = x.chain and f.tx_hash = x.tx_hash and f.decision is not null)`;
}

/** Why the own scan is no proof of attempt `a`'s death. null when it is, or when an operator decided after its end. */
export const whyUnproven: RawBuilder<string | null> = sql<string | null>`case when not exists (
    select from payout_decision d where d.order_pk = a.order_pk and d.decision = 'PAY_AGAIN' and d.handled_at is null
      and d.unproven_tx_hash = a.tx_hash)
  then why_epochs_unproven(a.chain, a.reference_height, a.last_epoch) end`;

const LIVES = '3 days';

/** Gatherings `t`, with their outcomes `f`, that may still land or whose block is not verified. */
export function openGatherings(chain: WalletKey['chain']): RawBuilder<unknown> {
  return sql`from own_transaction t left join own_transaction_fate f on f.chain = t.chain and f.tx_hash = t.tx_hash
      left join chain_cursor c on c.chain = t.chain
    where t.chain = ${chain} and t.purpose = 'GATHER' and t.signed_at > now() - ${LIVES}::interval
      and f.state is distinct from 'VERIFIED'
      and (f.state = 'MINED' or coalesce((t.fee_terms->>'lastEpoch')::int8 >= c.verified_epoch, true))`;
}
