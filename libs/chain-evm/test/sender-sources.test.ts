import { afterEach, describe, expect, test, vi } from 'vitest';
import type { Address } from '@opentill/chain/address-codec';
import { isReaderError } from '@opentill/chain/reader-error';
import type { SignedTransaction, WalletSender } from '@opentill/chain/wallet-sender';
import { baseUnits } from '@opentill/domain/money';
import { SigningKey, computeAddress, getBytes, keccak256 } from 'ethers';
import type { EvmClient, RpcRequest } from '../src/client.ts';
import { createEvmClient } from '../src/client.ts';
import type { SendAnswer } from '../src/sender/broadcast.ts';
import { createEvmSender } from '../src/sender/create-sender.ts';
import type { Call, Script, ScriptedNode } from './scripted-node.ts';
import { neverAnswering, scriptedNode } from './scripted-node.ts';

const KEY = `0x${'11'.repeat(32)}`;
const WALLET = computeAddress(KEY).toLowerCase() as Address;
const RECEIVER = `0x${'ab'.repeat(20)}` as Address;
const GWEI = 10n ** 9n;
const TERMS = { gasLimit: 21_000n, maxFeePerGas: 2n * GWEI, maxPriorityFeePerGas: GWEI };

/** A result, or an error as a node sends it. */
type CallAnswer = { readonly result: unknown } | { readonly error: unknown };

const nodes: ScriptedNode[] = [];
const answers: SendAnswer[] = [];
afterEach(async () => {
  vi.useRealTimers();
  answers.length = 0;
  for (const node of nodes.splice(0)) await node.close();
});

/** The chain id is BSC's. */
function answeringBy(answer: (call: Call) => CallAnswer): Script {
  return (calls, isBatch) => {
    const items = calls.map((call) => ({
      jsonrpc: '2.0',
      id: call.id,
      ...(call.method === 'eth_chainId' ? { result: '0x38' } : answer(call)),
    }));
    return { body: isBatch ? items : items[0] };
  };
}

async function nodeThat(script: Script): Promise<ScriptedNode> {
  const node = await scriptedNode(script);
  nodes.push(node);
  return node;
}

const accepting = answeringBy(({ params }) => ({ result: keccak256(String(params[0])) }));
const refusing = (code: number, message: string): Script => answeringBy(() => ({ error: { code, message } }));

function senderOn(urls: readonly string[], requestTimeoutMs = 20_000): WalletSender {
  return createEvmSender(
    {
      chain: 'BSC',
      chainId: 56,
      rpcUrls: urls,
      blockTimeMs: 450,
      maxBlockRange: 100,
      tokens: [],
      payouts: { minPriorityFeePerGas: '1', maxPriorityFeePerGas: `${GWEI}`, maxFeePerGas: `${5n * GWEI}` },
    },
    {
      backend: {
        addresses: [WALLET],
        sign: async (_, digest) => {
          const { r, s, yParity } = new SigningKey(KEY).sign(digest);
          return getBytes(`${r}${s.slice(2)}0${yParity}`);
        },
      },
      requestTimeoutMs,
      onSendAnswer: (answer) => answers.push(answer),
    },
  );
}

async function transactions(sender: WalletSender, count: number): Promise<readonly SignedTransaction[]> {
  const intent = { from: WALLET, contract: null, to: RECEIVER, amountBaseUnits: baseUnits(1n) };
  return Promise.all(Array.from({ length: count }, (_, nonce) => sender.sign(intent, nonce, TERMS)));
}

async function timed<T>(work: Promise<T>): Promise<{ readonly value: T; readonly ms: number }> {
  const startedAt = performance.now();
  return { value: await work, ms: performance.now() - startedAt };
}

