import { connect } from 'node:net';
import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sql } from 'kysely';
import { signOrderId } from '@opentill/contracts/signing/verify-signature';
import { aChainCursor, aCollection, aMerchant, type OrderRow } from '@opentill/testkit/scenario';
import { openTestDatabase } from '@opentill/testkit/test-database';
import { waitUntil } from '@opentill/testkit/wait-until';
import { NO_LIMITS, startTestApi, USDT_SEPOLIA, type TestApi } from './support/test-api.ts';

const merchant = { token: 'token-of-shop-0123456789-0123456789' };
const LIMITS = { perOrder: 2, perClientAddress: 3, whole: 4 };
const { testDatabase, admin } = await openTestDatabase();
let api: TestApi;

beforeAll(async () => {
  await aMerchant(admin.kysely, { merchantId: 'shop', ...merchant, rateLimits: NO_LIMITS });
  await aChainCursor(admin.kysely, { chain: 'ETH_SEPOLIA', head_height: 100 });
  api = await startTestApi(testDatabase, {
    merchant,
    streamLimits: LIMITS,
    trustedProxies: ['127.0.0.1'],
  });
});
afterAll(() => api.stop());

interface Listening {
  readonly response: Response;
  readonly received: readonly Record<string, unknown>[];
  readonly ended: () => boolean;
  readonly text: () => string;
  stop(): Promise<void>;
}

const collection = (): Promise<OrderRow> =>
  aCollection(admin.kysely, { merchant_id: 'shop', contract_address: USDT_SEPOLIA });
const urlOf = (orderId: string) =>
  `${api.url}/v1/order/events?orderId=${orderId}&sign=${signOrderId(merchant.token, orderId)}`;

async function listen(orderId: string, clientAddress = '203.0.113.1'): Promise<Listening> {
  const abort = new AbortController();
  const headers = { 'x-forwarded-for': clientAddress, origin: 'https://pay.example' };
  const response = await fetch(urlOf(orderId), { headers, signal: abort.signal });
  const received: Record<string, unknown>[] = [];
  let [text, rest, ended] = ['', '', false];
  const reading = (async () => {
    const decoder = new TextDecoder();
    for await (const chunk of response.body!) {
      const piece = decoder.decode(chunk, { stream: true });
      text += piece;
      const events = (rest + piece).split('\n\n');
      rest = events.pop() ?? '';
      for (const event of events) {
        const data = /^event: order\ndata: (?<json>.*)$/.exec(event)?.groups?.['json'];
        if (data !== undefined) received.push(JSON.parse(data) as Record<string, unknown>);
      }
    }
    ended = true;
  })().catch(() => undefined);
  return {
    response,
    received,
    text: () => text,
    ended: () => ended,
    async stop() {
      abort.abort();
      await reading;
    },
  };
}

const update = (order: OrderRow, set: Record<string, unknown>) =>
  admin.kysely
    .updateTable('orders')
    .set({ updated_at: new Date(), ...set })
    .where('order_pk', '=', order.order_pk)
    .execute();

