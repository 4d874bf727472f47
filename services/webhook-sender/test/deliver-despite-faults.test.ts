import { describe, expect, it } from 'vitest';
import { sql } from 'kysely';
import { GatewayError } from '@opentill/domain/gateway-error';
import { aMerchant } from '@opentill/testkit/scenario';
import { waitUntil } from '@opentill/testkit/wait-until';
import { createAddressGuard } from '../src/forbidden-addresses.ts';
import { claimDue } from '../src/store/claim-due.ts';
import { oldestDueSeconds, waitingText } from '../src/store/measure-backlog.ts';
import { markUnaddressedDead } from '../src/store/queue-deliveries.ts';
import { useDeliveryScenario } from './delivery-scenario.ts';
import { failQueries } from './failing-database.ts';
import { startReceiver } from './receiver.ts';

const s = useDeliveryScenario();
const ONE_RETRY_LATER = { retryScheduleSeconds: [60] };
/** Longer than any test, so that no callback is sent only because a hanging attempt was given up. */
const HANGS_ON = { attemptDeadlineMs: 600_000, stopGraceMs: 0 };

async function aHangingReceiver() {
  const hanging = await startReceiver();
  hanging.answer = () => undefined;
  return hanging;
}

describe('delivery despite faults', () => {
  it('delivers to other merchants when the secret of one cannot be opened', async () => {
    const affected = await s.anOrderWithCallbacks(1);
    await sql`update merchant set webhook_secret_sealed = '\\x00' where merchant_id = ${affected.merchantId}`.execute(
      s.db,
    );
    const others = [await s.anOrderWithCallbacks(1), await s.anOrderWithCallbacks(1)];
    const startedAt = Date.now();
    s.deliverer(ONE_RETRY_LATER);
    for (const { events } of others)
      await waitUntil('delivered', async () => (await s.stateOf(events[0]!)) === 'DELIVERED');
    await waitUntil(
      'handed back',
      async () => (await s.deliveryOf(affected.events[0]!)).next_attempt_at.getTime() > startedAt + 20_000,
    );
    expect(await s.deliveryOf(affected.events[0]!)).toMatchObject({ state: 'PENDING', attempts: 0 });
  });

  it('delivers to a healthy merchant while more endpoints hang than there are slots', async () => {
    const hanging = await aHangingReceiver();
    for (let i = 0; i < 5; i += 1) {
      const { merchantId } = await aMerchant(s.db, { callbackUrl: hanging.url });
      for (let j = 0; j < 4; j += 1) await s.anOrderWithCallbacks(1, hanging.url, merchantId);
    }
    s.deliverer({
      concurrency: 8,
      concurrencyPerEndpoint: 2,
      ...HANGS_ON,
      slowAfterMs: 60_000, // tests the reserved slots
      ...ONE_RETRY_LATER,
    });
    await waitUntil('the slow endpoints are busy', () => hanging.received.length >= 6);
    const { events } = await s.anOrderWithCallbacks(3);
    await waitUntil('the other is served', async () => (await s.stateOf(events[2]!)) === 'DELIVERED');
    expect(hanging.received).toHaveLength(6);
    await hanging.close();
  });

  it('delivers to a healthy merchant while many others fail repeatedly', async () => {
    const hanging = await aHangingReceiver();
    for (let i = 0; i < 12; i += 1) {
      const { merchantId, events } = await s.anOrderWithCallbacks(1, hanging.url);
      await sql`update delivery set attempts = 1, next_attempt_at = now() + interval '1 hour' where event_id = ${events[0]!}`.execute(
        s.db,
      );
      await sql`insert into callback_endpoint (merchant_id, failures_in_row) values (${merchantId}, 1)`.execute(
        s.db,
      );
      await s.anOrderWithCallbacks(1, hanging.url, merchantId);
    }
    s.deliverer({
      concurrency: 8,
      concurrencyPerEndpoint: 2,
      ...HANGS_ON,
      slowAfterMs: 60_000,
      ...ONE_RETRY_LATER,
    });
    await waitUntil('the slow endpoints are busy', () => hanging.received.length >= 6);
    const { events } = await s.anOrderWithCallbacks(1);
    await waitUntil('the other is served', async () => (await s.stateOf(events[0]!)) === 'DELIVERED');
    expect(hanging.received).toHaveLength(6);
    await hanging.close();
  });

  it('delivers quickly while more endpoints hang than attempts may start at once', async () => {
    const hanging = await aHangingReceiver();
    for (let i = 0; i < 40; i += 1) await s.anOrderWithCallbacks(1, hanging.url);
    s.deliverer({ concurrency: 16, concurrencyPerEndpoint: 4, ...HANGS_ON });
    await waitUntil('the first hang', () => hanging.received.length >= 16);
    const { events } = await s.anOrderWithCallbacks(1);
    await waitUntil('the other is served', async () => (await s.stateOf(events[0]!)) === 'DELIVERED');
    await waitUntil('all of them wait in parallel', () => hanging.received.length === 40);
    await hanging.close();
  });

  it('delivers once when the database fails while outcomes are recorded', async () => {
    const { events } = await s.anOrderWithCallbacks(2);
    const unavailable = new GatewayError('DATABASE_UNAVAILABLE', 'down', { retryable: true });
    let failures = 0;
    const db = failQueries(s.webhook, (text) => {
      if (!text.includes('delivery_attempt') || failures >= 3) return undefined;
      failures += 1;
      return unavailable;
    });
    s.deliverer({ db });
    await waitUntil('delivered', async () => (await s.stateOf(events[1]!)) === 'DELIVERED');
    expect(failures).toBe(3);
    expect(s.receiver.received.map((c) => c.body.nonce)).toEqual(events);
  });
});

