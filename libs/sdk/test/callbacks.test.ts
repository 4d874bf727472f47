import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import express from 'express';
import { property, assert as check, constantFrom, integer, string } from 'fast-check';
import {
  buildCallbackBody,
  callbackHeaders,
  serializeCallbackData,
} from '@opentill/contracts/signing/callback';
import { expressCallbacks, fetchCallbacks, type ReceiveOptions } from '../src/receive-callbacks.ts';
import { CallbackError, verifyCallback, type Callback } from '../src/verify-callback.ts';

const SECRET = 'dev-webhook-secret';
const NOW = new Date('2026-11-21T12:00:00Z');
const nowSeconds = NOW.getTime() / 1000;
const DATA = {
  orderId: 'first-1',
  uid: null,
  orderType: 'COLLECTION',
  status: 'SUCCESS',
  reason: null,
  amount: '12.50',
  actualAmount: '12.50',
  fee: '0',
  feeRatio: '0',
  transaction: null,
} as const;

interface Made {
  readonly body: string;
  readonly headers: Record<string, string>;
}

function make(options: { secret?: string; nextSecret?: string; timestampSeconds?: number } = {}): Made {
  const { secret = SECRET, nextSecret, timestampSeconds = nowSeconds } = options;
  const dataText = serializeCallbackData(DATA);
  const eventId = '01a1ff1d-9388-7120-8b00-38f63ebe8b78';
  const body = buildCallbackBody({
    dataText,
    nonce: eventId,
    notifyType: 'ORDER_SUCCESS',
    timestampSeconds,
    secret,
  });
  const headers = callbackHeaders({
    body,
    dataText,
    eventId,
    timestampSeconds,
    secret,
    ...(nextSecret === undefined ? {} : { nextSecret }),
  });
  return {
    body,
    headers: Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name.toLowerCase(), String(value)]),
    ),
  };
}

const options = { secrets: SECRET, now: () => NOW };

function codeOf(
  made: { body: string | object; headers: Record<string, string> },
  secrets: string | string[] = SECRET,
): string {
  try {
    verifyCallback(made, { secrets, now: () => NOW });
    return 'VERIFIED';
  } catch (error) {
    expect(error).toBeInstanceOf(CallbackError);
    return (error as CallbackError).code;
  }
}

describe('verifyCallback', () => {
  it('accepts a callback as text, bytes and parsed JSON, and with Headers', () => {
    const { body, headers } = make();
    const expected = {
      notifyType: 'ORDER_SUCCESS',
      nonce: headers['webhook-id'],
      timestamp: nowSeconds,
      data: DATA,
    };
    expect(verifyCallback({ body, headers }, options)).toEqual(expected);
    expect(verifyCallback({ body: Buffer.from(body), headers }, options)).toEqual(expected);
    expect(verifyCallback({ body: JSON.parse(body) as object, headers }, options)).toEqual(expected);
    expect(verifyCallback({ body, headers: new Headers(headers) }, options)).toEqual(expected);
  });

  it('accepts both secrets during a rotation, with one or both configured', () => {
    const made = make({ secret: 'old', nextSecret: 'new' });
    expect(['old', 'new', 'other'].map((secret) => codeOf(made, secret))).toEqual([
      'VERIFIED',
      'VERIFIED',
      'SIGNATURE_WRONG',
    ]);
    expect(codeOf(make({ secret: 'new' }), ['old', 'new'])).toBe('VERIFIED');
  });

  it('accepts a secret in the form of Standard Webhooks', () => {
    const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
    expect(codeOf(make({ secret }), secret)).toBe('VERIFIED');
  });

  it('rejects a body with one changed character and a changed header', () => {
    const { body, headers } = make();
    check(
      property(integer({ min: 0, max: body.length - 1 }), integer({ min: 32, max: 126 }), (place, code) => {
        const changed = body.slice(0, place) + String.fromCharCode(code) + body.slice(place + 1);
        expect(codeOf({ body: changed, headers })).toBe(changed === body ? 'VERIFIED' : 'SIGNATURE_WRONG');
      }),
    );
    const names = ['webhook-id', 'webhook-timestamp', 'webhook-signature'];
    check(
      property(constantFrom(...names), string({ minLength: 1, maxLength: 40 }), (name, value) => {
        if (headers[name] === value) return;
        expect(codeOf({ body, headers: { ...headers, [name]: value } })).not.toBe('VERIFIED');
      }),
    );
    for (const name of names) {
      const { [name]: _, ...rest } = headers;
      expect(codeOf({ body, headers: rest })).toBe('SIGNATURE_MISSING');
    }
  });

  it('rejects signatures just outside the tolerance, old or early', () => {
    const at = (seconds: number) => codeOf(make({ timestampSeconds: nowSeconds + seconds }));
    expect([-301, -300, 300, 301].map(at)).toEqual([
      'TIMESTAMP_OUT_OF_RANGE',
      'VERIFIED',
      'VERIFIED',
      'TIMESTAMP_OUT_OF_RANGE',
    ]);
  });

  it('refuses to run without a secret', () => {
    const made = make();
    expect(() => verifyCallback(made, { secrets: [] })).toThrow(TypeError);
    expect(() => verifyCallback(made, { secrets: ['good', ''] })).toThrow(TypeError);
  });
});

