import { afterEach, describe, expect, test } from 'vitest';
import type { Address } from '@opentill/chain/address-codec';
import type { BlockHash } from '@opentill/chain/block';
import type { TokenContract, TxHash } from '@opentill/chain/transfer';
import type { WalletSender } from '@opentill/chain/wallet-sender';
import { baseUnits } from '@opentill/domain/money';
import { createEvmSender } from '../src/sender/create-sender.ts';
import { encodePayment } from '../src/sender/encode-payment.ts';
import { scriptedNode, type Call, type ScriptedNode } from './scripted-node.ts';

const WALLET = `0x${'aa'.repeat(20)}` as Address;
const RECEIVER = `0x${'bb'.repeat(20)}` as Address;
const TOKEN = `0x${'cc'.repeat(20)}` as TokenContract;
const TX = `0x${'11'.repeat(32)}` as TxHash;
const BLOCK = `0x${'22'.repeat(32)}` as BlockHash;
const TRANSFER = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef';

type Answers = Record<string, (params: readonly unknown[]) => unknown>;

const nodes: ScriptedNode[] = [];
afterEach(async () => {
  for (const node of nodes.splice(0)) await node.close();
});

/** A method without an answer fails with an internal error. */
async function nodeThat(answers: Answers | 'away'): Promise<string> {
  const known: Answers = { eth_chainId: () => '0x38', ...(answers === 'away' ? {} : answers) };
  const respond = ({ id, method, params }: Call) => {
    const answer = known[method];
    return answer === undefined
      ? { jsonrpc: '2.0', id, error: { code: -32_603, message: 'internal error' } }
      : { jsonrpc: '2.0', id, result: answer(params) };
  };
  const node = await scriptedNode((calls, isBatch) => {
    if (answers === 'away') return { status: 503, body: 'gone' };
    const items = calls.map(respond);
    return { body: isBatch ? items : items[0] };
  });
  nodes.push(node);
  return node.url;
}

async function senderOn(
  sources: readonly (Answers | 'away')[],
  aloneAfterSeconds?: number,
): Promise<WalletSender> {
  return createEvmSender(
    {
      chain: 'BSC',
      chainId: 56,
      rpcUrls: await Promise.all(sources.map(nodeThat)),
      blockTimeMs: 450,
      maxBlockRange: 100,
      tokens: [],
      payouts: { minPriorityFeePerGas: '1', maxPriorityFeePerGas: '2', maxFeePerGas: '9' },
      ...(aloneAfterSeconds === undefined ? {} : { aloneAfterSeconds }),
    },
    {
      backend: { addresses: [WALLET], sign: () => Promise.reject(new Error('signs nothing')) },
      requestTimeoutMs: 20_000,
    },
  );
}

const counting = (latest: number, pending: number): Answers => ({
  eth_getTransactionCount: ([, block]) => `0x${(block === 'pending' ? pending : latest).toString(16)}`,
});

describe('pendingCount', () => {
  test('returns the highest count and the highest on which two agree', async () => {
    const sender = await senderOn([counting(3, 4), counting(3, 7), counting(3, 3)]);
    expect(await sender.pendingCount(WALLET)).toEqual({ highest: 7, agreed: 4, answers: 3 });
  });

  test('counts at least the latest count of a node without a pool', async () => {
    expect(await (await senderOn([counting(5, 0)])).pendingCount(WALLET)).toEqual({
      highest: 5,
      agreed: 5,
      answers: 1,
    });
  });

  test('agrees on a count of 0 while only one of two sources answers', async () => {
    const sender = await senderOn([counting(3, 7), {}]);
    expect(await sender.pendingCount(WALLET)).toEqual({ highest: 7, agreed: 0, answers: 1 });
  });
});

test('countAt with requireTwoSources never accepts one of two sources', async () => {
  const sender = await senderOn([counting(3, 3), 'away'], 0);
  const at = { height: 9, hash: BLOCK };
  await expect(sender.countAt(WALLET, at, { requireTwoSources: true })).rejects.toMatchObject({
    retryable: true,
  });
  expect(await sender.countAt(WALLET, at)).toBe(3);
  await expect(sender.countAt(WALLET, at, { requireTwoSources: true })).rejects.toMatchObject({
    retryable: true,
  });
});

describe('readPayment', () => {
  const intent = { from: WALLET, contract: TOKEN, to: RECEIVER, amountBaseUnits: baseUnits(5n) };
  const { data } = encodePayment(intent);
  const transaction = {
    hash: TX,
    blockHash: BLOCK,
    blockNumber: '0x9',
    transactionIndex: '0x0',
    from: WALLET,
    to: TOKEN as string,
    value: '0x0',
    nonce: '0x7',
    input: data,
  };
  const topic = (address: string) => `0x${address.slice(2).padStart(64, '0')}`;
  const receipt = {
    transactionHash: TX,
    blockHash: BLOCK,
    blockNumber: '0x9',
    status: '0x1',
    from: WALLET,
    gasUsed: '0x5208',
    effectiveGasPrice: '0x1',
    logsBloom: undefined,
    logs: [
      {
        address: TOKEN,
        topics: [TRANSFER, topic(WALLET), topic(RECEIVER)],
        data: topic('0x5'),
        blockHash: BLOCK,
        blockNumber: '0x9',
        transactionHash: TX,
        logIndex: '0x0',
        removed: false,
      },
    ],
  };
  const knowing = (change: object = {}, height = '0x9'): Answers => ({
    eth_getTransactionByHash: () => ({ ...transaction, ...change }),
    eth_getTransactionReceipt: () => receipt,
    eth_blockNumber: () => height,
  });
  const read = async (...sources: Answers[]) => (await senderOn(sources)).readPayment(TX, { height: 9 });

  test('returns nonce, intent and outcome from two sources', async () => {
    expect(await read(knowing(), knowing())).toMatchObject({
      nonce: 7,
      intent,
      fate: { succeeded: true, deliveredBaseUnits: 5n, blockHash: BLOCK },
    });
  });

  test('reads a payment of native coin', async () => {
    const native = { to: RECEIVER, value: '0x5', input: '0x' };
    expect(await read(knowing(native), knowing(native))).toMatchObject({
      intent: { contract: null, to: RECEIVER, amountBaseUnits: 5n },
    });
  });

  test.each([
    ['a transaction in no block', { blockHash: null, blockNumber: null }],
    ['another call', { input: `0x23b872dd${data.slice(10)}` }],
    ['a call with extra bytes', { input: `${data}00` }],
    ['a transfer that carries coin', { value: '0x1' }],
    ['the creation of a contract', { to: null }],
  ])('readPayment ignores %s', async (_, change) => {
    expect(await read(knowing(change), knowing(change))).toBeUndefined();
  });

  test('throws when two sources differ, one is silent, or the block is too low', async () => {
    await expect(read(knowing(), knowing({ nonce: '0x8' }))).rejects.toMatchObject({
      code: 'INCONSISTENT_ANSWER',
    });
    await expect(read(knowing(), {})).rejects.toMatchObject({ retryable: true });
    await expect(read(knowing({}, '0x8'), knowing({}, '0x8'))).rejects.toMatchObject({
      code: 'BLOCK_NOT_FOUND',
    });
    expect(await (await senderOn([knowing()])).readPayment(TX, { height: 9 })).toBeDefined();
    expect(await (await senderOn([knowing()])).readPayment(TX, { height: 8 })).toBeUndefined();
  });
});
