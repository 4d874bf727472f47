import { randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import express from 'express';
import { sql } from 'kysely';
import { findFreePort } from '@opentill/test-servers/free-port';
import { createOpentill, type Opentill, type OpentillOptions } from '@opentill/sdk/client';
import { OpentillError, type OpentillErrorCode } from '@opentill/sdk/opentill-error';
import { expressCallbacks, fetchCallbacks, type ReceiveOptions } from '@opentill/sdk/receive-callbacks';
import { CallbackError } from '@opentill/sdk/verify-callback';
import { waitUntil } from '@opentill/testkit/wait-until';
import { runOpentill } from '../src/run-opentill.ts';
import { startGatewayUnderTest, type GatewayUnderTest } from '../src/start-gateway-under-test.ts';
import { startRestartableServers, type RestartableServers } from '../src/start-restartable-servers.ts';

// The SDK against a real gateway that fails: no database, a frozen or dead process, rate limits, an internal error.

const RECEIVER = '0xa0Ee7A142d267C1f36714E4a8F75612F20a79720';
let servers: RestartableServers;
let under: GatewayUnderTest;
const seen = new Set<OpentillErrorCode>();

beforeAll(async () => {
  servers = await startRestartableServers();
  under = await startGatewayUnderTest({
    given: { databaseUrl: servers.databaseUrl, amqpUrl: servers.amqpUrl },
  });
});
afterAll(async () => {
  await under?.stop();
  await servers?.stop();
});

interface Attempt {
  readonly at: number;
  status?: number;
  retryAfterMs?: number;
}

function notedFetch(): { readonly fetch: typeof fetch; readonly attempts: readonly Attempt[] } {
  const attempts: Attempt[] = [];
  return {
    attempts,
    fetch: async (input, init) => {
      const attempt: Attempt = { at: performance.now() };
      attempts.push(attempt);
      const response = await fetch(input, init);
      attempt.status = response.status;
      attempt.retryAfterMs = Number(response.headers.get('retry-after') ?? 0) * 1_000;
      return response;
    },
  };
}

const open = (options: Partial<OpentillOptions> = {}): Opentill =>
  createOpentill({ url: under.gateway.apiUrl, token: under.merchantToken, ...options });
const collection = (fields: object = {}) => ({
  orderId: under.newOrderId(),
  amount: '12.50',
  symbol: 'USDT',
  chain: 'ETH_SEPOLIA' as const,
  ...fields,
});

async function failure(call: Promise<unknown>): Promise<OpentillError> {
  const error = await call.then(
    (answer) => answer,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(OpentillError);
  seen.add((error as OpentillError).code);
  return error as OpentillError;
}

const signalApi = (signal: NodeJS.Signals): void => {
  process.kill(under.gateway.services.get('api')?.pid ?? 0, signal);
};

async function ordersOf(orderId: string): Promise<number> {
  const rows = await under.database.kysely
    .selectFrom('orders')
    .select('order_pk')
    .where('order_id', '=', orderId)
    .execute();
  return rows.length;
}

describe('all endpoints', () => {
  it("accept a merchant's own signature version and reject the other", async () => {
    const { gateway } = under;
    const created = await runOpentill(gateway, ['merchant', 'create', '--id', 'signer-two']);
    const token = /^token +(\S+)$/m.exec(created.out)?.[1] ?? '';
    const set = await runOpentill(gateway, ['merchant', 'set', 'signer-two', '--sign-version', '2']);
    expect(set).toMatchObject({ code: 0, errors: '' });
    const two = open({ token, signVersion: 2, merchantId: 'signer-two', retries: 8 });
    const fields = collection();
    await waitUntil('the api has the new merchant', async () =>
      two.createCollection(fields).then(
        () => true,
        () => false,
      ),
    );
    for (const [opentill, mine] of [
      [two, fields],
      [open(), collection()],
    ] as const) {
      const order = await opentill.createCollection(mine);
      expect(await opentill.createCollection(mine)).toEqual(order);
      expect(await opentill.status(mine.orderId)).toMatchObject({ status: 'INIT', orderType: 'COLLECTION' });
      expect(await opentill.pay(mine.orderId)).toMatchObject({ address: order.address });
      expect(await opentill.getOrderStatus(mine.orderId)).toBe('INIT');
      expect(await opentill.supportSymbols({ symbol: 'USDT' })).not.toEqual([]);
    }
    const payout = await two.createPayout({ ...collection({ amount: '1.00' }), receiveAddress: RECEIVER });
    expect(await two.status(payout.orderId)).toMatchObject({ orderType: 'PAYOUT' });
    expect(await failure(open({ token, retries: 0 }).createCollection(collection()))).toMatchObject({
      code: 'UNAUTHORIZED',
    });
  });
});

describe('permanent errors', () => {
  it('are thrown at the first attempt with their codes', async () => {
    const opentill = open();
    const taken = collection();
    await opentill.createCollection(taken);
    const elsewhere = new URL('/callbacks.json', under.gateway.shopUrl).href;
    const payout = (amount: string) => ({ ...collection({ amount }), receiveAddress: RECEIVER });
    await opentill.createPayout(payout('600000')); // waits for approval and reserves its amount
    const calls: Partial<Record<OpentillErrorCode, Promise<unknown>>> = {
      INVALID_REQUEST: opentill.createCollection(collection({ amount: '0' })),
      UNAUTHORIZED: open({ token: randomBytes(16).toString('hex') }).createCollection(collection()),
      NOT_FOUND: opentill.status(under.newOrderId()),
      CONFLICT: opentill.createCollection({ ...taken, amount: '13' }),
      UNPROCESSABLE: opentill.createPayout(payout('600000')),
      UNREADABLE_ANSWER: open({ url: elsewhere }).status('x'),
    };
    const failures = Object.entries(calls).map(async ([code, call]) => [code, await failure(call)] as const);
    for (const [code, error] of await Promise.all(failures))
      expect(error).toMatchObject({ code, attempts: 1, isRetryable: false });
  });
});

describe('rate limits', () => {
  it('make the client wait for Retry-After, or throw if that exceeds its limit', async () => {
    const { orderId } = await open().createCollection(collection());
    const calls = Array.from({ length: 12 }, () => notedFetch());
    const answers = await Promise.all(
      calls.map(async (noted) => open({ retries: 30, fetch: noted.fetch }).getOrderStatus(orderId)),
    );
    expect(new Set(answers)).toEqual(new Set(['INIT']));
    const waits = calls.flatMap(({ attempts }) =>
      attempts
        .slice(1)
        .map((next, place) => ({ before: attempts[place]!, pauseMs: next.at - attempts[place]!.at })),
    );
    expect(waits.length).toBeGreaterThan(0);
    for (const { before, pauseMs } of waits) {
      expect(before.status).toBe(429);
      expect(before.retryAfterMs).toBeGreaterThan(0);
      expect(pauseMs).toBeGreaterThanOrEqual((before.retryAfterMs ?? 0) - 5);
    }
    const impatient = open({ retries: 30, maxPauseMs: 10 });
    const polls = await Promise.allSettled(
      Array.from({ length: 12 }, async () => impatient.getOrderStatus(orderId)),
    );
    const refused = polls.find((one) => one.status === 'rejected');
    expect(await failure(Promise.reject(refused?.reason as Error))).toMatchObject({
      code: 'RATE_LIMITED',
      httpStatus: 429,
      attempts: 1,
      isRetryable: true,
    });
  });
});

describe('an unavailable database', () => {
  it('causes UNAVAILABLE, and a retried call creates one order', async () => {
    const fields = collection();
    const noted = notedFetch();
    let waiting: Promise<unknown> = Promise.resolve();
    await servers.withoutDatabase(async () => {
      const error = await failure(open({ retries: 0 }).createCollection(collection()));
      expect(error).toMatchObject({ code: 'UNAVAILABLE', httpStatus: 503, attempts: 1, isRetryable: true });
      waiting = open({ retries: 200, maxPauseMs: 1_000, fetch: noted.fetch }).createCollection(fields);
      await waitUntil('the client retries', () => noted.attempts.length >= 3);
    });
    expect(await waiting).toMatchObject({ orderId: fields.orderId });
    expect(noted.attempts.slice(0, 3).map(({ status }) => status)).toEqual([503, 503, 503]);
    expect(await ordersOf(fields.orderId)).toBe(1);
  });
});

describe('an internal error of the gateway', () => {
  it('causes SERVER_FAULT with the request id of its log', async () => {
    const { kysely: db } = under.database;
    await sql`alter table deposit_address rename to deposit_address_away`.execute(db);
    try {
      const error = await failure(open({ retries: 1 }).createCollection(collection()));
      expect(error).toMatchObject({ code: 'SERVER_FAULT', httpStatus: 500, attempts: 2, isRetryable: true });
      expect(error.requestId).toMatch(/\S/);
    } finally {
      await sql`alter table deposit_address_away rename to deposit_address`.execute(db);
    }
    await open({ retries: 10 }).createCollection(collection());
  });
});

describe('a frozen or stopped gateway', () => {
  it('causes NO_ANSWER or ABORTED, and one order when it continues', async () => {
    const fields = collection();
    signalApi('SIGSTOP');
    let waiting: Promise<unknown>;
    try {
      const startedAt = performance.now();
      expect(await failure(open({ retries: 0, timeoutMs: 500 }).createCollection(fields))).toMatchObject({
        code: 'NO_ANSWER',
        message: expect.stringContaining('no response within 500 ms'),
        attempts: 1,
        isRetryable: true,
      });
      expect(performance.now() - startedAt).toBeLessThan(2_000);
      const ending = new AbortController();
      const call = failure(open().createCollection(collection(), { signal: ending.signal }));
      setTimeout(() => ending.abort(new Error('the customer left')), 200);
      const error = await call;
      expect(error).toMatchObject({ code: 'ABORTED', attempts: 1, isRetryable: false });
      expect(error.cause).toMatchObject({ message: 'the customer left' });
      waiting = open({ timeoutMs: 400, retries: 50, maxPauseMs: 300 }).createCollection(fields);
      await new Promise((resolve) => setTimeout(resolve, 1_500)); // the frozen process receives some attempts
    } finally {
      signalApi('SIGCONT');
    }
    // The gateway handles these attempts later, but creates one order.
    expect(await waiting).toMatchObject({ orderId: fields.orderId });
    expect(await ordersOf(fields.orderId)).toBe(1);
  });

  it('causes NO_ANSWER while stopped, and one payout after its restart', async () => {
    const { gateway } = under;
    await gateway.stopService('api', 'SIGKILL');
    const noted = notedFetch();
    const fields = { ...collection({ amount: '1.00' }), receiveAddress: RECEIVER };
    expect(await failure(open({ retries: 0 }).createPayout(fields))).toMatchObject({ code: 'NO_ANSWER' });
    const waiting = open({ retries: 200, maxPauseMs: 500, fetch: noted.fetch }).createPayout(fields);
    await waitUntil('the client retries', () => noted.attempts.length >= 3);
    await gateway.startService('api');
    expect(await waiting).toMatchObject({ orderId: fields.orderId });
    expect(await ordersOf(fields.orderId)).toBe(1);
  });
});

describe('callbacks of the gateway', () => {
  const shops: Server[] = [];
  afterAll(async () => {
    for (const server of shops) {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    }
  });

  async function throughFetch(
    handler: (request: Request) => Promise<Response>,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    const headers = Object.entries(request.headers).map(([name, value]): [string, string] => [
      name,
      String(value),
    ]);
    const body = Readable.toWeb(request) as ReadableStream;
    const init = { method: 'POST', headers, body, duplex: 'half' } as RequestInit;
    const answer = await handler(new Request('http://shop/', init));
    response.writeHead(answer.status).end(await answer.text());
  }

  const ways: Readonly<Record<string, (receive: ReceiveOptions) => Server>> = {
    'express, body parsed': (receive) =>
      createServer(express().use(express.json(), expressCallbacks(receive))),
    'express, raw bytes': (receive) =>
      createServer(express().use(express.raw({ type: () => true }), expressCallbacks(receive))),
    'express without a parser': (receive) => createServer(express().use(expressCallbacks(receive))),
    'node:http': (receive) => {
      const handler = expressCallbacks(receive);
      return createServer((request, response) => void handler(request, response));
    },
    'a fetch-style handler': (receive) => {
      const handler = fetchCallbacks(receive);
      return createServer((request, response) => void throughFetch(handler, request, response));
    },
  };

  it.each(Object.entries(ways))(
    '%s: rejects callbacks with a wrong secret, then takes each nonce once',
    async (way, listen) => {
      const { gateway, chains } = under;
      const taken: string[] = [];
      const nonces = new Set<string>();
      const errors: unknown[] = [];
      let secrets = 'not this one';
      const receive: ReceiveOptions = {
        get secrets() {
          return secrets;
        },
        onCallback({ nonce, notifyType, data }) {
          if (nonces.has(nonce)) return;
          nonces.add(nonce);
          taken.push(`${notifyType} ${'orderId' in data ? data.orderId : ''}`);
        },
        onError: (error) => void errors.push(error),
      };
      // A handler reads its options when it is created, so each secret needs its own.
      let current = listen(receive);
      const server = createServer((request, response) => void current.emit('request', request, response));
      shops.push(server);
      const port = await findFreePort();
      await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
      expect((server.address() as AddressInfo).port).toBe(port);
      const id = way.replaceAll(/\W+/g, '-');
      const url = `http://127.0.0.1:${port}/callbacks`;
      const made = await runOpentill(gateway, ['merchant', 'create', '--id', id, '--callback-url', url]);
      const shown = (name: string) => new RegExp(`^${name} +(\\S+)$`, 'm').exec(made.out)?.[1] ?? '';
      const opentill = open({ token: shown('token'), merchantId: id, retries: 10 });
      const fields = collection();
      await waitUntil('the api has the new merchant', async () =>
        opentill.createCollection(fields).then(
          () => true,
          () => false,
        ),
      );
      await waitUntil('a callback is rejected', () => errors.length > 0);
      expect(errors[0]).toBeInstanceOf(CallbackError);
      expect(errors[0]).toMatchObject({ code: 'SIGNATURE_WRONG' });
      expect(taken).toEqual([]);
      secrets = shown('webhook secret');
      current = listen(receive);
      const { address, orderId } = await opentill.createCollection(fields);
      await chains.ETH_SEPOLIA.pay({ to: address, amount: '12.50' });
      await waitUntil('three callbacks arrive', () => taken.length >= 3, 60_000).catch(() => undefined);
      expect(taken).toEqual([
        `ORDER_PENDING ${orderId}`,
        `ORDER_PENDING_CONFIRMATION ${orderId}`,
        `ORDER_SUCCESS ${orderId}`,
      ]);
    },
    120_000,
  );
});

it('the tests have seen every error code', () => {
  const all: Readonly<Record<OpentillErrorCode, true>> = {
    INVALID_REQUEST: true,
    UNAUTHORIZED: true,
    NOT_FOUND: true,
    CONFLICT: true,
    UNPROCESSABLE: true,
    RATE_LIMITED: true,
    UNAVAILABLE: true,
    SERVER_FAULT: true,
    NO_ANSWER: true,
    UNREADABLE_ANSWER: true,
    ABORTED: true,
  };
  expect([...seen].toSorted()).toEqual(Object.keys(all).toSorted());
});
