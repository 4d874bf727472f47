import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { sql } from 'kysely';
import { waitUntil } from '@opentill/testkit/wait-until';
import { claimDue } from '../src/store/claim-due.ts';
import { finishAttempts } from '../src/store/finish-attempts.ts';
import { useDeliveryScenario } from './delivery-scenario.ts';
import { finished, forgetNone, HOLDER, limits, LOOKED_AT, putAside } from './long-orders.ts';
import { rewriteQueries } from './failing-database.ts';

const s = useDeliveryScenario();
/** Holding this advisory lock stops a claim between its choice and its locks. */
const PAUSE_LOCK = 7;

describe('orders with more callbacks than a claim reads', () => {
  it('hides no other order behind one with many callbacks, and delivers in order', async () => {
    const { order, merchantId, events } = await s.anOrderWithCallbacks(4 * LOOKED_AT);
    const others = [];
    for (let i = 0; i < 3; i += 1) others.push(await s.anOrderWithCallbacks(1, s.receiver.url, merchantId));
    const held = await claimDue(s.webhook.kysely, limits);
    expect(held.map((claim) => claim.eventId)).toEqual([events[0]]);
    // The oldest callback keeps running. The others arrive two at a time, with one slot taken.
    const came: string[] = [];
    for (let round = 0; round < 4 + others.length && came.length < others.length; round += 1) {
      const claims = await claimDue(s.webhook.kysely, limits);
      came.push(...claims.map((claim) => claim.eventId));
      await finishAttempts(
        s.webhook.kysely,
        HOLDER,
        claims.map((claim) => finished(claim, true)),
      );
    }
    expect(came).toEqual(others.map((other) => other.events[0]));
    expect((await putAside(s, [order.order_pk])).aside).toBeGreaterThan(LOOKED_AT);

    await finishAttempts(s.webhook.kysely, HOLDER, [finished(held[0]!, true)]);
    const inOrder = [held[0]!.eventId];
    for (let claims = await claimDue(s.webhook.kysely, limits); claims.length > 0;) {
      expect(claims).toHaveLength(1);
      inOrder.push(claims[0]!.eventId);
      await finishAttempts(s.webhook.kysely, HOLDER, [finished(claims[0]!, true)]);
      claims = await claimDue(s.webhook.kysely, limits);
    }
    expect(inOrder).toEqual(events);
  });

  it('lets the next callback overtake after the oldest failed three attempts', async () => {
    const { events } = await s.anOrderWithCallbacks(2 * LOOKED_AT);
    for (let attempt = 1; attempt <= 3; attempt += 1) {
      const claims = await claimDue(s.webhook.kysely, limits);
      expect(claims.map((claim) => claim.eventId)).toEqual([events[0]]);
      await finishAttempts(s.webhook.kysely, HOLDER, [
        finished(claims[0]!, false, attempt === 3 ? 60_000 : 0),
      ]);
    }
    const [next] = await claimDue(s.webhook.kysely, limits);
    expect(next!.eventId).toBe(events[1]);
    expect(await s.stateOf(events[0]!)).toBe('SUPERSEDED');
  });

  it('forgets no callback under concurrent changes', () =>
    forgetNone(s, { guarded: true, before: 2 * LOOKED_AT, steps: 25 }));
});

it('rejects a newer callback when a replay came between choice and locks', async () => {
  for (const choice of ['the older', 'both']) {
    const { events } = await s.anOrderWithCallbacks(2);
    await sql`update delivery set state = 'DEAD', finished_at = now() where event_id = ${events[0]!}`.execute(
      s.db,
    );
    let paused = 0;
    const slow = rewriteQueries(s.webhook, (text) => {
      const other = text
        .replace(
          'locked as (',
          `pause as materialized (select pg_advisory_xact_lock(${PAUSE_LOCK})), locked as (`,
        )
        .replace(
          /(from delivery d\s+where) (d\.subject_id = any\(array\(select subject_id from candidate)/,
          '$1 (select count(*) from pause) > 0 and $2',
        );
      if (other !== text) paused += 1;
      return other;
    });
    const chosen = choice === 'both' ? events : events.slice(0, 1);
    const { claiming, rows } = await s.db.transaction().execute(async (tx) => {
      await sql`select pg_advisory_xact_lock(${PAUSE_LOCK})`.execute(tx);
      // Wrapped in an object, because an async function would await the claim: the transaction must end first.
      const began = { claiming: claimDue(slow, { ...limits, holder: randomUUID() }) };
      await waitUntil('the claim has chosen', async () => {
        const waits = sql`select from pg_locks l join pg_database d on d.oid = l.database
          where d.datname = current_database() and l.locktype = 'advisory' and not l.granted`;
        return (await waits.execute(s.db)).rows.length === 1;
      });
      const replayed = await sql<{ event_id: string; outcome: string }>`
        select event_id, outcome from replay_deliveries(${chosen}::uuid[], '{DEAD}', '-infinity', 'infinity')`.execute(
        s.db,
      );
      return { ...began, rows: replayed.rows };
    });
    const claims = await claiming;
    expect(paused).toBeGreaterThan(0);
    expect([
      choice,
      rows.find((row) => row.event_id === events[0])?.outcome,
      claims.map((claim) => claim.sequence),
    ]).toEqual([choice, 'REPLAYED', []]);
    await sql`update delivery set state = 'DEAD' where state = 'PENDING'`.execute(s.db);
  }
});
