import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { checkTokens } from '../src/check-tokens.ts';
import { createEvmClient } from '../src/client.ts';

interface Call {
  readonly id: number;
  readonly method: string;
}

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

const TOKEN = { contract: '0x55d398326f99059ff775485246999027b3197955', decimals: 18 };
const word = (value: bigint): string => `0x${value.toString(16).padStart(64, '0')}`;

/** The node answers this to eth_call. */
async function check(answer: object, code = '0x38'): Promise<void> {
  const server = createServer((request, response) => {
    let text = '';
    request.on('data', (chunk) => (text += chunk));
    request.on('end', () => {
      const body = JSON.parse(text) as Call | Call[];
      const right = ({ id, method }: Call): object => ({
        jsonrpc: '2.0',
        id,
        ...(method === 'eth_call' ? answer : { result: method === 'eth_getCode' ? code : '0x38' }),
      });
      response.end(JSON.stringify(Array.isArray(body) ? body.map(right) : right(body)));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  closers.push(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  await checkTokens(createEvmClient({ url, chainId: 56, requestTimeoutMs: 20_000 }), [TOKEN], {});
}

describe('checkTokens', () => {
  it('accepts a token with the configured decimals', async () => {
    await check({ result: word(18n) });
  });

  it.each<[string, object]>([
    ['no contract', { result: '0x' }],
    ['other decimals', { result: word(6n) }],
    ['more than a number', { result: `${word(18n)}00` }],
    ['geth, revert', { error: { code: 3, message: 'execution reverted' } }],
    ['geth, invalid opcode', { error: { code: -32000, message: 'invalid opcode: INVALID' } }],
    ['geth, jump', { error: { code: -32000, message: 'invalid jump destination' } }],
    ['besu', { error: { code: -32000, message: 'Execution reverted' } }],
    ['nethermind', { error: { code: -32015, message: 'VM execution error.' } }],
    ['sent as an internal error', { error: { code: -32603, message: 'execution reverted' } }],
  ])('reports TOKEN_MISMATCH: %s', async (_, answer) => {
    await expect(check(answer)).rejects.toMatchObject({ code: 'TOKEN_MISMATCH', retryable: false });
  });

  it('reports TOKEN_MISMATCH without code, for any error of a call', async () => {
    const failing = { error: { code: -32603, message: 'internal error' } };
    for (const nothing of ['0x', '0x0'])
      await expect(check(failing, nothing)).rejects.toMatchObject({ code: 'TOKEN_MISMATCH' });
  });

  it.each<[string, object]>([
    [
      'pruned',
      { error: { code: -32000, message: 'missing trie node 0x1f (path ) state 0x2e is not available' } },
    ],
    ['old', { error: { code: -32000, message: 'historical state 0x3d is not available' } }],
    ['internal', { error: { code: -32603, message: 'internal error' } }],
    ['proxy', { error: { code: -32011, message: 'no backends available for method' } }],
    ['unknown', { error: { code: -32099, message: 'something else' } }],
    ['null', { result: null }],
    ['not hex data', { result: 'soon' }],
  ])('throws a retryable error after a node fault: %s', async (_, answer) => {
    await expect(check(answer)).rejects.toMatchObject({ retryable: true });
  });
});
