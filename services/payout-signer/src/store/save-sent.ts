import { sql } from 'kysely';
import type { TxHash } from '@opentill/chain/transfer';
import { PAYOUTS_PER_EVENT } from '@opentill/contracts/event-catalog';
import type { Db, Tx } from '@opentill/db/database';
import { appendToOutbox, newEvent } from '@opentill/db/outbox';
import { familyOf } from '@opentill/domain/chains';
import type { SentTransaction, WalletKey } from '../payouts/payout-facts.ts';
import { lockPayouts } from './rows.ts';

export interface EventDeps {
  readonly newId: () => string;
  readonly clock: { now(): Date };
}

export async function saveSent(
  tx: Tx,
  { chain, wallet }: WalletKey,
  fencingToken: number,
  sent: readonly SentTransaction[],
): Promise<readonly string[]> {
  await sql`
    update own_transaction t set first_sent_at = coalesce(t.first_sent_at, clock_timestamp()),
      last_sent_at = clock_timestamp(), send_outcome = s.outcome
    from unnest(${sent.map((s) => s.txHash)}::text[], ${sent.map((s) => s.outcome)}::text[]) as s (tx_hash, outcome)
    where t.chain = ${chain} and t.wallet = ${wallet} and t.tx_hash = s.tx_hash`.execute(tx);
  const orderPks = [...new Set(sent.flatMap(({ orderPk }) => (orderPk === null ? [] : [orderPk])))];
  if (orderPks.length === 0) return [];
  await lockPayouts(tx, orderPks);
  const { rows } = await sql<{ order_pk: string }>`
    update payout p set first_sent_at = clock_timestamp(), fencing_token = ${fencingToken}, version = p.version + 1,
      updated_at = now()
    where p.order_pk = any(${orderPks}::uuid[]) and p.chain = ${chain} and p.wallet = ${wallet} and p.state = 'SIGNED'
      and p.first_sent_at is null
    returning p.order_pk`.execute(tx);
  return rows.map((row) => row.order_pk);
}

export async function announcePayouts(
  tx: Tx,
  { chain }: WalletKey,
  orderPks: readonly string[],
  deps: EventDeps,
  traceparent?: string,
): Promise<void> {
  const events = [];
  for (let i = 0; i < orderPks.length; i += PAYOUTS_PER_EVENT) {
    const data = { orderPks: orderPks.slice(i, i + PAYOUTS_PER_EVENT) };
    events.push({ ...newEvent('payout.changed', familyOf(chain), data, deps), traceparent });
  }
  await appendToOutbox(tx, 'signer', events);
}

export async function readRaw(
  db: Db,
  { chain, wallet }: WalletKey,
  txHashes: readonly TxHash[],
): Promise<ReadonlyMap<TxHash, Uint8Array>> {
  const { rows } = await sql<{ tx_hash: string; raw: Buffer }>`
    select tx_hash, raw from own_transaction
    where chain = ${chain} and wallet = ${wallet} and tx_hash = any(${txHashes}::text[])`.execute(db);
  return new Map(rows.map((row) => [row.tx_hash as TxHash, row.raw]));
}
