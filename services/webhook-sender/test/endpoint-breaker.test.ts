import { createHmac, randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { sql } from 'kysely';
import { endSecretChange, rotateWebhookSecret } from '@opentill/db/merchants';
import { TEST_SECRETS_KEY } from '@opentill/testkit/scenario';
import { waitUntil } from '@opentill/testkit/wait-until';
import { DEFAULT_ENDPOINT_RULES } from '../src/endpoint-health.ts';
import { claimDue, type ClaimLimits } from '../src/store/claim-due.ts';
import { markUnaddressedDead, queueDeliveries } from '../src/store/queue-deliveries.ts';
import { oldestDueSeconds } from '../src/store/measure-backlog.ts';
import { useDeliveryScenario } from './delivery-scenario.ts';
import { startReceiver } from './receiver.ts';

const s = useDeliveryScenario();

const endpointOf = async (merchantId: string) =>
  s.db.selectFrom('callback_endpoint').selectAll().where('merchant_id', '=', merchantId).executeTakeFirst();
const delivered = (eventId: string) =>
  waitUntil('delivered', async () => (await s.stateOf(eventId)) === 'DELIVERED');
const probeNow = (merchantId: string) =>
  sql`update callback_endpoint set probe_at = now() where merchant_id = ${merchantId}`.execute(s.db);
const resting = (pauseMs: number) => ({
  endpointRules: { ...DEFAULT_ENDPOINT_RULES, openAfterFailures: 3, probePausesMs: [pauseMs] },
});
const claims = (holder: string, overrides: Partial<ClaimLimits> = {}) =>
  claimDue(s.webhook.kysely, {
    holder,
    limit: 32,
    openLimit: 32,
    probeLimit: 32,
    perEndpoint: 16,
    leaseMs: 60_000,
    ...overrides,
  });

describe('failing endpoints', () => {
  it('makes no claim or write during a pause, then delivers all in order', async () => {
    const orders = [];
    const first = await s.anOrderWithCallbacks(2);
    orders.push(first);
    for (let i = 0; i < 4; i += 1)
      orders.push(await s.anOrderWithCallbacks(2, s.receiver.url, first.merchantId));
    let status = 500;
    s.receiver.answer = (_callback, response) => {
      response.statusCode = status;
      response.end();
    };
    const deliverer = s.deliverer({
      ...resting(3_600_000),
      concurrencyPerEndpoint: 1,
      retryScheduleSeconds: Array.from({ length: 9 }, () => 0.01),
    });
    await waitUntil('open', async () => (await endpointOf(first.merchantId))?.state === 'OPEN');
    const other = await startReceiver();
    const healthy = await s.anOrderWithCallbacks(1, other.url);
    await delivered(healthy.events[0]!);
    const rows = () =>
      sql<{
        row: string;
      }>`select (d.*, d.xmin)::text as row from delivery d where merchant_id = ${first.merchantId} order by 1`.execute(
        s.db,
      );
    const before = await rows();
    const sent = s.receiver.received.length;
    for (let i = 0; i < 5; i += 1) {
      deliverer.wake();
      const more = await s.anOrderWithCallbacks(1, other.url);
      await delivered(more.events[0]!); // so the deliverer has claimed since
    }
    expect(s.receiver.received).toHaveLength(sent);
    expect((await rows()).rows).toEqual(before.rows);
    expect(await oldestDueSeconds(s.webhook.kysely, 1)).toEqual({ seconds: 0, atFullEndpointsSeconds: 0 });

    // A failed probe pauses the endpoint again; a successful one releases all callbacks.
    await probeNow(first.merchantId);
    await waitUntil('probed', () => s.receiver.received.length === sent + 1);
    await waitUntil('resting', async () => (await endpointOf(first.merchantId))?.openings === 2);
    expect(s.receiver.received).toHaveLength(sent + 1);
    status = 200;
    await probeNow(first.merchantId);
    for (const { events } of orders) await delivered(events[1]!);
    expect(await endpointOf(first.merchantId)).toMatchObject({ state: 'CLOSED', failures_in_row: 0 });
    for (const { events } of orders) {
      const came = s.receiver.received.filter(({ body }) => events.includes(body.nonce));
      const sequences = came.map(({ body }) => body.data['sequence'] as number);
      expect(sequences).toEqual(sequences.toSorted((a, b) => a - b));
      expect(sequences.at(-1)).toBe(2);
    }
    await other.close();
  });

  it('claims exactly one probe for any number of replicas', async () => {
    const { merchantId } = await s.anOrderWithCallbacks(1);
    for (let i = 0; i < 10; i += 1) await s.anOrderWithCallbacks(2, s.receiver.url, merchantId);
    for (let round = 0; round < 10; round += 1) {
      await sql`insert into callback_endpoint (merchant_id, state, opened_at, probe_at) values (${merchantId}, 'OPEN', now(), now())
        on conflict (merchant_id) do update set state = 'OPEN', probe_at = now(), probe_event_id = null, probe_attempt = null`.execute(
        s.db,
      );
      const taken = await Promise.all(Array.from({ length: 8 }, (_, i) => claims(`replica ${i}`)));
      expect(taken.flat()).toHaveLength(1);
      const [probe] = taken.flat();
      expect(probe).toMatchObject({ isProbe: true, merchantId });
      expect(await endpointOf(merchantId)).toMatchObject({
        probe_event_id: probe!.eventId,
        probe_attempt: probe!.attempt,
      });
      expect(await claims('later')).toEqual([]);
      await s.expireLeases();
    }
  });

  it('claims another probe after the process died, and ignores the dead one', async () => {
    const { merchantId, events } = await s.anOrderWithCallbacks(1);
    await s.anOrderWithCallbacks(1, s.receiver.url, merchantId);
    await sql`insert into callback_endpoint (merchant_id, state, opened_at, probe_at) values (${merchantId}, 'OPEN', now(), now())`.execute(
      s.db,
    );
    const [dead] = await claims('dead', { leaseMs: 1 });
    expect(dead!.eventId).toBe(events[0]);
    await waitUntil('its lease expired', async () => (await claims('next')).length === 1);
    expect((await endpointOf(merchantId))!.probe_attempt).not.toBeNull();
    expect(await claims('third')).toEqual([]);
  });

  it('releases its probe when the process stops', async () => {
    s.receiver.answer = () => undefined;
    const { merchantId } = await s.anOrderWithCallbacks(1);
    await sql`insert into callback_endpoint (merchant_id, state, opened_at, probe_at) values (${merchantId}, 'OPEN', now(), now())`.execute(
      s.db,
    );
    const stopped = s.deliverer({ attemptDeadlineMs: 600_000, stopGraceMs: 50 });
    await waitUntil('probed', () => s.receiver.received.length === 1);
    await stopped.stop();
    await waitUntil('released', async () => (await endpointOf(merchantId))?.probe_event_id === null);
    expect(await endpointOf(merchantId)).toMatchObject({ state: 'OPEN', probe_event_id: null });
    expect(await claims('next')).toMatchObject([{ isProbe: true, attempt: 1 }]);
  });

  it('limits concurrent probes, so that other merchants do not wait', async () => {
    for (let i = 0; i < 6; i += 1) {
      const { merchantId } = await s.anOrderWithCallbacks(1);
      await sql`insert into callback_endpoint (merchant_id, state, opened_at, probe_at) values (${merchantId}, 'OPEN', now(), now())`.execute(
        s.db,
      );
    }
    await s.anOrderWithCallbacks(1);
    const taken = await claims('one', { probeLimit: 2 });
    expect(taken.filter((claim) => claim.isProbe)).toHaveLength(2);
    expect(taken).toHaveLength(3);
  });

  it('sends to a new URL at once and ignores attempts at the old one', async () => {
    const { merchantId, events } = await s.anOrderWithCallbacks(1);
    const answers: (() => void)[] = [];
    s.receiver.answer = (_callback, response) => {
      answers.push(() => {
        response.statusCode = 410;
        response.end();
      });
    };
    s.deliverer({ ...resting(3_600_000), retryScheduleSeconds: [60] });
    await waitUntil('under way', () => answers.length === 1);
    const next = await startReceiver();
    await sql`update merchant set callback_url = ${next.url} where merchant_id = ${merchantId}`.execute(s.db);
    answers[0]!();
    await waitUntil('recorded', async () => (await s.attemptsOf(events[0]!)).length > 0);
    const later = await s.anOrderWithCallbacks(1, next.url, merchantId);
    await delivered(later.events[0]!);
    // The new URL has not received the callback, so the old attempt does not end it.
    await delivered(events[0]!);
    expect(next.received.map(({ body }) => body.nonce)).toContain(events[0]!);
    expect(await endpointOf(merchantId)).toMatchObject({ state: 'CLOSED', generation: 1, disabled_at: null });
    await next.close();
  });
});

describe('recovered endpoints', () => {
  const failing = async () => {
    const first = await s.anOrderWithCallbacks(2);
    const second = await s.anOrderWithCallbacks(1, s.receiver.url, first.merchantId);
    const third = await s.anOrderWithCallbacks(1, s.receiver.url, first.merchantId);
    const events = [...first.events, ...second.events, ...third.events];
    let status = 503;
    s.receiver.answer = (_callback, response) => {
      response.writeHead(status, { 'retry-after': '3000' });
      response.end();
    };
    s.deliverer({ ...resting(3_600_000), retryScheduleSeconds: [600, 600] });
    await waitUntil('open', async () => (await endpointOf(first.merchantId))?.state === 'OPEN');
    return { merchantId: first.merchantId, events, recover: () => void (status = 200) };
  };

  it('sends waiting callbacks at once after a successful probe, despite Retry-After', async () => {
    const { merchantId, events, recover } = await failing();
    recover();
    await sql`update delivery set next_attempt_at = now() where event_id = ${events[2]!}`.execute(s.db);
    await probeNow(merchantId);
    for (const eventId of events) await delivered(eventId);
  });

  it('sends waiting callbacks at once when an operator closes the open endpoint', async () => {
    const { merchantId, events } = await failing();
    const before = await s.deliveryOf(events[0]!);
    const ops = s.database.open('ops');
    await sql`select reset_callback_endpoint(${merchantId})`.execute(ops.kysely);
    await ops.close();
    await waitUntil('tried again', async () => (await s.attemptsOf(events[0]!)).length === 2);
    const after = await s.deliveryOf(events[0]!);
    expect([before.attempts - before.schedule_base, after.attempts - after.schedule_base]).toEqual([1, 1]);
    expect(after.state).toBe('PENDING');
  });
});

describe('endpoints that answer 410', () => {
  it('disables an endpoint with time and reason, and sends replays once enabled', async () => {
    const { order, merchantId, events } = await s.anOrderWithCallbacks(2);
    let status = 410;
    s.receiver.answer = (_callback, response) => {
      response.statusCode = status;
      response.end('moved out');
    };
    s.deliverer();
    await waitUntil('disabled', async () => (await endpointOf(merchantId))?.state === 'DISABLED');
    expect(await endpointOf(merchantId)).toMatchObject({
      disabled_at: expect.any(Date),
      disabled_reason: expect.stringContaining('410'),
      last_error_code: 'GONE',
    });
    expect(await s.stateOf(events[0]!)).toBe('DEAD');
    expect(await s.attemptsOf(events[0]!)).toMatchObject([{ status_code: 410, error_code: 'GONE' }]);
    const third = await s.notify(order, 3);
    await queueDeliveries(s.webhook.kysely, [order.order_pk]);
    expect(await s.stateOf(third)).toBe('DEAD');
    await markUnaddressedDead(s.webhook.kysely, 100);
    expect(await s.stateOf(events[1]!)).toBe('DEAD');
    expect(s.receiver.received).toHaveLength(1);

    const ops = s.database.open('ops');
    const replay = () =>
      sql<{ outcome: string }>`
        select outcome from replay_deliveries(${[...events, third]}::uuid[], '{DEAD}', '-infinity', 'infinity')`.execute(
        ops.kysely,
      );
    expect((await replay()).rows.map((row) => row.outcome)).toEqual([
      'NO_ENDPOINT',
      'NO_ENDPOINT',
      'NO_ENDPOINT',
    ]);
    status = 200;
    await sql`select reset_callback_endpoint(${merchantId})`.execute(ops.kysely);
    expect((await replay()).rows.map((row) => row.outcome)).toEqual(['REPLAYED', 'REPLAYED', 'REPLAYED']);
    await delivered(third);
    expect(s.receiver.received.slice(1).map(({ body }) => body.nonce)).toEqual([...events, third]);
    await ops.close();
  });
});

describe('Retry-After', () => {
  it.each([
    [503, '30', 30],
    [429, '30', 30],
    [503, '1', 10], // never shorter than the schedule
    [500, '30', 10],
    [503, '7200', 3_600], // nor longer than an hour, unless twice the schedule is longer
  ])('delays the next attempt after a %d with Retry-After %s', async (status, header, seconds) => {
    const { events } = await s.anOrderWithCallbacks(1);
    s.receiver.answer = (_callback, response) => {
      response.writeHead(status, { 'retry-after': header });
      response.end();
    };
    s.deliverer({ retryScheduleSeconds: [10] });
    await waitUntil('recorded', async () => (await s.attemptsOf(events[0]!)).length > 0);
    const { rows } = await sql<{ fromItsEnd: number; fromNow: number }>`
      select extract(epoch from d.next_attempt_at - (a.started_at + a.duration_ms * interval '1 ms'))::float8 as "fromItsEnd",
        extract(epoch from d.next_attempt_at - clock_timestamp())::float8 as "fromNow"
      from delivery d join delivery_attempt a using (event_id) where event_id = ${events[0]!}`.execute(s.db);
    expect(rows[0]!.fromItsEnd).toBeGreaterThan(seconds - 0.5);
    expect(rows[0]!.fromNow).toBeLessThan(seconds + 1);
  });

  it('marks a callback dead after the last attempt despite Retry-After', async () => {
    const { events } = await s.anOrderWithCallbacks(1);
    s.receiver.answer = (_callback, response) => {
      response.writeHead(503, { 'retry-after': '1' });
      response.end();
    };
    s.deliverer({ retryScheduleSeconds: [] });
    await waitUntil('dead', async () => (await s.stateOf(events[0]!)) === 'DEAD');
  });
});

describe('rotation of the webhook secret', () => {
  const hmac = (secret: string, text: string, encoding: 'hex' | 'base64') =>
    createHmac('sha256', secret).update(text).digest(encoding);
  const dataOf = (text: string) => text.slice(text.indexOf('"data":') + 7, -1);

  it('signs with both secrets during the overlap and then with the next one', async () => {
    const first = await s.anOrderWithCallbacks(1);
    const { merchantId } = first;
    const old = `secret-of-${merchantId}`;
    const { secret } = await rotateWebhookSecret(s.db, TEST_SECRETS_KEY, merchantId, 3_600);
    s.deliverer();
    await delivered(first.events[0]!);
    const [during] = s.receiver.received;
    const standard = (key: string, one: typeof during) =>
      `v1,${hmac(key, `${one!.body.nonce}.${one!.headers['webhook-timestamp'] as string}.${one!.text}`, 'base64')}`;
    expect(during!.body.sign).toBe(hmac(old, dataOf(during!.text), 'hex'));
    expect(during!.headers['x-signature']).toBe(during!.body.sign);
    expect(during!.headers['x-signature-next']).toBe(hmac(secret, dataOf(during!.text), 'hex'));
    expect(during!.headers['webhook-signature']).toBe(`${standard(old, during)} ${standard(secret, during)}`);

    await sql`update merchant set webhook_secret_switch_at = now() where merchant_id = ${merchantId}`.execute(
      s.db,
    );
    const second = await s.anOrderWithCallbacks(1, s.receiver.url, merchantId);
    await delivered(second.events[0]!);
    const after = s.receiver.received[1];
    expect(after!.body.sign).toBe(hmac(secret, dataOf(after!.text), 'hex'));
    expect(after!.headers['x-signature-next']).toBeUndefined();
    expect(after!.headers['webhook-signature']).toBe(standard(secret, after));
  });

  it('keeps the secret when the rotation is cancelled', async () => {
    const { merchantId, events } = await s.anOrderWithCallbacks(1);
    await rotateWebhookSecret(s.db, TEST_SECRETS_KEY, merchantId, 3_600);
    await endSecretChange(s.db, merchantId, 'CANCEL');
    s.deliverer();
    await delivered(events[0]!);
    const [came] = s.receiver.received;
    expect(came!.body.sign).toBe(hmac(`secret-of-${merchantId}`, dataOf(came!.text), 'hex'));
    expect(came!.headers['x-signature-next']).toBeUndefined();
  });
});

describe('replays of selected callbacks', () => {
  const replay = async (ids: readonly string[], states: string, since = '-infinity', until = 'infinity') => {
    const { rows } = await sql<{ event_id: string; outcome: string }>`
      select * from replay_deliveries(${[...ids]}::uuid[], ${states}::text[], ${since}::timestamptz, ${until}::timestamptz)`.execute(
      s.db,
    );
    return ids.map((id) => rows.find((row) => row.event_id === id)?.outcome);
  };
  const setState = (eventId: string, state: string) =>
    sql`update delivery set state = ${state}, attempts = 1, finished_at = case when ${state} <> 'PENDING' then now() end where event_id = ${eventId}`.execute(
      s.db,
    );

  it('skips waiting and running callbacks, other states and overtaken ones', async () => {
    const { events } = await s.anOrderWithCallbacks(3);
    const [a, b, c] = events as [string, string, string];
    expect(await replay(events, '{DEAD,DELIVERED}')).toEqual(['WAITING', 'WAITING', 'WAITING']);
    for (const id of events) await setState(id, 'DEAD');
    await setState(b, 'DELIVERED');
    expect(await replay(events, '{DEAD}')).toEqual(['NEWER_SENT', 'OTHER_STATE', 'REPLAYED']);
    expect(await replay([c], '{DEAD}')).toEqual(['WAITING']);
    await setState(c, 'DEAD');
    // Selected together with the newer one, the older goes first.
    expect(await replay([a], '{DEAD,DELIVERED}')).toEqual(['REPLAYED']);
    await setState(a, 'DEAD');
    // The newer one has the right state but is outside the selected time.
    const { rows } = await sql<{
      at: string;
    }>`select occurred_at::text as at from notification where event_id = ${b}`.execute(s.db);
    expect(await replay([a], '{DEAD,DELIVERED}', '-infinity', rows[0]!.at)).toEqual(['NEWER_SENT']);
    await setState(b, 'PENDING');
    await sql`update delivery set lease_until = now() + interval '1 minute' where event_id = ${b}`.execute(
      s.db,
    );
    expect(await replay([a, b], '{DEAD}')).toEqual(['NEWER_SENT', 'WAITING']);
    expect(await replay([randomUUID()], '{DEAD}')).toEqual([undefined]);
  });

  it('replays a callback although a newer ORDER_UNMATCHED was delivered', async () => {
    const { events, order } = await s.anOrderWithCallbacks(1);
    const report = await s.notify(order, 2, new Date(), 'ORDER_UNMATCHED');
    await queueDeliveries(s.webhook.kysely, [order.order_pk]);
    await setState(events[0]!, 'DEAD');
    await setState(report, 'DELIVERED');
    expect(await replay(events, '{DEAD}')).toEqual(['REPLAYED']);
    await setState(events[0]!, 'DELIVERED');
    await setState(report, 'DEAD');
    expect(await replay([report], '{DEAD}')).toEqual(['REPLAYED']);
  });

  it('never replays an older callback after a concurrent claim of a newer one', async () => {
    for (let round = 0; round < 20; round += 1) {
      const { events } = await s.anOrderWithCallbacks(2);
      await setState(events[0]!, 'DEAD');
      const [[outcome], taken] = await Promise.all([replay([events[0]!], '{DEAD}'), claims('one')]);
      const sent = taken.map((claim) => claim.eventId);
      // Either the newer one was claimed first and the older stays, or the older is due and goes first.
      if (outcome === 'NEWER_SENT') expect(sent).toEqual([events[1]]);
      else expect([outcome, sent.includes(events[1]!)]).toEqual(['REPLAYED', false]);
      await sql`update delivery set state = 'DEAD', lease_until = null where event_id = any(${events}::uuid[])`.execute(
        s.db,
      );
    }
  });

  it('sends callbacks in the order of their order, each once', async () => {
    const { events } = await s.anOrderWithCallbacks(3);
    for (const id of events) await setState(id, 'DELIVERED');
    expect(await replay(events.toReversed(), '{DELIVERED}')).toEqual(['REPLAYED', 'REPLAYED', 'REPLAYED']);
    s.deliverer();
    await delivered(events[2]!);
    expect(s.receiver.received.map(({ body }) => body.nonce)).toEqual(events);
  });
});