describe('broadcast to several sources', () => {
  test('does not wait for a silent source after another has accepted', async () => {
    const silent = await nodeThat((calls) =>
      calls[0]?.method === 'eth_chainId' ? answeringBy(() => ({ result: '' }))(calls, false) : 'silence',
    );
    const good = await nodeThat(accepting);
    const sender = senderOn([silent.url, good.url], 60_000);
    const signed = await transactions(sender, 3);
    const { value, ms } = await timed(sender.broadcast(signed));
    expect(value).toEqual(['ACCEPTED', 'ACCEPTED', 'ACCEPTED']);
    expect(ms).toBeLessThan(60_000);
  });

  test('returns the best outcome of each transaction', async () => {
    const one = await nodeThat(
      answeringBy(({ id }) =>
        id === 1
          ? { error: { code: -32000, message: 'already known' } }
          : { error: { code: -32000, message: 'insufficient funds for gas * price + value' } },
      ),
    );
    const other = await nodeThat(
      answeringBy(({ id }) =>
        id === 3
          ? { error: { code: -32000, message: 'nonce too low: next nonce 9, tx nonce 2' } }
          : { error: { code: -32603, message: 'internal error' } },
      ),
    );
    const sender = senderOn([one.url, other.url]);
    expect(await sender.broadcast(await transactions(sender, 3))).toEqual([
      'KNOWN',
      'NO_GAS_MONEY',
      'NONCE_TOO_LOW',
    ]);
    for (const { url } of [one, other])
      expect(answers.filter(({ source }) => source === new URL(url).host)).toHaveLength(3);
  });

  test('isolates a rejected transaction from the others and the source', async () => {
    const node = await nodeThat(
      answeringBy(({ id, params }) =>
        id === 2
          ? { error: { code: -32000, message: 'replacement transaction underpriced' } }
          : { result: keccak256(String(params[0])) },
      ),
    );
    const sender = senderOn([node.url]);
    expect(await sender.broadcast(await transactions(sender, 3))).toEqual([
      'ACCEPTED',
      'UNDERPRICED',
      'ACCEPTED',
    ]);
    expect(sender.sources?.()[0]).toMatchObject({ usable: true, score: 1, lastErrorCode: null });
  });

  test.each<[string, Script, string]>([
    ['HTTP 429', () => ({ status: 429, body: '' }), 'RPC_RATE_LIMITED'],
    ['HTTP 503', () => ({ status: 503, body: '<html>' }), 'RPC_UNAVAILABLE'],
    ['HTTP 403', () => ({ status: 403, body: 'no' }), 'RPC_FORBIDDEN'],
    ['half an answer', () => ({ body: '[{"jsonrpc":"2.0","id":1,"resu' }), 'RPC_UNAVAILABLE'],
    [
      'one error for all',
      () => ({ body: { jsonrpc: '2.0', id: null, error: { code: -32000, message: 'no' } } }),
      'RPC_REFUSED',
    ],
    [
      'answers to other requests',
      () => ({ body: [{ jsonrpc: '2.0', id: 77, result: '0x' }] }),
      'INCONSISTENT_ANSWER',
    ],
    ['a reset', () => 'reset', 'RPC_UNAVAILABLE'],
    ['silence', neverAnswering, 'RPC_UNAVAILABLE'],
  ])('returns UNKNOWN after %s', async (_, script, fault) => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const node = await nodeThat((calls, isBatch) =>
      calls[0]?.method === 'eth_chainId' ? accepting(calls, isBatch) : script(calls, isBatch),
    );
    const sender = senderOn([node.url]);
    expect(await sender.broadcast(await transactions(sender, 2))).toEqual(['UNKNOWN', 'UNKNOWN']);
    const { host } = new URL(node.url);
    const here = answers.filter(({ source }) => source === host);
    expect(here.map((answer) => answer.fault)).toEqual([fault, fault]);
  });

  test('sends no transaction to a node of another network', async () => {
    const node = await nodeThat((calls, isBatch) =>
      calls[0]?.method === 'eth_chainId'
        ? { body: { jsonrpc: '2.0', id: 1, result: '0x1' } }
        : accepting(calls, isBatch),
    );
    const sender = senderOn([node.url]);
    expect(await sender.broadcast(await transactions(sender, 1))).toEqual(['UNKNOWN']);
    expect(node.requests.flat().map(({ method }) => method)).toEqual(['eth_chainId']);
  });

  test('sends single transactions to a provider without batches', async () => {
    const node = await nodeThat((calls, isBatch) =>
      isBatch
        ? {
            body: {
              jsonrpc: '2.0',
              id: null,
              error: { code: -32600, message: 'batch requests are not supported' },
            },
          }
        : accepting(calls, isBatch),
    );
    const sender = senderOn([node.url]);
    expect(await sender.broadcast(await transactions(sender, 5))).toEqual(Array(5).fill('ACCEPTED'));
  });

  test('returns UNKNOWN for unanswered transactions after an abort', async () => {
    const node = await nodeThat((calls, isBatch) =>
      calls[0]?.method === 'eth_chainId' ? accepting(calls, isBatch) : 'silence',
    );
    const sender = senderOn([node.url], 60_000);
    const signed = await transactions(sender, 1);
    const { value, ms } = await timed(sender.broadcast(signed, { signal: AbortSignal.timeout(100) }));
    expect(value).toEqual(['UNKNOWN']);
    expect(ms).toBeLessThan(60_000);
  });

  test('reports no key, no raw transaction and no URL path', async () => {
    const node = await nodeThat(refusing(-32000, 'see https://node.example/v2/secret-key for help'));
    const sender = senderOn([node.url]);
    const [transaction] = await transactions(sender, 1);
    await sender.broadcast(await transactions(sender, 1));
    const reported = JSON.stringify(answers);
    expect(answers).toHaveLength(1);
    expect(reported).not.toContain('secret-key');
    expect(reported).not.toContain(Buffer.from(transaction?.raw ?? []).toString('hex'));
  });
});

