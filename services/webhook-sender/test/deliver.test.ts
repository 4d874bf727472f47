import { createHmac } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { sql } from 'kysely';
import { aCollection, aMerchant } from '@opentill/testkit/scenario';
import { waitUntil } from '@opentill/testkit/wait-until';
import { createAddressGuard } from '../src/forbidden-addresses.ts';
import { claimDue } from '../src/store/claim-due.ts';
import { finishAttempts } from '../src/store/finish-attempts.ts';
import { queueDeliveries } from '../src/store/queue-deliveries.ts';
import { TYPES, useDeliveryScenario } from './delivery-scenario.ts';
import { deliverInOrder } from './deliver-in-order.ts';
import { startReceiver } from './receiver.ts';

const s = useDeliveryScenario();

describe('delivery', () => {
  it("sends an order's callbacks in order, signed, each once", async () => {
    const { events, merchantId, order } = await s.anOrderWithCallbacks(3);
    s.deliverer();
    await waitUntil('all delivered', async () => (await s.stateOf(events[2]!)) === 'DELIVERED');
    expect(s.receiver.received.map((c) => c.body.nonce)).toEqual(events);
    expect(s.receiver.received.map((c) => c.body.notifyType)).toEqual([...TYPES]);
    for (const { text, body, headers } of s.receiver.received) {
      const data = text.slice(text.indexOf('"data":') + 7, -1);
      const hex = createHmac('sha256', `secret-of-${merchantId}`).update(data).digest('hex');
      expect(body.sign).toBe(hex);
      expect(headers['x-signature']).toBe(hex);
      expect(headers['webhook-id']).toBe(body.nonce);
      const signed = `${body.nonce}.${headers['webhook-timestamp'] as string}.${text}`;
      const standard = createHmac('sha256', `secret-of-${merchantId}`).update(signed).digest('base64');
      expect(headers['webhook-signature']).toBe(`v1,${standard}`);
      expect(Object.keys(body)).toEqual(['sign', 'timestamp', 'nonce', 'notifyType', 'data']);
      expect(body.data['orderId']).toBe(order.order_id);
    }
  });

  it('repeats a failed attempt with the same nonce and records every attempt', async () => {
    const { events } = await s.anOrderWithCallbacks(1);
    s.receiver.answer = (_callback, response) => {
      response.statusCode = s.receiver.received.length < 3 ? 500 : 204;
      response.end(s.receiver.received.length < 3 ? 'not now' : '');
    };
    s.deliverer();
    await waitUntil('delivered', async () => (await s.stateOf(events[0]!)) === 'DELIVERED');
    expect(s.receiver.received.map((c) => c.body.nonce)).toEqual([events[0], events[0], events[0]]);
    const attempts = await s.attemptsOf(events[0]!);
    expect(attempts.map((a) => a.status_code)).toEqual([500, 500, 204]);
    expect(attempts[0]?.response_excerpt).toBe('not now');
  });

  it('holds a callback back until the older one failed three times', async () => {
    const { events } = await s.anOrderWithCallbacks(2);
    s.receiver.answer = (callback, response) => {
      response.statusCode = callback.body.data['sequence'] === 1 ? 503 : 200;
      response.end();
    };
    s.deliverer({ retryScheduleSeconds: [0.02, 0.02, 60, 60] });
    await waitUntil('newer delivered', async () => (await s.stateOf(events[1]!)) === 'DELIVERED');
    expect(s.receiver.received.map((c) => c.body.data['sequence'])).toEqual([1, 1, 1, 2]);
    expect(await s.stateOf(events[0]!)).toBe('SUPERSEDED');
  });

  it('lets ORDER_UNMATCHED overtake a failing callback without superseding it', async () => {
    const { events, order } = await s.anOrderWithCallbacks(1);
    const report = await s.notify(order, 2, new Date(), 'ORDER_UNMATCHED');
    await queueDeliveries(s.webhook.kysely, [order.order_pk]);
    let isBroken = true;
    s.receiver.answer = (callback, response) => {
      response.statusCode = isBroken && callback.body.data['sequence'] === 1 ? 503 : 200;
      response.end();
    };
    s.deliverer({ retryScheduleSeconds: [0.02, 0.02, 0.02, 60] });
    await waitUntil('report delivered', async () => (await s.stateOf(report)) === 'DELIVERED');
    await waitUntil('fourth failure', async () => (await s.attemptsOf(events[0]!)).length === 4);
    expect(await s.stateOf(events[0]!)).toBe('PENDING');
    isBroken = false;
    await sql`update delivery set next_attempt_at = now() where event_id = ${events[0]!}`.execute(s.db);
    await waitUntil('delivered at last', async () => (await s.stateOf(events[0]!)) === 'DELIVERED');
  });

  it('lets a newer callback overtake a failing ORDER_UNMATCHED without superseding it', async () => {
    const { order } = await s.anOrderWithCallbacks(1);
    const report = await s.notify(order, 2, new Date(), 'ORDER_UNMATCHED');
    const success = await s.notify(order, 3);
    await queueDeliveries(s.webhook.kysely, [order.order_pk]);
    s.receiver.answer = (callback, response) => {
      response.statusCode = callback.body.data['sequence'] === 2 ? 503 : 200;
      response.end();
    };
    s.deliverer({ retryScheduleSeconds: [0.02, 0.02, 60, 60] });
    await waitUntil('newer delivered', async () => (await s.stateOf(success)) === 'DELIVERED');
    expect(await s.stateOf(report)).toBe('PENDING');
  });

  it('marks a callback dead after the schedule, keeps it and blocks no other', async () => {
    const { events, order } = await s.anOrderWithCallbacks(1);
    s.receiver.answer = (callback, response) => {
      response.statusCode = callback.body.data['sequence'] === 1 ? 500 : 200;
      response.end();
    };
    s.deliverer({ retryScheduleSeconds: [0.01, 0.01] });
    await waitUntil('dead', async () => (await s.stateOf(events[0]!)) === 'DEAD');
    expect(s.receiver.received).toHaveLength(3);
    const newer = await s.notify(order, 2);
    await queueDeliveries(s.webhook.kysely, [order.order_pk]);
    await waitUntil('newer delivered', async () => (await s.stateOf(newer)) === 'DELIVERED');
    s.receiver.answer = (_callback, response) => void response.end();
    await sql`select replay_delivery(${events[0]!}::uuid)`.execute(s.db);
    await waitUntil('replayed', async () => (await s.stateOf(events[0]!)) === 'DELIVERED');
    expect(s.receiver.received.at(-1)?.body.nonce).toBe(events[0]);
  });

  it('keeps the callbacks of a merchant without a URL as dead', async () => {
    const { events } = await s.anOrderWithCallbacks(1, null);
    expect(await s.stateOf(events[0]!)).toBe('DEAD');
  });

  it('sends the same nonce again after a worker died between 200 and commit', async () => {
    const { events } = await s.anOrderWithCallbacks(2);
    const dead = {
      holder: 'dead-worker',
      limit: 10,
      openLimit: 10,
      probeLimit: 0,
      perEndpoint: 10,
      leaseMs: 150,
    };
    const [claim] = await claimDue(s.webhook.kysely, dead);
    expect(claim?.eventId).toBe(events[0]);
    s.deliverer();
    await waitUntil('both delivered', async () => (await s.stateOf(events[1]!)) === 'DELIVERED');
    expect(s.receiver.received.map((c) => c.body.nonce)).toEqual(events);
    const record = {
      startedAt: new Date(),
      durationMs: 1,
      statusCode: 500,
      errorCode: 'SERVER_ERROR',
      error: null,
      excerpt: null,
    } as const;
    const late = { claim: claim!, record, outcome: { state: 'DEAD' } } as const;
    expect(await finishAttempts(s.webhook.kysely, 'dead-worker', [late])).toMatchObject([{ held: false }]);
    expect(await s.stateOf(events[0]!)).toBe('DELIVERED');
  });

  it('queues without a gap when events arrive out of order', async () => {
    const merchant = await aMerchant(s.db, { callbackUrl: s.receiver.url });
    const order = await aCollection(s.db, { merchant_id: merchant.merchantId });
    await s.notify(order, 1);
    await s.notify(order, 2);
    expect(await queueDeliveries(s.webhook.kysely, [order.order_pk])).toEqual({ waiting: 2, dead: 0 });
    expect(await queueDeliveries(s.webhook.kysely, [order.order_pk])).toEqual({ waiting: 0, dead: 0 });
  });
});