describe('claims', () => {
  it('does not send after its lease expired during a slow lookup', async () => {
    const url = s.receiver.url.replace('127.0.0.1', 'shop.example');
    const { events } = await s.anOrderWithCallbacks(2, url);
    let answer: (addresses: readonly string[]) => void = () => undefined;
    let asked = false;
    const slow = s.deliverer({
      instance: 'slow',
      leaseMs: 300,
      pollIntervalMs: 3_600_000,
      rules: {
        guard: createAddressGuard(['127.0.0.1']),
        allowHttp: true,
        resolveHost: () => {
          asked = true;
          return new Promise((resolve) => (answer = resolve));
        },
      },
    });
    await waitUntil('claimed', () => asked);
    const other = s.deliverer();
    await waitUntil('both delivered', async () => (await s.stateOf(events[1]!)) === 'DELIVERED');
    await other.stop();
    expect(s.receiver.received.map((c) => c.body.nonce)).toEqual(events);
    answer(['127.0.0.1']);
    await slow.stop();
    expect(s.receiver.received.map((c) => c.body.nonce)).toEqual(events);
    expect((await s.attemptsOf(events[0]!)).map((a) => a.attempt)).toEqual([2]);
  });

  it('releases a claim when the process stops, without counting an attempt', async () => {
    const { events } = await s.anOrderWithCallbacks(1);
    s.receiver.answer = () => undefined;
    const stopped = s.deliverer({ attemptDeadlineMs: 600_000, stopGraceMs: 100 });
    await waitUntil('under way', () => s.receiver.received.length === 1);
    const startedAt = Date.now();
    await stopped.stop();
    expect(Date.now() - startedAt).toBeLessThan(60_000); // shorter than the attempt's deadline
    await waitUntil('released', async () => (await s.deliveryOf(events[0]!)).lease_until === null);
    expect(await s.attemptsOf(events[0]!)).toEqual([]);
    expect(await s.deliveryOf(events[0]!)).toMatchObject({
      state: 'PENDING',
      attempts: 0,
      lease_until: null,
      lease_holder: null,
    });
    s.receiver.answer = (_callback, response) => void response.end();
    s.deliverer();
    await waitUntil('delivered', async () => (await s.stateOf(events[0]!)) === 'DELIVERED');
    expect((await s.attemptsOf(events[0]!)).map((a) => a.attempt)).toEqual([1]);
  });

  it('reads a bounded part of a backlog', async () => {
    const { merchantId } = await s.anOrderWithCallbacks(1);
    await sql`
      with orders as (select gen_random_uuid() as subject from generate_series(1, 1000)),
      told as (
        insert into notification (event_id, merchant_id, subject_id, sequence, notify_type, data, occurred_at)
        select gen_random_uuid(), ${merchantId}, subject, n, 'ORDER_PENDING', '{}', now() from orders, generate_series(1, 3) n
        returning event_id, merchant_id, subject_id, sequence
      )
      insert into delivery (event_id, merchant_id, subject_id, sequence, attempts, next_attempt_at)
      select event_id, merchant_id, subject_id, sequence, 0, now() - interval '1 minute' from told`.execute(
      s.db,
    );
    await sql`analyze delivery`.execute(s.db);
    const limits = { holder: 'a', limit: 64, openLimit: 64, probeLimit: 0, perEndpoint: 16, leaseMs: 60_000 };
    // A separate connection, because the counts are those of a session's unreported statistics.
    const own = s.database.open('webhook');
    const rows = await own.kysely.transaction().execute(async (tx) => {
      expect(await claimDue(tx, limits)).toHaveLength(16);
      const read = await sql<{ rows: number }>`
        select seq_tup_read + idx_tup_fetch as rows from pg_stat_xact_user_tables where relname = 'delivery'`.execute(
        tx,
      );
      return read.rows[0]!.rows;
    });
    await own.close();
    expect(rows).toBeGreaterThan(16);
    expect(rows).toBeLessThan(2_500);
  });
});

