import { afterEach, describe, expect, test } from 'vitest';
import type { Address } from '@opentill/chain/address-codec';
import type { PaymentIntent, Prepared, WalletSender } from '@opentill/chain/wallet-sender';
import { baseUnits } from '@opentill/domain/money';
import { createEvmSender } from '../src/sender/create-sender.ts';
import type { Answer, Call, ScriptedNode } from './scripted-node.ts';
import { answering, scriptedNode } from './scripted-node.ts';

const WALLET = `0x${'11'.repeat(20)}` as Address;
const GWEI = 10n ** 9n;
const TIMEOUT_MS = 60_000;
const PAYMENT: PaymentIntent = {
  from: WALLET,
  contract: null,
  to: `0x${'ab'.repeat(20)}` as Address,
  amountBaseUnits: baseUnits(1n),
};

const nodes: ScriptedNode[] = [];
afterEach(async () => {
  for (const node of nodes.splice(0)) await node.close();
});

const NEVER = new Promise<never>(() => undefined);

interface Estimates {
  readonly gas: number;
  readonly until?: Promise<unknown>;
  readonly onAsked?: () => void;
  readonly reverts?: boolean;
}

async function nodeThat({ gas, until, onAsked, reverts = false }: Estimates): Promise<ScriptedNode> {
  const resultOf = ({ method }: Call): unknown =>
    ({
      eth_call: '0x',
      eth_estimateGas: `0x${gas.toString(16)}`,
      eth_feeHistory: {
        baseFeePerGas: ['0x1', '0x1'],
        gasUsedRatio: [0.5],
        reward: [[`0x${gas.toString(16)}`]],
      },
    })[method];
  const node = await scriptedNode(async (calls, isBatch) => {
    if (calls[0]?.method !== 'eth_chainId') {
      onAsked?.();
      await until;
    }
    const answer = answering(resultOf)(calls, isBatch) as Answer & {
      body: { id: number; error?: unknown }[];
    };
    if (reverts && isBatch)
      for (const item of answer.body)
        if (calls.find(({ id }) => id === item.id)?.method === 'eth_call')
          Object.assign(item, {
            result: undefined,
            error: { code: 3, message: 'execution reverted: paused' },
          });
    return answer;
  });
  nodes.push(node);
  return node;
}

async function senderOn(sources: readonly Estimates[], maxGas?: number): Promise<WalletSender> {
  const started = await Promise.all(sources.map(nodeThat));
  return createEvmSender(
    {
      chain: 'BSC',
      chainId: 56,
      rpcUrls: started.map(({ url }) => url),
      blockTimeMs: 450,
      maxBlockRange: 100,
      tokens: [],
      payouts: {
        minPriorityFeePerGas: '1',
        maxPriorityFeePerGas: `${GWEI}`,
        maxFeePerGas: `${5n * GWEI}`,
        ...(maxGas === undefined ? {} : { maxGas }),
      },
    },
    {
      backend: { addresses: [WALLET], sign: () => Promise.reject(new Error('nothing is signed')) },
      requestTimeoutMs: TIMEOUT_MS,
    },
  );
}

async function preparedBy(sources: readonly Estimates[], maxGas?: number): Promise<Prepared | undefined> {
  const sender = await senderOn(sources, maxGas);
  return (await sender.prepare([PAYMENT]))[0];
}

describe('the gas limit of prepare', () => {
  const ready = (gasLimit: bigint): Prepared => ({ kind: 'READY', gasLimit });

  test('takes the higher of two gas estimates', async () => {
    expect(await preparedBy([{ gas: 30_000 }, { gas: 60_000 }])).toEqual(ready(75_000n));
    expect(await preparedBy([{ gas: 60_000 }, { gas: 30_000 }])).toEqual(ready(75_000n));
  });

  test('requests gas estimates from both sources at once', async () => {
    const { promise: both, resolve } = Promise.withResolvers<void>();
    let asked = 0;
    const onAsked = (): void => {
      asked += 1;
      if (asked === 2) resolve(); // neither answers before
    };
    const sender = await senderOn([
      { gas: 30_000, until: both, onAsked },
      { gas: 60_000, until: both, onAsked },
    ]);
    expect(await sender.prepare([PAYMENT])).toEqual([ready(75_000n)]);
  });

  test.each([0, 1])('takes the estimate of the other source when source %d is slow', async (slow) => {
    const sources = [0, 1].map((place) => ({
      gas: 60_000,
      ...(place === slow ? { until: NEVER } : {}),
    }));
    const sender = await senderOn(sources);
    const started = performance.now();
    expect(await sender.prepare([PAYMENT])).toEqual([ready(75_000n)]);
    expect(performance.now() - started).toBeLessThan(TIMEOUT_MS);
  });

  test('ignores a malformed gas estimate', async () => {
    expect(await preparedBy([{ gas: 0 }, { gas: 60_000 }])).toEqual(ready(75_000n));
    expect(await preparedBy([{ gas: 60_000 }, { gas: 0 }])).toEqual(ready(75_000n));
  });

  test('waits for a slow source when the other one reports an obstacle', async () => {
    const later = new Promise((resolve) => setTimeout(resolve, 1_500));
    expect(
      await preparedBy([
        { gas: 60_000, reverts: true },
        { gas: 60_000, until: later },
      ]),
    ).toEqual(ready(75_000n));
  });
});

describe('a payment that needs more gas than the cap', () => {
  const tooMuch = (needed: number, cap: number): Prepared => ({
    kind: 'OBSTACLE',
    obstacle: 'WOULD_FAIL',
    detail: `it takes ${needed} gas, the cap for a payment is ${cap}`,
  });

  test('reports WOULD_FAIL for a payment above the gas cap', async () => {
    expect(await preparedBy([{ gas: 1_000_001 }])).toEqual(tooMuch(1_000_001, 1_000_000));
    expect(await preparedBy([{ gas: 1_000_001 }, { gas: 1_400_000 }])).toEqual(tooMuch(1_000_001, 1_000_000));
    expect(await preparedBy([{ gas: 1_000_000 }])).toEqual({ kind: 'READY', gasLimit: 1_000_000n });
  });

  test('uses the gas cap of the network file', async () => {
    expect(await preparedBy([{ gas: 50_001 }], 50_000)).toEqual(tooMuch(50_001, 50_000));
    expect(await preparedBy([{ gas: 1_000_000 }], 2_000_000)).toEqual({
      kind: 'READY',
      gasLimit: 1_250_000n,
    });
  });

  test('accepts a payment that only one source estimates above the gas cap', async () => {
    expect(await preparedBy([{ gas: 1_900_000 }, { gas: 60_000 }])).toEqual({
      kind: 'READY',
      gasLimit: 75_000n,
    });
  });
});

describe('currentPrices', () => {
  test('waits only shortly for a second source’s prices', async () => {
    const sender = await senderOn([{ gas: 5, until: NEVER }, { gas: 7 }]);
    const started = performance.now();
    expect(await sender.currentPrices()).toEqual({ maxFeePerGas: 9n, maxPriorityFeePerGas: 7n });
    expect(performance.now() - started).toBeLessThan(TIMEOUT_MS);
  });
});