describe('expressCallbacks and fetchCallbacks', () => {
  const servers: Server[] = [];
  afterEach(async () => {
    for (const server of servers.splice(0)) {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    }
  });

  async function listen(server: Server): Promise<string> {
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}/callbacks`;
  }

  const parsers = {
    'express.json()': [express.json()],
    'express.raw()': [express.raw({ type: '*/*' })],
    'express.text()': [express.text({ type: '*/*' })],
    'express without a parser': [],
  } as const;

  const kinds = [...Object.keys(parsers), 'node:http', 'fetch'] as const;

  async function post(
    kind: string,
    received: ReceiveOptions,
    made: Made,
  ): Promise<{ status: number; text: string }> {
    if (kind === 'fetch') {
      const request = new Request('http://shop/callbacks', { method: 'POST', ...made });
      const response = await fetchCallbacks(received)(request);
      return { status: response.status, text: await response.text() };
    }
    const handler = expressCallbacks(received);
    const app = express();
    app.post('/callbacks', ...(parsers[kind as keyof typeof parsers] ?? []), handler);
    const url = await listen(
      kind === 'node:http'
        ? createServer((request, response) => void handler(request, response))
        : createServer(app),
    );
    const headers = { ...made.headers, 'content-type': 'application/json' };
    const response = await fetch(url, { method: 'POST', body: made.body, headers });
    return { status: response.status, text: await response.text() };
  }

  it.each(kinds)('%s: passes on a callback and answers 200', async (kind) => {
    const came: Callback[] = [];
    const answer = await post(
      kind,
      { ...options, onCallback: (callback) => void came.push(callback) },
      make(),
    );
    expect(answer).toEqual({ status: 200, text: 'ok' });
    expect(came.map(({ notifyType, data }) => [notifyType, data])).toEqual([['ORDER_SUCCESS', DATA]]);
  });

  it.each(kinds)('%s: reports an unverified callback and answers 401', async (kind) => {
    const [came, errors]: [Callback[], unknown[]] = [[], []];
    const received = {
      ...options,
      onCallback: (one: Callback) => void came.push(one),
      onError: (error: unknown) => void errors.push(error),
    };
    expect(await post(kind, received, make({ secret: 'stranger' }))).toMatchObject({ status: 401 });
    expect([came, errors]).toEqual([[], [expect.objectContaining({ code: 'SIGNATURE_WRONG' })]]);
  });

  it.each(kinds)('%s: answers 500 when onCallback rejects', async (kind) => {
    const received = {
      ...options,
      onCallback: () => Promise.reject(new Error('the shop’s database is down')),
    };
    expect(await post(kind, received, make())).toEqual({ status: 500, text: 'not processed' });
  });

  it.each(kinds)('%s: answers even when onError throws', async (kind) => {
    const onError = () => {
      throw new Error('the log is full');
    };
    const received = { ...options, onCallback: () => Promise.reject(new Error('away')), onError };
    expect(await post(kind, received, make())).toEqual({ status: 500, text: 'not processed' });
    expect(await post(kind, received, make({ secret: 'stranger' }))).toMatchObject({ status: 401 });
  });

  it.each(['node:http', 'fetch'])(
    '%s: rejects a body longer than any callback without reading all of it',
    async (kind) => {
      const { headers } = make();
      const received = { ...options, onCallback: () => undefined };
      const answer = await post(kind, received, { body: 'x'.repeat(70_000), headers });
      expect(answer.status).toBe(413);
    },
  );
});
