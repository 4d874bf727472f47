import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import type { Insertable } from 'kysely';
import type { OrdersTable } from '@opentill/db/tables';
import { newId } from '@opentill/runtime/ids';
import {
  aFate,
  aReservedPayout,
  refuse,
  send,
  sign,
  type OwnTransactionRow,
} from '@opentill/testkit/payout-scenario';
import type { OrderRow } from '@opentill/testkit/scenario';
import type { HandlerDeps } from '../src/handlers/settle-event.ts';
import { createFateSweep, sweepDuePayouts } from '../src/sweep-payouts.ts';
import { envelope, handle, type Event, type TrackerScenario } from './tracker-scenario.ts';

export function changed(...orders: readonly Pick<OrderRow, 'order_pk'>[]): Event<'payout.changed'> {
  return envelope('payout.changed', { orderPks: orders.map((order) => order.order_pk) });
}

export function fated(...transactions: readonly OwnTransactionRow[]): Event<'fate.changed'> {
  return envelope('fate.changed', {
    chain: transactions[0]?.chain ?? 'ETH_SEPOLIA',
    txHashes: transactions.map((transaction) => transaction.tx_hash),
  });
}

/** From the beginning, like a starting tracker. */
export async function sweepFates(deps: HandlerDeps, pageSize = 5_000): Promise<void> {
  const sweep = createFateSweep(deps, { pageSize, graceMs: 0, lookBackMs: 300_000, from: 'beginning' });
  while ((await sweep(new AbortController().signal)) === 'again');
}

export async function sweepDue(deps: HandlerDeps): Promise<void> {
  while ((await sweepDuePayouts(deps)) === 'again');
}

/** Writes rows like signer, scanner and operators, and delivers their events. */
export function payoutsOn(s: TrackerScenario) {
  const { admin } = s;
  return {
    /** Reserved, 100, with its first notification, as the api creates it. */
    async payout(overrides: Partial<Insertable<OrdersTable>> = {}): Promise<OrderRow> {
      const order = await aReservedPayout(admin, {
        amount: 100n,
        accepted_amount: 100n,
        confirmations_required: 3,
        ...overrides,
      });
      await admin
        .insertInto('notification')
        .values({
          event_id: newId(),
          merchant_id: order.merchant_id,
          subject_id: order.order_pk,
          sequence: 1,
          notify_type: 'ORDER_PENDING',
          data: JSON.stringify({ orderId: order.order_id, status: 'INIT' }),
          occurred_at: new Date(),
        })
        .execute();
      return order;
    },
    sign: (order: OrderRow) => sign(admin, order),
    refuse: (order: OrderRow, reason: string) => refuse(admin, order, reason),
    async sent(...orders: readonly OrderRow[]): Promise<void> {
      for (const order of orders) await send(admin, order);
      await handle(changed(...orders), s.deps);
    },
    fate: (
      transaction: OwnTransactionRow,
      ...rest: Parameters<typeof aFate> extends [unknown, unknown, ...infer R] ? R : never
    ) => aFate(admin, transaction, ...rest),
    async fated(
      transaction: OwnTransactionRow,
      ...rest: Parameters<typeof aFate> extends [unknown, unknown, ...infer R] ? R : never
    ) {
      await aFate(admin, transaction, ...rest);
      await handle(fated(transaction), s.deps);
    },
    async decide(
      order: Pick<OrderRow, 'order_pk'>,
      decision: 'ACCEPT' | 'REFUSE',
      reason = 'because',
    ): Promise<string> {
      const id = randomUUID();
      await sql`insert into order_decision (decision_id, order_pk, decision, reason, operator)
        values (${id}, ${order.order_pk}, ${decision}, ${reason}, 'alice')`.execute(admin);
      return id;
    },
    async outcomeOf(decisionId: string): Promise<string | null> {
      const row = await admin
        .selectFrom('order_decision')
        .select('outcome')
        .where('decision_id', '=', decisionId)
        .executeTakeFirstOrThrow();
      return row.outcome;
    },
    /** Accounts with a non-zero sum of this order's postings. */
    async postingsOf(order: Pick<OrderRow, 'order_pk'>): Promise<Record<string, bigint>> {
      const { rows } = await sql<{ kind: string; amount: bigint }>`
        select a.kind, sum(p.amount) as amount from ledger_transaction t join ledger_posting p using (ledger_tx_id)
          join ledger_account a using (account_id) where t.order_pk = ${order.order_pk} group by a.kind
        having sum(p.amount) <> 0`.execute(admin);
      return Object.fromEntries(rows.map((row) => [row.kind, row.amount]));
    },
    async checkBooks(): Promise<void> {
      const { rows } =
        await sql`select chain, symbol from ledger_account group by 1, 2 having sum(balance) <> 0
        union all select a.kind, a.symbol from ledger_account a left join ledger_posting p using (account_id)
          group by a.account_id having balance <> coalesce(sum(amount), 0)`.execute(admin);
      if (rows.length > 0) throw new Error(`unbalanced: ${JSON.stringify(rows)}`);
    },
  };
}
export type Payouts = ReturnType<typeof payoutsOn>;