describe('calls with mayBeRefused', () => {
  const call = (mayBeRefused: boolean, method = 'ask'): RpcRequest => ({ method, params: [], mayBeRefused });
  const clientOf = (node: ScriptedNode): EvmClient =>
    createEvmClient({ url: node.url, chainId: 56, requestTimeoutMs: 20_000 });

  test('returns a rejected call as a result, with message and data', async () => {
    const data = `0x08c379a0${'00'.repeat(31)}20`;
    const node = await nodeThat(
      answeringBy(({ id }) =>
        id === 2 ? { error: { code: 3, message: 'execution reverted: no', data } } : { result: 'yes' },
      ),
    );
    const [first, second, third] = await clientOf(node).batch([call(true), call(true), call(false)]);
    expect([first, third]).toEqual(['yes', 'yes']);
    expect(isReaderError(second, 'RPC_REFUSED') && second.context).toMatchObject({
      rpcCode: 3,
      said: 'execution reverted: no',
      data,
      place: 1,
    });
    // `mayBeRefused` is internal and not sent to a node.
    expect(JSON.stringify(node.requests)).not.toContain('mayBeRefused');
  });

  test.each([
    ['Parity', { code: -32015, message: 'VM execution error.', data: 'Reverted 0xdeadbeef' }],
    ['Hardhat', { code: -32603, message: 'reverted', data: { message: 'reverted', data: '0xdeadbeef' } }],
    ['geth', { code: 3, message: 'execution reverted', data: '0xDEADBEEF' }],
  ])('returns the revert data of %s', async (_, error) => {
    const node = await nodeThat(answeringBy(() => ({ error })));
    const [refusal] = await clientOf(node).batch([call(true)]);
    expect(isReaderError(refusal, 'RPC_REFUSED') && refusal.context['data']).toBe('0xdeadbeef');
  });

  test('fails the whole batch when a call without mayBeRefused is rejected', async () => {
    const node = await nodeThat(
      answeringBy(({ id }) =>
        id === 1
          ? { error: { code: 3, message: 'no' } }
          : { error: { code: -32000, message: 'header not found' } },
      ),
    );
    await expect(clientOf(node).batch([call(true), call(false)])).rejects.toMatchObject({
      code: 'BLOCK_NOT_FOUND',
    });
  });

  test('accepts errors with a failing HTTP status, but not results', async () => {
    const failing =
      (script: Script): Script =>
      (calls, isBatch) =>
        calls[0]?.method === 'eth_chainId'
          ? script(calls, isBatch)
          : ({ status: 500, ...(script(calls, isBatch) as object) } as ReturnType<Script>);
    const refused = await nodeThat(failing(refusing(-32000, 'nonce too low')));
    const [refusal] = await clientOf(refused).batch([call(true), call(true)]);
    expect(isReaderError(refusal, 'RPC_UNAVAILABLE') && refusal.context['said']).toBe('nonce too low');
    const answered = await nodeThat(failing(answeringBy(() => ({ result: 'yes' }))));
    await expect(clientOf(answered).batch([call(true), call(true)])).rejects.toMatchObject({
      code: 'RPC_UNAVAILABLE',
    });
  });

  test("does not mistake a contract's message for a batch or rate limit", async () => {
    const node = await nodeThat(
      answeringBy(({ id }) => ({
        error: {
          code: 3,
          message:
            id === 1
              ? 'execution reverted: batch requests are not supported'
              : 'execution reverted: rate limit',
        },
      })),
    );
    const client = clientOf(node);
    const answered = await client.batch([call(true), call(true)]);
    expect(answered.every((answer) => isReaderError(answer, 'RPC_REFUSED'))).toBe(true);
    expect(client.waitMs()).toBe(0);
    await client.batch([call(true), call(true)]);
    expect(node.requests.filter((calls) => calls[0]?.method === 'ask').map((calls) => calls.length)).toEqual([
      2, 2,
    ]);
  });

  test('slows down after a rate-limit error of one call', async () => {
    const node = await nodeThat(
      answeringBy(({ id }) =>
        id === 2 ? { error: { code: 429, message: 'Too Many Requests' } } : { result: 'yes' },
      ),
    );
    const client = clientOf(node);
    const [first, second] = await client.batch([call(true), call(true)]);
    expect(first).toBe('yes');
    expect(isReaderError(second, 'RPC_RATE_LIMITED')).toBe(true);
    expect(client.waitMs()).toBeGreaterThan(0);
  });
});
