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

// More slow merchants with backlogs than slots, with production settings. Their attempts end when the test decides:
// hanging endpoints fail and are paused after some failures; endpoints that answer 200 late never are.
const s = useDeliveryScenario();
const SLOW = 140;
const BACKLOG = 100;
const QUICK = 100;
/** Attempts at the same time: eight times the concurrency. A quarter is reserved (attempt-slots.ts). */
const SLOTS = 512;
const OPEN_SLOTS = 384;

const ANSWERED: AttemptResult = { kind: 'ANSWERED', statusCode: 200, excerpt: '' };
const HANGS: AttemptResult = { kind: 'FAILED', code: 'ANSWER_TIMEOUT', error: 'no answer' };

it.each([
  ['late answers', ANSWERED],
  ['timeouts', HANGS],
])('sends quick callbacks while endpoints with %s use all other slots', async (_, slowResult) => {
  const sent = new Set<string>();
  const held = new Set<(result: AttemptResult) => void>();
  const send = async ({ endpoint, headers, signal }: CallbackRequest): Promise<AttemptResult> => {
    if (endpoint.url.hostname === 'quick.example') {
      sent.add(headers['webhook-id']!);
      return ANSWERED;
    }
    return new Promise((resolve) => {
      const end = (result: AttemptResult) => {
        held.delete(end);
        resolve(result);
      };
      held.add(end);
      signal?.addEventListener('abort', () => end({ kind: 'INTERRUPTED' }));
    });
  };
  const endSlow = () => {
    for (const end of held) end(slowResult);
  };
  const start = (db: Db) =>
    s.deliverer({
      db,
      send,
      attemptDeadlineMs: 600_000,
      endpointRules: DEFAULT_ENDPOINT_RULES,
      retryScheduleSeconds: [1, 5, 30, 300, 1800],
      concurrency: 64,
      concurrencyPerEndpoint: 32,
      pollIntervalMs: 250,
      stopGraceMs: 0,
    });
  const merchantsAt = (host: string, count: number) =>
    Promise.all(
      Array.from(
        { length: count },
        async () => (await aMerchant(s.db, { callbackUrl: `http://${host}/` })).merchantId,
      ),
    );
  const quick = await merchantsAt('quick.example', 4);
  const queueQuick = async (): Promise<string> => {
    const order = await aCollection(s.db, { merchant_id: quick[sent.size % quick.length]! });
    const eventId = await s.notify(order, 1);
    await queueDeliveries(s.webhook.kysely, [order.order_pk]);
    return eventId;
  };
  const sendQuick = async (deliverer: { wake(): void }) => {
    const queued: string[] = [];
    for (let i = 0; i < QUICK; i += 1) queued.push(await queueQuick());
    deliverer.wake();
    await waitUntil('all quick callbacks are sent', () => queued.every((id) => sent.has(id)));
  };

  const slow = await merchantsAt('slow.example', SLOW);
  await sql`
    with told as (
      insert into notification (event_id, merchant_id, subject_id, sequence, notify_type, data, occurred_at)
      select gen_random_uuid(), m, gen_random_uuid(), 1, 'ORDER_PENDING', '{}', now()
      from unnest(${slow}::text[]) m, generate_series(1, ${BACKLOG}::int) returning *
    )
    insert into delivery (event_id, merchant_id, subject_id, sequence, next_attempt_at)
    select event_id, merchant_id, subject_id, sequence, now() from told`.execute(s.db);
  await sql`analyze delivery`.execute(s.db);
  const deliverer = start(s.webhook.kysely);
  await waitUntil('slow attempts use all open slots', () => held.size >= OPEN_SLOTS);
  await sendQuick(deliverer);
  endSlow();
  if (slowResult === ANSWERED)
    await waitUntil('slow attempts use all open slots again', () => held.size >= OPEN_SLOTS);
  await sendQuick(deliverer);
  await deliverer.stop();

  // Control: if the reserved slots are also for endpoints with a running attempt, slow attempts use all of them.
  await sql`delete from callback_endpoint`.execute(s.db);
  await sql`update delivery set next_attempt_at = now() where state = 'PENDING'`.execute(s.db);
  let rewritten = 0;
  const unguarded = rewriteQueries(s.webhook, (text) => {
    const other = text.replaceAll('is_well and under_way = 0 and not is_open', 'is_well and not is_open');
    if (other !== text) rewritten += 1;
    return other;
  });
  const without = start(unguarded);
  await waitUntil('slow attempts use the reserved slots', () => held.size === SLOTS);
  const delayed = await queueQuick();
  without.wake();
  expect(sent.has(delayed)).toBe(false);
  expect(rewritten).toBeGreaterThan(0);
});
