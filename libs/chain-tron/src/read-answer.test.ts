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

describe('answers', () => {
  it('are what they say, empty ones too', () => {
    expect(read(200, '{"a":1}')).toEqual({ a: 1 });
    expect([read(200, '{}'), read(200, '[]')]).toEqual([{}, []]);
  });

  it.each<[string, number, string, ReaderErrorCode, number | undefined]>([
    ['TronGrid, asked too often', 403, SUSPENDED, 'RPC_RATE_LIMITED', 30_000],
    ['the same as 503', 503, SUSPENDED, 'RPC_RATE_LIMITED', 30_000],
    ['429', 429, '{"Success":false,"Error":"request rate exceeded"}', 'RPC_RATE_LIMITED', undefined],
    ['a key that is none', 401, '{"Error":"ApiKey not exists"}', 'RPC_FORBIDDEN', undefined],
    ['forbidden', 403, '<html>403 Forbidden</html>', 'RPC_FORBIDDEN', undefined],
    [
      'java-tron, in an exception',
      200,
      '{"Error":"class java.lang.NullPointerException : null"}',
      'RPC_UNAVAILABLE',
      undefined,
    ],
    [
      'java-tron, a closed API',
      200,
      '{"Error":"this API is unavailable due to config"}',
      'RPC_METHOD_MISSING',
      undefined,
    ],
    ['no such path', 404, '<html>404 page</html>', 'RPC_METHOD_MISSING', undefined],
    ['a gateway', 200, '{"success":false,"message":"upstream down"}', 'RPC_UNAVAILABLE', undefined],
    ['a bad gateway', 502, '', 'RPC_UNAVAILABLE', undefined],
    ['half an answer', 200, '{"blockID":"0000', 'RPC_UNAVAILABLE', undefined],
    ['nothing', 200, '', 'RPC_UNAVAILABLE', undefined],
  ])('%s: HTTP %i', (_, status, body, code, retryAfterMs) => {
    let thrown: unknown;
    try {
      read(status, body);
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toMatchObject({ code, context: { endpoint: 'node.example', method: 'getblock' } });
    expect((thrown as { context: Record<string, unknown> }).context['retryAfterMs']).toBe(retryAfterMs);
  });

  it('name the wait that the header asks for, and no key', () => {
    expect(() => read(429, '{"Error":"see https://api.example/?key=secret"}', 2_000)).toThrow(
      expect.objectContaining({
        message: 'the node answered an error: see <url>',
        context: expect.objectContaining({ retryAfterMs: 2_000 }),
      }),
    );
  });
});
