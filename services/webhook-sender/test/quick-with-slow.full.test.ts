import { setTimeout } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { sql } from 'kysely';
import type { Db } from '@opentill/db/database';
import { aCollection, aMerchant } from '@opentill/testkit/scenario';
import { waitUntil } from '@opentill/testkit/wait-until';
import type { AttemptResult, CallbackRequest } from '../src/send-callback.ts';
import { DEFAULT_ENDPOINT_RULES } from '../src/endpoint-health.ts';
import { queueDeliveries } from '../src/store/queue-deliveries.ts';
import { useDeliveryScenario } from './delivery-scenario.ts';
import { rewriteQueries } from './failing-database.ts';

// More slow merchants with backlogs than slots for waiting attempts, with production settings and deadline. Hanging
// endpoints fail and are paused in the end. Endpoints that answer 200 just before the deadline never are.
const s = useDeliveryScenario();
const SLOW = 140;
const BACKLOG = 100;
const DEADLINE_MS = 10_000;
const SAMPLES = 100;
const NOISE_MS = 50;
/** For waiting attempts: three quarters of eight times the slots. */
const ROOM = 384;

const ANSWERS: Readonly<Record<string, { readonly afterMs: number; readonly result: AttemptResult }>> = {
  'quick.example': { afterMs: 20, result: { kind: 'ANSWERED', statusCode: 200, excerpt: '' } },
  'late.example': { afterMs: 9_500, result: { kind: 'ANSWERED', statusCode: 200, excerpt: '' } },
  'hangs.example': {
    afterMs: DEADLINE_MS,
    result: { kind: 'FAILED', code: 'ANSWER_TIMEOUT', error: 'no answer' },
  },
};

it.each(['late.example', 'hangs.example'])(
  'keeps the quick 99th percentile under twice its quiet value next to %s',
  async (slowHost) => {
    const sentAt = new Map<string, number>();
    let waiting = 0;
    const send = async ({ endpoint, headers, signal }: CallbackRequest): Promise<AttemptResult> => {
      const { afterMs, result } = ANSWERS[endpoint.url.hostname]!;
      const isSlow = afterMs > 1_000;
      if (isSlow) waiting += 1;
      else sentAt.set(headers['webhook-id']!, performance.now());
      try {
        await setTimeout(afterMs, undefined, signal === undefined ? {} : { signal });
        return result;
      } catch {
        return { kind: 'INTERRUPTED' };
      } finally {
        if (isSlow) waiting -= 1;
      }
    };
    const quick: string[] = [];
    for (let i = 0; i < 4; i += 1)
      quick.push((await aMerchant(s.db, { callbackUrl: 'http://quick.example/' })).merchantId);
    const measure = async (): Promise<number> => {
      const queuedAt = new Map<string, number>();
      for (let sample = 0; sample < SAMPLES; sample += 1) {
        const order = await aCollection(s.db, { merchant_id: quick[sample % quick.length]! });
        const eventId = await s.notify(order, 1);
        queuedAt.set(eventId, performance.now());
        await queueDeliveries(s.webhook.kysely, [order.order_pk]);
        deliverer.wake();
        await setTimeout(20);
      }
      const endsAt = performance.now() + 2_000;
      while (performance.now() < endsAt && [...queuedAt.keys()].some((id) => !sentAt.has(id)))
        await setTimeout(5);
      const latencies = [...queuedAt].map(([id, at]) => (sentAt.get(id) ?? Number.POSITIVE_INFINITY) - at);
      return latencies.sort((a, b) => a - b)[Math.ceil(SAMPLES * 0.99) - 1]!;
    };
    const median3 = async () => {
      const values = [await measure(), await measure(), await measure()];
      return values.sort((a, b) => a - b)[1]!;
    };
    const start = (db: Db) =>
      s.deliverer({
        db,
        send,
        attemptDeadlineMs: DEADLINE_MS,
        endpointRules: DEFAULT_ENDPOINT_RULES,
        retryScheduleSeconds: [1, 5, 30, 300, 1800],
        concurrency: 64,
        concurrencyPerEndpoint: 32,
        pollIntervalMs: 250,
        stopGraceMs: 0,
      });

    let deliverer = start(s.webhook.kysely);
    await measure(); // warm
    const quiet = await median3();
    const bound = Math.max(2 * quiet, quiet + NOISE_MS);
    const slow: string[] = [];
    for (let i = 0; i < SLOW; i += 1)
      slow.push((await aMerchant(s.db, { callbackUrl: `http://${slowHost}/` })).merchantId);
    await sql`
      with told as (
        insert into notification (event_id, merchant_id, subject_id, sequence, notify_type, data, occurred_at)
        select gen_random_uuid(), m, gen_random_uuid(), 1, 'ORDER_PENDING', '{}', now()
        from unnest(${slow}::text[]) m, generate_series(1, ${BACKLOG}::int) returning *
      )
      insert into delivery (event_id, merchant_id, subject_id, sequence, next_attempt_at)
      select event_id, merchant_id, subject_id, sequence, now() from told`.execute(s.db);
    await sql`analyze delivery`.execute(s.db);
    deliverer.wake();
    await waitUntil('the slow ones use all open slots', () => waiting >= ROOM);
    const beside = await median3();
    expect(beside).toBeLessThan(bound);
    await deliverer.stop();

    // Control: when the reserved slots also go to endpoints that have not failed yet, the slow ones use them too.
    await sql`delete from callback_endpoint`.execute(s.db);
    await sql`update delivery set next_attempt_at = now() where state = 'PENDING'`.execute(s.db);
    let rewritten = 0;
    const unguarded = rewriteQueries(s.webhook, (text) => {
      const other = text.replaceAll('is_well and under_way = 0 and not is_open', 'is_well and not is_open');
      if (other !== text) rewritten += 1;
      return other;
    });
    deliverer = start(unguarded);
    await waitUntil('the slow ones use the reserved slots', () => waiting > ROOM + 100);
    expect(await measure()).toBeGreaterThan(bound);
    expect(rewritten).toBeGreaterThan(0);
  },
  120_000,
);
