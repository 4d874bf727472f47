import { sql, type RawBuilder } from 'kysely';
import type { Tx } from '@opentill/db/database';
import type { WalletKey } from '../payouts/payout-facts.ts';

export function ofWallet({ chain, wallet }: WalletKey): RawBuilder<boolean> {
  return sql<boolean>`n.chain = ${chain} and n.wallet = ${wallet}`;
}

/** Limit key: `o` is the order, `m` its movement. Refunds count like payouts. */
export const COUNTS_AS: RawBuilder<string> = sql<string>`case when m.kind is null or m.kind = 'REFUND' then o.symbol
  else m.kind || ' of ' || o.symbol end`;

export function openHalts({ chain, wallet }: WalletKey): RawBuilder<unknown> {
  return sql`from wallet_halt h where h.chain = ${chain} and (h.wallet is null or h.wallet = ${wallet})
    and h.released_at is null`;
}

/** No own nonce of payout `p` is in flight or landed, and no own transaction is in a block. */
export const hasNoOwnNonce: RawBuilder<boolean> = sql<boolean>`(not exists (
    select from wallet_nonce own where own.order_pk = p.order_pk and own.state in ('SIGNED', 'FINAL'))
  and not exists (
    select from own_transaction t join own_transaction_fate f on f.chain = t.chain and f.tx_hash = t.tx_hash
    where t.order_pk = p.order_pk and f.state in ('MINED', 'VERIFIED')))`;

/** About the highest nonce that payout `p` lost. */
export const isDecidedAgain: RawBuilder<boolean> = sql<boolean>`exists (
  select from payout_decision d where d.order_pk = p.order_pk and d.decision = 'PAY_AGAIN' and d.handled_at is null
    and d.nonce = (select max(lost.nonce) from wallet_nonce lost where lost.order_pk = p.order_pk and lost.state = 'TAKEN'))`;

/** In key order, like every transaction that changes several payouts: the tracker expires them and books them. */
export async function lockPayouts(tx: Tx, orderPks: readonly string[]): Promise<void> {
  if (orderPks.length < 2) return;
  await sql`select from payout p where p.order_pk = any(${orderPks}::uuid[]) order by p.order_pk for update`.execute(
    tx,
  );
}
