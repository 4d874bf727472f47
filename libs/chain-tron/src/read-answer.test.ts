import { describe, expect, it } from 'vitest';
import type { ReaderErrorCode } from '@opentill/chain/reader-error';
import { readTronAnswer } from './read-answer.ts';

const read = (status: number, body: string, retryAfterMs?: number): unknown =>
  readTronAnswer(
    { status, body: Buffer.from(body), retryAfterMs, newConnection: false },
    { endpoint: 'node.example', method: 'getblock' },
  );
const SUSPENDED =
  '{"Error":"The key exceeds the frequency limit(15), and the query server is suspended for 30s"}';

describe('readTronAnswer', () => {
  it('returns the value, including empty objects and lists', () => {
    expect(read(200, '{"a":1}')).toEqual({ a: 1 });
    expect([read(200, '{}'), read(200, '[]')]).toEqual([{}, []]);
  });

  it.each<[string, number, string, ReaderErrorCode, number | undefined]>([
    ['TronGrid rate limit', 403, SUSPENDED, 'RPC_RATE_LIMITED', 30_000],
    ['TronGrid rate limit with status 503', 503, SUSPENDED, 'RPC_RATE_LIMITED', 30_000],
    ['429', 429, '{"Success":false,"Error":"request rate exceeded"}', 'RPC_RATE_LIMITED', undefined],
    ['an unknown API key', 401, '{"Error":"ApiKey not exists"}', 'RPC_FORBIDDEN', undefined],
    ['forbidden', 403, '<html>403 Forbidden</html>', 'RPC_FORBIDDEN', undefined],
    [
      'an exception in java-tron',
      200,
      '{"Error":"class java.lang.NullPointerException : null"}',
      'RPC_UNAVAILABLE',
      undefined,
    ],
    [
      'an API that is closed in java-tron',
      200,
      '{"Error":"this API is unavailable due to config"}',
      'RPC_METHOD_MISSING',
      undefined,
    ],
    ['an unknown path', 404, '<html>404 page</html>', 'RPC_METHOD_MISSING', undefined],
    ['a gateway error', 200, '{"success":false,"message":"upstream down"}', 'RPC_UNAVAILABLE', undefined],
    ['a bad gateway', 502, '', 'RPC_UNAVAILABLE', undefined],
    ['a truncated answer', 200, '{"blockID":"0000', 'RPC_UNAVAILABLE', undefined],
    ['an empty body', 200, '', 'RPC_UNAVAILABLE', undefined],
  ])('throws for %s (HTTP %i)', (_, status, body, code, retryAfterMs) => {
    let thrown: unknown;
    try {
      read(status, body);
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toMatchObject({ code, context: { endpoint: 'node.example', method: 'getblock' } });
    expect((thrown as { context: Record<string, unknown> }).context['retryAfterMs']).toBe(retryAfterMs);
  });

  it('reports the Retry-After time and hides the key', () => {
    expect(() => read(429, '{"Error":"see https://api.example/?key=secret"}', 2_000)).toThrow(
      expect.objectContaining({
        message: 'the node returned an error: see <url>',
        context: expect.objectContaining({ retryAfterMs: 2_000 }),
      }),
    );
  });
});