describe('GET /v1/order/events', () => {
  it('sends the order at once and after every change, and ends when it is final', async () => {
    const order = await collection();
    const stream = await listen(order.order_id);
    expect(stream.response.status).toBe(200);
    expect(stream.response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
    expect(stream.response.headers.get('cache-control')).toBe('no-store, no-transform');
    expect(stream.response.headers.get('access-control-allow-origin')).toBe('*');
    await waitUntil('the first message', () => stream.received.length > 0);
    const pay = await api.signedGet('pay', order.order_id);
    expect(stream.received[0]).toEqual({ ...pay.data, serverTime: expect.any(Number) });

    await update(order, { status: 'PENDING', detected_amount: 40_000_000n });
    await waitUntil('the partial payment', () => stream.received.at(-1)?.['receivedAmount'] === '40.00');
    await update(order, { status: 'PENDING_CONFIRMATION', detected_amount: 250_000_000n });
    await waitUntil('the full payment', () => stream.received.at(-1)?.['status'] === 'PENDING_CONFIRMATION');
    await update(order, { status: 'SUCCESS', actual_amount: 250_000_000n });
    await waitUntil('the stream ended', stream.ended);
    expect(stream.received.at(-1)).toMatchObject({ status: 'SUCCESS', actualAmount: '250.00' });
    expect(stream.text()).toMatch(/^retry: 2000\n\n/);
    expect(stream.received).toHaveLength(4); // no message twice
  });

  it('sends each new head only while a payment is unconfirmed', async () => {
    const [waiting, confirming] = [await collection(), await collection()];
    await update(confirming, { status: 'PENDING_CONFIRMATION', detected_amount: 250_000_000n });
    const [quiet, lively] = [await listen(waiting.order_id), await listen(confirming.order_id)];
    await waitUntil(
      'both have the first message',
      () => quiet.received.length > 0 && lively.received.length > 0,
    );
    const before = quiet.received.length;
    await admin.kysely.updateTable('chain_cursor').set({ head_height: 101 }).execute();
    const received = lively.received.length;
    await waitUntil('the new head', () => lively.received.length > received);
    expect(quiet.received).toHaveLength(before);
    await Promise.all([quiet.stop(), lively.stop()]);
  });

  it('sends the order to all its streams', async () => {
    const order = await collection();
    const streams = [await listen(order.order_id), await listen(order.order_id, '203.0.113.2')];
    await waitUntil('both listen', () => streams.every(({ received }) => received.length > 0));
    await update(order, { status: 'EXPIRED' });
    await waitUntil('both have ended', () => streams.every(({ ended }) => ended()));
  });

  it('limits streams per order, per client and in total, and frees slots', async () => {
    const orders = await Promise.all(Array.from({ length: 4 }, collection));
    const id = (place: number) => orders[place]!.order_id;
    const refused = async (place: number, client: string) => {
      const { response } = await listen(id(place), client);
      return [response.status, response.headers.get('retry-after')];
    };
    const taken = [await listen(id(0), '203.0.113.1'), await listen(id(0), '203.0.113.1')];
    expect(await refused(0, '203.0.113.9')).toEqual([429, '30']);
    taken.push(await listen(id(1), '203.0.113.1'));
    expect(await refused(2, '203.0.113.1')).toEqual([429, '30']);
    taken.push(await listen(id(2), '203.0.113.2'));
    expect(await refused(3, '203.0.113.3')).toEqual([503, '30']);
    await taken[0]!.stop();
    const again = await (async () => {
      for (;;) {
        const stream = await listen(id(0), '203.0.113.5');
        if (stream.response.status === 200) return stream;
      }
    })();
    await Promise.all([...taken, again].map((stream) => stream.stop()));
    // Rejected streams do not take a slot.
    await waitUntil('all slots are free', async () => {
      const stream = await listen(id(3), '203.0.113.7');
      const { status } = stream.response;
      await stream.stop();
      return status === 200;
    });
  });

  it('requires a signature and rejects payouts', async () => {
    const order = await collection();
    const ask = (query: string) => api.request('GET', `/v1/order/events?${query}`);
    expect(await ask(`orderId=${order.order_id}`)).toMatchObject({ status: 401 });
    expect(await ask(`orderId=${order.order_id}&sign=${'a'.repeat(64)}`)).toMatchObject({ status: 401 });
    expect(await ask(`sign=${'a'.repeat(64)}`)).toMatchObject({ status: 400 });
    expect(await ask(`orderId=none&sign=${signOrderId(merchant.token, 'none')}`)).toMatchObject({
      status: 404,
    });
    const head = await fetch(urlOf(order.order_id), { method: 'HEAD' });
    expect([head.status, head.headers.get('content-type')]).toEqual([
      200,
      'text/event-stream; charset=utf-8',
    ]);
    const preflight = await fetch(urlOf(order.order_id), {
      method: 'OPTIONS',
      headers: { origin: 'https://pay.example' },
    });
    expect(preflight.headers.get('access-control-allow-methods')).toBe('GET');
  });

  it('survives a client that disconnects silently', async () => {
    const order = await collection();
    const socket = connect(api.port, '127.0.0.1');
    await once(socket, 'connect');
    const { pathname, search } = new URL(urlOf(order.order_id));
    socket.write(`GET ${pathname}${search} HTTP/1.1\r\nHost: x\r\n\r\n`);
    await once(socket, 'readable');
    socket.resetAndDestroy();
    const stream = await listen(order.order_id);
    await update(order, { status: 'PENDING' });
    await waitUntil('the other stream gets it', () => stream.received.at(-1)?.['status'] === 'PENDING');
    await stream.stop();
  });

  it('frees the slot of a client that disconnects while its order is read', async () => {
    const order = await collection();
    const gone = new AbortController();
    const isStuck = async () => {
      const { rows } = await sql`
        select 1 from pg_locks join pg_database on pg_database.oid = pg_locks.database
        where not granted and datname = current_database()`.execute(admin.kysely);
      return rows.length >= LIMITS.perOrder;
    };
    await admin.kysely.transaction().execute(async (transaction) => {
      await sql`lock table orders in access exclusive mode`.execute(transaction);
      const asked = Array.from({ length: LIMITS.perOrder }, () =>
        fetch(urlOf(order.order_id), { signal: gone.signal }).catch(() => undefined),
      );
      await waitUntil('all of its slots are taken', isStuck);
      gone.abort();
      await Promise.all(asked);
    });
    const stream = await listen(order.order_id);
    expect(stream.response.status).toBe(200);
    await stream.stop();
  });

  it('ends at once when the service stops', async () => {
    const other = await startTestApi(testDatabase, { merchant });
    const order = await collection();
    const sign = signOrderId(merchant.token, order.order_id);
    const response = await fetch(`${other.url}/v1/order/events?orderId=${order.order_id}&sign=${sign}`);
    const all = response.text();
    const startedMs = performance.now();
    await other.stop();
    expect(await all).toContain('event: order');
    expect(performance.now() - startedMs).toBeLessThan(60_000); // shorter than a stream's lifetime
  });
});
