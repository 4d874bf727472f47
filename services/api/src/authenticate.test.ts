import { expect, it } from 'vitest';
import type { IncomingMessage } from 'node:http';
import { authenticateOrderId, authenticatePost, type AuthenticateDeps } from './authenticate.ts';
import type { Exchange } from './exchange.ts';
import { createRateLimits } from './rate-limits.ts';

const exchange: Exchange = {
  requestId: 'r',
  startedMs: 0,
  clientAddress: '203.0.113.1',
  method: 'GET',
  route: 'none',
};
const request = { headers: {} } as IncomingMessage;

/** Its merchants throw when read, which is where the work on signatures begins. */
function depsWithout(limited: string): AuthenticateDeps {
  const limits = createRateLimits('memory');
  return {
    limits: { ...limits, take: (kind) => Promise.resolve(kind === limited ? 7 : 0) },
    merchants: {
      ipLimit: () => ({ requests: 2, seconds: 1 }),
      get loaded(): boolean {
        throw new Error('the signature was verified');
      },
    } as unknown as AuthenticateDeps['merchants'],
    clock: { now: () => new Date() },
    observe: { signatureAccepted: () => undefined },
    timestampWindowSeconds: 300,
    unnamedFailuresMax: 10,
    explainSignatures: false,
  };
}
const SLOW_DOWN = { status: 429, headers: { 'Retry-After': '7' } };

it('counts the client address of a GET before any work on its signature', async () => {
  const asked = { orderId: 'a', sign: 'f'.repeat(64), opensTo: 'customer' } as const;
  const answer = authenticateOrderId(depsWithout('address:order'), request, exchange, asked);
  expect(await answer).toMatchObject(SLOW_DOWN);
});

it('counts the client address of a POST before any work on its signature', async () => {
  const deps = depsWithout('ip:createPayout');
  const answer = authenticatePost(deps, request, exchange, { endpoint: 'createPayout', path: '/' });
  expect(await answer).toMatchObject(SLOW_DOWN);
});
