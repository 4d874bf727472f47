import { expect } from 'vitest';
import { sql } from 'kysely';
import { aCollection, aMerchant } from '@opentill/testkit/scenario';
import { claimDue, type ClaimedDelivery } from '../src/store/claim-due.ts';
import { finishAttempts, releaseClaim, type FinishedAttempt } from '../src/store/finish-attempts.ts';
import { queueDeliveries } from '../src/store/queue-deliveries.ts';
import type { useDeliveryScenario } from './delivery-scenario.ts';

type Scenario = ReturnType<typeof useDeliveryScenario>;

export const HOLDER = 'claimer';
export const limits = {
  holder: HOLDER,
  limit: 64,
  openLimit: 48,
  probeLimit: 64,
  perEndpoint: 2,
  leaseMs: 60_000,
};
/** Rows of a merchant that a claim reads with these limits. */
export const LOOKED_AT = 16;

export const finished = (claim: ClaimedDelivery, succeeds: boolean, retryDelayMs = 0): FinishedAttempt => ({
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

/** `forgotten`: no older delivery blocks these. */
export async function putAside(s: Scenario, subjectIds: readonly string[]) {
  const { rows } = await sql<{ aside: number; forgotten: number }>`
    select count(*)::int as aside, count(*) filter (where not exists (
        select from delivery e where e.subject_id = d.subject_id and e.sequence < d.sequence and e.state = 'PENDING'
          and e.attempts - e.schedule_base - (e.lease_until is not null)::int < 3))::int as forgotten
    from delivery d where d.subject_id = any(${[...subjectIds]}::uuid[]) and d.state = 'PENDING'
      and d.next_attempt_at = 'infinity'`.execute(s.db);
  return rows[0]!;
}

/** Without the trigger that restores deliveries put aside (`guarded` false), some callbacks must be forgotten. */
export async function forgetNone(
  s: Scenario,
  { guarded, before, steps }: { readonly guarded: boolean; readonly before: number; readonly steps: number },
): Promise<void> {
  await sql`alter table delivery ${sql.raw(guarded ? 'enable' : 'disable')} trigger delivery_stops_blocking`.execute(
    s.db,
  );
  let random = 7;
  const below = (limit: number) => (random = (random * 48_271) % 2_147_483_647) % limit;
  const { merchantId } = await aMerchant(s.db, { callbackUrl: 'https://x.example/' });
  const orders: {
    readonly pk: string;
    readonly row: Awaited<ReturnType<typeof aCollection>>;
    notified: number;
  }[] = [];
  for (let i = 0; i < 3; i += 1) {
    const row = await aCollection(s.db, { merchant_id: merchantId });
    orders.push({ pk: row.order_pk, row, notified: 0 });
  }
  const subjects = orders.map(({ pk }) => pk);
  const held: ClaimedDelivery[] = [];
  const db = s.webhook.kysely;
  const notify = async (count: number) => {
    const order = orders[below(3)]!;
    for (let i = 0; i < count; i += 1) await s.notify(order.row, (order.notified += 1));
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
  const markDead = () =>
    sql`update delivery set state = 'DEAD', finished_at = now() where event_id in (
        select event_id from delivery where subject_id = any(${subjects}::uuid[]) and state = 'PENDING' and lease_until is null
        order by random() limit 1 for update skip locked)`.execute(s.db);
  for (const order of orders) {
    for (let i = 0; i < before; i += 1) await s.notify(order.row, (order.notified += 1));
    await queueDeliveries(db, [order.pk]);
  }
  let most = 0;
  let forgotten = 0;
  for (let step = 0; step < steps; step += 1) {
    const dice = below(12);
    const claims = claimDue(db, limits).then((taken) => void held.push(...taken));
    await Promise.all([
      claims,
      end(),
      dice < 6 ? notify(1 + below(8)) : dice === 6 ? replay() : dice === 7 ? markDead() : undefined,
    ]);
    const found = await putAside(s, subjects);
    most = Math.max(most, found.aside);
    forgotten += found.forgotten;
  }
  expect(most).toBeGreaterThan(LOOKED_AT);
  await sql`alter table delivery enable trigger delivery_stops_blocking`.execute(s.db);
  if (!guarded) {
    expect(forgotten).toBeGreaterThan(0);
    return;
  }
  expect(forgotten).toBe(0);
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
}