describe('replicas', () => {
  it('keeps the order of callbacks and never sends two of one order at once', () => deliverInOrder(s, 12)); // with 60 orders in deliver.full.test.ts
});

describe('faulty receivers', () => {
  async function firstAttempt(events: readonly string[]) {
    await waitUntil('an attempt is recorded', async () => (await s.attemptsOf(events[0]!)).length > 0);
    return (await s.attemptsOf(events[0]!))[0]!;
  }

  it('counts a hanging receiver as failed at the deadline', async () => {
    const { events } = await s.anOrderWithCallbacks(1);
    s.receiver.answer = () => undefined;
    s.deliverer({ retryScheduleSeconds: [60], attemptDeadlineMs: 1_000 });
    const attempt = await firstAttempt(events);
    expect(attempt.error).toContain('no answer within 1000 ms');
    expect(attempt.duration_ms).toBeLessThan(30_000);
  });

  it('accepts the status of a receiver that drips its body endlessly', async () => {
    const { events } = await s.anOrderWithCallbacks(1);
    let dripping: NodeJS.Timeout | undefined;
    s.receiver.answer = (_callback, response) => {
      response.writeHead(200);
      dripping = setInterval(() => response.write('.'), 20);
    };
    s.deliverer();
    await waitUntil('delivered', async () => (await s.stateOf(events[0]!)) === 'DELIVERED');
    clearInterval(dripping);
  });

  it('reads only the excerpt of an endless body', async () => {
    const { events } = await s.anOrderWithCallbacks(1);
    s.receiver.answer = (_callback, response) => {
      response.writeHead(200, { 'content-encoding': 'gzip' });
      const flood = (): void => {
        while (!response.destroyed && response.write(Buffer.alloc(65_536, 'x')));
        if (!response.destroyed) response.once('drain', flood);
      };
      flood();
    };
    s.deliverer();
    expect((await firstAttempt(events)).response_excerpt).toHaveLength(1024);
  });

  it('does not follow redirects', async () => {
    const forbidden = await startReceiver();
    const { events } = await s.anOrderWithCallbacks(1);
    s.receiver.answer = (_callback, response) => {
      response.writeHead(302, { location: forbidden.url });
      response.end();
    };
    s.deliverer({ retryScheduleSeconds: [60] });
    expect((await firstAttempt(events)).status_code).toBe(302);
    expect(forbidden.received).toHaveLength(0);
    await forbidden.close();
  });

  it('counts a reset connection as failed', async () => {
    const { events } = await s.anOrderWithCallbacks(1);
    s.receiver.answer = (_callback, _response, request) => void request.socket.destroy();
    s.deliverer({ retryScheduleSeconds: [60] });
    expect((await firstAttempt(events)).error).toContain('ECONNRESET');
  });

  it.each([
    ['a private literal', 'http://127.0.0.2:8/', async () => ['8.8.8.8']],
    ['a decimal literal', 'http://2130706434:8/', async () => ['8.8.8.8']],
    ['a name with a forbidden address', 'http://shop.example:8/', async () => ['169.254.169.254']],
    [
      'a name with one forbidden address of two',
      'http://shop.example:8/',
      async () => ['8.8.8.8', '10.0.0.1'],
    ],
  ])('does not contact %s', async (_what, url, resolveHost) => {
    const { events } = await s.anOrderWithCallbacks(1, url);
    const contacted: string[] = [];
    s.deliverer({
      retryScheduleSeconds: [60],
      rules: { guard: createAddressGuard(['127.0.0.1']), allowHttp: true, resolveHost },
      send: async ({ endpoint }) => {
        contacted.push(endpoint.address);
        return { kind: 'FAILED', code: 'CONNECT_FAILED', error: 'contacted' };
      },
    });
    expect((await firstAttempt(events)).error).toMatch(/forbidden address/);
    expect(contacted).toEqual([]);
  });

  it('connects to the checked address even when the name changes', async () => {
    const answers = [['127.0.0.1'], ['169.254.169.254']];
    const url = s.receiver.url.replace('127.0.0.1', 'shop.example');
    const { events } = await s.anOrderWithCallbacks(1, url);
    s.deliverer({
      rules: {
        guard: createAddressGuard(['127.0.0.1']),
        allowHttp: true,
        resolveHost: async () => answers.shift() ?? [],
      },
    });
    await waitUntil('delivered', async () => (await s.stateOf(events[0]!)) === 'DELIVERED');
    expect(s.receiver.received[0]?.headers.host).toBe(new URL(url).host);
    expect(answers).toHaveLength(1);
  });

  it('delivers to other merchants while one hangs', async () => {
    const hanging = await startReceiver();
    hanging.answer = () => undefined;
    const slow = await aMerchant(s.db, { callbackUrl: hanging.url });
    for (let i = 0; i < 12; i += 1) await s.anOrderWithCallbacks(1, hanging.url, slow.merchantId);
    s.deliverer({
      concurrency: 8,
      concurrencyPerEndpoint: 4,
      attemptDeadlineMs: 600_000, // so that no hanging attempt ends during the test
      stopGraceMs: 0,
      retryScheduleSeconds: [60],
    });
    await waitUntil('the slow endpoint is busy', () => hanging.received.length === 4);
    const { events } = await s.anOrderWithCallbacks(3);
    await waitUntil('the other is served', async () => (await s.stateOf(events[2]!)) === 'DELIVERED');
    expect(hanging.received).toHaveLength(4);
    await hanging.close();
  });
});