describe('replays', () => {
  it('starts a new schedule on replay and keeps numbering the attempts', async () => {
    const { events } = await s.anOrderWithCallbacks(1);
    s.receiver.answer = (_callback, response) => {
      response.statusCode = 500;
      response.end();
    };
    s.deliverer({ retryScheduleSeconds: [0.01, 0.01] });
    for (const attempts of [3, 6]) {
      await waitUntil('dead', async () => (await s.stateOf(events[0]!)) === 'DEAD');
      expect((await s.attemptsOf(events[0]!)).map((a) => a.attempt)).toEqual(
        Array.from({ length: attempts }, (_, i) => i + 1),
      );
      if (attempts === 3) await sql`select replay_delivery(${events[0]!}::uuid)`.execute(s.db);
    }
  });

  it('keeps the lease of a running attempt on replay and survives its failure', async () => {
    const { events } = await s.anOrderWithCallbacks(1);
    const answers: ((status: number) => void)[] = [];
    s.receiver.answer = (_callback, response) =>
      void answers.push((status) => {
        response.statusCode = status;
        response.end();
      });
    s.deliverer({ retryScheduleSeconds: [] });
    await waitUntil('under way', () => answers.length === 1);
    await sql`select replay_delivery(${events[0]!}::uuid)`.execute(s.db);
    const limits = {
      holder: 'other',
      limit: 8,
      openLimit: 8,
      probeLimit: 0,
      perEndpoint: 8,
      leaseMs: 60_000,
    };
    expect(await claimDue(s.webhook.kysely, limits)).toEqual([]);
    answers[0]!(500);
    await waitUntil('sent again', () => answers.length === 2);
    answers[1]!(200);
    await waitUntil('delivered', async () => (await s.stateOf(events[0]!)) === 'DELIVERED');
    expect((await s.attemptsOf(events[0]!)).map((a) => a.status_code)).toEqual([500, 200]);
  });
});

describe('waiting callbacks', () => {
  it('marks waiting callbacks dead when their merchant loses its URL', async () => {
    const { events, merchantId } = await s.anOrderWithCallbacks(2);
    const other = await s.anOrderWithCallbacks(1);
    const setUrl = (url: string | null) =>
      sql`update merchant set callback_url = ${url} where merchant_id = ${merchantId}`.execute(s.db);
    await setUrl(null);
    expect(await markUnaddressedDead(s.webhook.kysely, 1)).toBe(1);
    expect(await markUnaddressedDead(s.webhook.kysely, 100)).toBe(1);
    expect(await Promise.all(events.map(s.stateOf))).toEqual(['DEAD', 'DEAD']);
    expect(await s.stateOf(other.events[0]!)).toBe('PENDING');
    await setUrl(s.receiver.url);
    await sql`select replay_delivery(${events[0]!}::uuid)`.execute(s.db);
    s.deliverer();
    await waitUntil('replayed', async () => (await s.stateOf(events[0]!)) === 'DELIVERED');
  });

  it('does not count callbacks as overdue behind an older one or before a retry', async () => {
    const { events } = await s.anOrderWithCallbacks(2);
    const age = (eventId: string, interval: string, attempts: number) =>
      sql`update delivery set attempts = ${attempts}, next_attempt_at = now() + ${interval}::interval where event_id = ${eventId}`.execute(
        s.db,
      );
    await age(events[0]!, '10 minutes', 1);
    await age(events[1]!, '-1 hour', 0);
    const oldest = async () => (await oldestDueSeconds(s.webhook.kysely, 16)).seconds;
    expect(await oldest()).toBe(0);
    await age(events[0]!, '10 minutes', 3);
    expect(await oldest()).toBeGreaterThan(3_500);
    await age(events[0]!, '-2 minutes', 1);
    const waits = await oldest();
    expect([Math.floor(waits / 60), waits > 119]).toEqual([2, true]);
  });

  it('counts callbacks of a merchant that uses all of its slots separately', async () => {
    const { merchantId } = await s.anOrderWithCallbacks(1);
    for (let more = 0; more < 2; more += 1) await s.anOrderWithCallbacks(1, undefined, merchantId);
    await sql`update delivery set next_attempt_at = now() - interval '1 hour' where state = 'PENDING'`.execute(
      s.db,
    );
    const limits = { holder: 'a', limit: 2, openLimit: 2, probeLimit: 0, perEndpoint: 2, leaseMs: 600_000 };
    expect(await claimDue(s.webhook.kysely, limits)).toHaveLength(2);
    const free = await oldestDueSeconds(s.webhook.kysely, 3);
    expect([free.seconds > 3_500, free.atFullEndpointsSeconds]).toEqual([true, 0]);
    const full = await oldestDueSeconds(s.webhook.kysely, 2);
    expect([full.seconds, full.atFullEndpointsSeconds > 3_500]).toEqual([0, true]);
    expect(waitingText(free)).toMatch(/^oldest due callback waits \d{4,}\.\d s$/);
    expect(waitingText(full)).toMatch(/waits \d{4,}\.\d s, because its merchant uses all of its slots$/);
  });
});
