import { expect, test } from 'vitest';
import { sql } from 'kysely';
import type { EventEnvelope } from '@opentill/contracts/event-catalog';
import type { Database } from '@opentill/db/database';
import { anOwnTransaction } from '@opentill/testkit/payout-scenario';
import type { OrderRow } from '@opentill/testkit/scenario';
import { seededRandom } from '@opentill/testkit/seeded-random';
import { changed, fated, sweepDue, sweepFates, type Payouts } from './payout-scenario.ts';
import { handle, type TrackerScenario } from './tracker-scenario.ts';

interface World {
  readonly s: TrackerScenario;
  readonly p: Payouts;
  readonly otherDatabase: Database;
}

const FATES = [
  'lands',
  'lands',
  'reverts',
  'moves',
  'reverts, then lands',
  'replaced',
  'refused',
  'expires',
] as const;

async function play({ s, p }: World, seed: number, send: (event: EventEnvelope) => void) {
  const random = seededRandom(seed);
  const merchants = [await s.merchant({ notifyReverted: true }), await s.merchant()];
  const played: { order: OrderRow; fate: (typeof FATES)[number] }[] = [];
  for (let i = 0; i < 10; i += 1) {
    const merchant = merchants[i % 2];
    const fate = FATES[Math.floor(random() * FATES.length)] ?? 'lands';
    const past = fate === 'expires' ? { expires_at: new Date(Date.now() - 1_000) } : {};
    const order = await p.payout({ merchant_id: merchant?.merchantId ?? '', ...past });
    played.push({ order, fate });
    if (fate === 'expires') continue;
    if (fate === 'refused') {
      await p.refuse(order, 'Address denied');
      send(changed(order));
      continue;
    }
    let transaction = await p.sign(order);
    await s.admin
      .updateTable('payout')
      .set({ first_sent_at: new Date() })
      .where('order_pk', '=', order.order_pk)
      .execute();
    send(changed(order));
    const becomes = async (
      ...rest: Parameters<Payouts['fate']> extends [unknown, ...infer R] ? R : never
    ) => {
      await p.fate(transaction, ...rest);
      send(fated(transaction));
    };
    const fails = { succeeded: false };
    await becomes('MINED', fate.startsWith('reverts') ? fails : {});
    if (fate !== 'lands' && fate !== 'reverts') await becomes('ORPHANED');
    if (fate === 'replaced')
      transaction = await anOwnTransaction(s.admin, order, { nonce: transaction.nonce });
    await becomes('VERIFIED', fate === 'reverts' ? fails : {});
  }
  return played;
}

export function describePayoutReplicas(worldOf: () => World, seeds: readonly number[]): void {
  test.each(seeds)('pays each payout once with two replicas and faulty delivery (seed %d)', async (seed) => {
    const world = worldOf();
    const { s, p, otherDatabase } = world;
    const replicas = [s.deps, s.depsOn(otherDatabase.kysely)];
    const random = seededRandom(seed * 7_919);
    const inFlight: Promise<void>[] = [];
    const waiting: EventEnvelope[] = [];
    const deliverSome = (count: number) => {
      for (let i = 0; i < count && waiting.length > 0; i += 1) {
        const [event] = waiting.splice(Math.floor(random() * waiting.length), 1);
        const replica = replicas[Math.floor(random() * 2)];
        if (event !== undefined && replica !== undefined) inFlight.push(handle(event, replica));
      }
    };
    const played = await play(world, seed, (event) => {
      const fate = random();
      if (fate > 0.2) waiting.push(event);
      if (fate > 0.7) waiting.push(event);
      deliverSome(Math.floor(random() * 3));
    });
    deliverSome(waiting.length);
    await Promise.all([...inFlight, sweepDue(s.deps), sweepFates(s.deps)]);
    await sweepDue(s.deps);
    await sweepFates(s.deps);

    for (const { order, fate } of played) {
      const { status } = await s.state(order);
      const lands = !['reverts', 'refused', 'expires'].includes(fate);
      expect({ fate, status }).toEqual({ fate, status: lands ? 'SUCCESS' : 'FAILED' });
      const callbacks = await s.callbacks(order);
      expect(callbacks.map((t) => t.sequence)).toEqual(callbacks.map((_, i) => i + 2));
      expect(callbacks.at(-1)?.type).toBe(`ORDER_${status}`);
      expect(callbacks.filter((t) => t.data.status === 'SUCCESS' || t.data.status === 'FAILED')).toHaveLength(
        1,
      );
      expect(await s.outbox(order)).toHaveLength(callbacks.length);
      const {
        PAID_OUT = 0n,
        HOT_AVAILABLE = 0n,
        IN_FLIGHT = 0n,
        HOT_RESERVED = 0n,
      } = await p.postingsOf(order);
      expect([PAID_OUT, HOT_AVAILABLE, IN_FLIGHT, HOT_RESERVED]).toEqual(
        lands ? [100n, -100n, 0n, 0n] : [0n, 0n, 0n, 0n],
      );
    }
    const { rows } =
      await sql`select from own_transaction_fate f left join own_transaction_settlement s using (chain, tx_hash)
    where s.settled_version is distinct from f.version`.execute(s.admin);
    expect(rows).toEqual([]);
  });
}
