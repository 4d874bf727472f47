import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { sql } from 'kysely';
import { aCollection, aMerchant } from '@opentill/testkit/scenario';
import { waitUntil } from '@opentill/testkit/wait-until';
import { claimDue, type ClaimedDelivery } from '../src/store/claim-due.ts';
import { finishAttempts, releaseClaim, type FinishedAttempt } from '../src/store/finish-attempts.ts';
import { queueDeliveries } from '../src/store/queue-deliveries.ts';
import { useDeliveryScenario } from './delivery-scenario.ts';
import { rewriteQueries } from './failing-database.ts';

const s = useDeliveryScenario();
const HOLDER = 'claimer';
const limits = { holder: HOLDER, limit: 64, openLimit: 48, probeLimit: 64, perEndpoint: 2, leaseMs: 60_000 };
/** Who holds this advisory lock holds up a claim between its choice and its locks. */
const PAUSE_LOCK = 7;
/** Rows that a claim looks at of a merchant, with these limits. */
const LOOKED_AT = 16;

const finished = (claim: ClaimedDelivery, succeeds: boolean, retryDelayMs = 0): FinishedAttempt => ({
  claim,
  record: {
    startedAt: new Date(),
    durationMs: 1,
    statusCode: succeeds ? 200 : 500,
    errorCode: succeeds ? null : 'SERVER_ERROR',
    error: null,
    excerpt: null,
  },
  outcome: succeeds ? { state: 'DELIVERED' } : { state: 'PENDING', retryDelayMs },
});

/** Of an order: who was put aside, and who of them waits behind nobody. */
async function putAside(subjectIds: readonly string[]) {
  const { rows } = await sql<{ aside: number; forgotten: number }>`
    select count(*)::int as aside, count(*) filter (where not exists (
        select from delivery e where e.subject_id = d.subject_id and e.sequence < d.sequence and e.state = 'PENDING'
          and e.attempts - e.schedule_base - (e.lease_until is not null)::int < 3))::int as forgotten
    from delivery d where d.subject_id = any(${[...subjectIds]}::uuid[]) and d.state = 'PENDING'
      and d.next_attempt_at = 'infinity'`.execute(s.db);
  return rows[0]!;
}

describe('an order with more callbacks than a claim looks at', () => {
  it('hides no other order of its merchant, and all its callbacks come in order', async () => {
    const { order, merchantId, events } = await s.anOrderWithCallbacks(4 * LOOKED_AT);
    const others = [];
    for (let i = 0; i < 3; i += 1) others.push(await s.anOrderWithCallbacks(1, s.receiver.url, merchantId));
    const held = await claimDue(s.webhook.kysely, limits);
    expect(held.map((claim) => claim.eventId)).toEqual([events[0]]);
    // The order's oldest is under way all the time: the others come, two at a time with one slot taken.
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
    expect((await putAside([order.order_pk])).aside).toBeGreaterThan(LOOKED_AT);

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

  it('whose oldest fails three attempts is overtaken by the next', async () => {
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

  // Control: the trigger is what brings back what was put aside.
  it.each([true, false])(
    'whatever is done at the same time, forgets none (with the trigger: %s)',
    async (guarded) => {
      await sql`alter table delivery ${sql.raw(guarded ? 'enable' : 'disable')} trigger delivery_stops_blocking`.execute(
        s.db,
      );
      let random = 7;
      const below = (limit: number) => (random = (random * 48_271) % 2_147_483_647) % limit;
      const { merchantId } = await aMerchant(s.db, { callbackUrl: 'https://x.example/' });
      const orders: {
        readonly pk: string;
        readonly row: Awaited<ReturnType<typeof aCollection>>;
        told: number;
      }[] = [];
      for (let i = 0; i < 3; i += 1) {
        const row = await aCollection(s.db, { merchant_id: merchantId });
        orders.push({ pk: row.order_pk, row, told: 0 });
      }
      const subjects = orders.map(({ pk }) => pk);
      const held: ClaimedDelivery[] = [];
      const db = s.webhook.kysely;
      const tell = async (count: number) => {
        const order = orders[below(3)]!;
        for (let i = 0; i < count; i += 1) await s.notify(order.row, (order.told += 1));
        await queueDeliveries(db, [order.pk]);
      };
      const end = async () => {
        const some = held.splice(0, 1 + below(2));
        const fates = some.map((claim) => finished(claim, below(3) > 0));
        if (below(5) === 0) for (const claim of some) await releaseClaim(db, claim, HOLDER);
        else if (fates.length > 0) await finishAttempts(db, HOLDER, fates);
      };
      const replay = async () => {
        const { rows } = await sql<{ event_id: string }>`
        select event_id from delivery where subject_id = any(${subjects}::uuid[]) and state <> 'PENDING' order by random() limit 1`.execute(
          s.db,
        );
        await sql`
        select replay_deliveries(${rows.map((row) => row.event_id)}::uuid[], '{DEAD,SUPERSEDED,DELIVERED}', '-infinity', 'infinity')`.execute(
          s.db,
        );
      };
      const bury = () =>
        sql`update delivery set state = 'DEAD', finished_at = now() where event_id in (
        select event_id from delivery where subject_id = any(${subjects}::uuid[]) and state = 'PENDING' and lease_until is null
        order by random() limit 1 for update skip locked)`.execute(s.db);
      let most = 0;
      let forgotten = 0;
      for (let step = 0; step < 120; step += 1) {
        const dice = below(12);
        const claims = claimDue(db, limits).then((taken) => void held.push(...taken));
        await Promise.all([
          claims,
          end(),
          dice < 6 ? tell(1 + below(8)) : dice === 6 ? replay() : dice === 7 ? bury() : undefined,
        ]);
        const found = await putAside(subjects);
        most = Math.max(most, found.aside);
        forgotten += found.forgotten;
      }
      expect(most).toBeGreaterThan(LOOKED_AT);
      await sql`alter table delivery enable trigger delivery_stops_blocking`.execute(s.db);
      if (!guarded) return expect(forgotten).toBeGreaterThan(0);
      expect(forgotten).toBe(0);
      // And all go out.
      for (let round = 0; round < 2_000; round += 1) {
        if (held.length === 0) held.push(...(await claimDue(db, limits)));
        if (held.length === 0) break;
        await finishAttempts(
          db,
          HOLDER,
          held.splice(0).map((claim) => finished(claim, true)),
        );
      }
      const { rows } = await sql`
      select from delivery where subject_id = any(${subjects}::uuid[]) and state = 'PENDING'`.execute(s.db);
      expect(rows).toEqual([]);
      return undefined;
    },
  );
});

it('a claim that chose before a replay finds the newer callback changed, whatever the replay chose', async () => {
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
      // In an object: the transaction ends, and lets go of the claim, before the claim does.
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
