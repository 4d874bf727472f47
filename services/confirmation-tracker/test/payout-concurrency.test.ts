import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sql } from 'kysely';
import type { Database } from '@opentill/db/database';
import { anOwnTransaction, type OwnTransactionRow } from '@opentill/testkit/payout-scenario';
import type { OrderRow } from '@opentill/testkit/scenario';
import { changed, fated, payoutsOn, sweepDue, type Payouts } from './payout-scenario.ts';
import { describePayoutReplicas } from './payout-replicas.ts';
import { createTrackerScenario, handle, type TrackerScenario } from './tracker-scenario.ts';

let s: TrackerScenario;
let p: Payouts;
let otherDatabase: Database;
let signer: Database;
beforeAll(async () => {
  s = await createTrackerScenario();
  p = payoutsOn(s);
  otherDatabase = s.database.open('tracker');
  signer = s.database.open('signer');
  await s.chainAt(200, 300);
});
afterAll(async () => {
  await p.checkBooks();
  await otherDatabase.close();
  await signer.close();
  await s.close();
});

describePayoutReplicas(() => ({ s, p, otherDatabase }), [1]); // another seed is in payout-concurrency.full.test.ts

test('settles a payout once under twenty concurrent deliveries', async () => {
  const order = await p.payout();
  const transaction = await p.sign(order);
  await p.fate(transaction, 'VERIFIED');
  const replicas = [s.deps, s.depsOn(otherDatabase.kysely)];
  const same = fated(transaction);
  const events = [
    ...Array.from({ length: 10 }, () => same),
    ...Array.from({ length: 10 }, () => changed(order)),
  ];
  await Promise.all(events.map((event, i) => handle(event, replicas[i % 2] ?? s.deps)));
  expect(await s.story(order)).toHaveLength(3);
  expect(await p.postingsOf(order)).toMatchObject({ PAID_OUT: 100n, HOT_AVAILABLE: -100n });
});

describe('concurrent expiry and signing', () => {
  /** One commit, as the signer does. */
  async function signIfInTime(order: OrderRow): Promise<OwnTransactionRow | undefined> {
    return signer.kysely.transaction().execute(async (tx) => {
      const { rows } = await sql`update payout set state = 'SIGNED' where order_pk = ${order.order_pk}
        and state = 'AUTHORISED' and clock_timestamp() < expires_at returning 1`.execute(tx);
      return rows.length === 0 ? undefined : anOwnTransaction(tx, order);
    });
  }

  test('ends concurrent expiry and signing with an expired or a signed payout', async () => {
    const replicas = [s.deps, s.depsOn(otherDatabase.kysely)];
    for (let round = 0; round < 16; round += 1) {
      const order = await p.payout({ expires_at: new Date(Date.now() + 12) });
      await sql`update payout set state = 'AUTHORISED', authorised_at = now() where order_pk = ${order.order_pk}`.execute(
        s.admin,
      );
      const settle = async () => {
        for (let i = 0; i < 6; i += 1) {
          await handle(changed(order), replicas[i % 2] ?? s.deps);
          await new Promise((resolve) => setTimeout(resolve, 3));
        }
      };
      const sign = new Promise((resolve) =>
        setTimeout(resolve, round % 6 === 0 ? 0 : 4 + (round % 8) * 2),
      ).then(() => signIfInTime(order));
      const [transaction] = await Promise.all([sign, settle()]);
      await sweepDue(s.deps);
      if (transaction === undefined) {
        await new Promise((resolve) => setTimeout(resolve, 5));
        await handle(changed(order), s.deps);
        expect(await s.story(order)).toEqual(['ORDER_FAILED FAILED Payout expired']);
        expect(await p.postingsOf(order)).toEqual({});
        continue;
      }
      expect(await s.story(order)).toEqual([]);
      await p.fated(transaction, 'VERIFIED');
      expect((await s.story(order)).at(-1)).toBe('ORDER_SUCCESS SUCCESS 0.0001');
      expect(await p.postingsOf(order)).toMatchObject({ PAID_OUT: 100n });
    }
  });
});
