import { afterEach, describe, expect, test } from 'vitest';
import type { Address } from '@opentill/chain/address-codec';
import type { BlockHash } from '@opentill/chain/block';
import type { WalletSender } from '@opentill/chain/wallet-sender';
import type { RefutedCount } from '../src/sender/count-claims.ts';
import { createEvmSender } from '../src/sender/create-sender.ts';
import type { Call, ScriptedNode } from './scripted-node.ts';
import { answering, scriptedNode } from './scripted-node.ts';

const [WALLET, OTHER] = ['aa', 'bb'].map((byte) => `0x${byte.repeat(20)}`) as [Address, Address];

interface Node {
  /** At the newest block. */
  latest: number;
  /** At any block that is requested by its hash. */
  at: number;
  head: number | 'unknown';
}

const nodes: ScriptedNode[] = [];
const refuted: RefutedCount[] = [];
afterEach(async () => {
  refuted.length = 0;
  for (const node of nodes.splice(0)) await node.close();
});

async function senderOn(...states: readonly Node[]): Promise<WalletSender> {
  const rpcUrls = await Promise.all(
    states.map(async (node) => {
      const resultOf = ({ method, params }: Call): unknown => {
        if (method === 'eth_blockNumber') return node.head === 'unknown' ? null : hex(node.head);
        return hex(params[0] === OTHER ? 0 : typeof params[1] === 'object' ? node.at : node.latest);
      };
      const started = await scriptedNode(answering(resultOf));
      nodes.push(started);
      return started.url;
    }),
  );
  return createEvmSender(
    {
      chain: 'BSC',
      chainId: 56,
      rpcUrls,
      blockTimeMs: 450,
      maxBlockRange: 100,
      tokens: [],
      payouts: { minPriorityFeePerGas: '1', maxPriorityFeePerGas: '2', maxFeePerGas: '9' },
    },
    {
      backend: { addresses: [WALLET], sign: () => Promise.reject(new Error('signs nothing')) },
      requestTimeoutMs: 20_000,
      onCountRefuted: (claim) => refuted.push(claim),
    },
  );
}

const hex = (value: number): string => `0x${value.toString(16)}`;
const node = (latest: number, head: Node['head'] = 1_000): Node => ({ latest, at: latest, head });
const blockAt = (height: number): { height: number; hash: BlockHash } => ({
  height,
  hash: `0x${height.toString(16).padStart(64, '0')}` as BlockHash,
});
const countAt = (sender: WalletSender, height: number): Promise<number> =>
  sender.countAt(WALLET, blockAt(height));

describe('a higher count from a single source', () => {
  const overstating = (latest: number, head?: Node['head']): Node => ({ ...node(latest, head), at: 7 });

  test('accepts a higher count until two sources refute it, then raises an alarm', async () => {
    const sender = await senderOn(node(7), overstating(9));
    expect(await sender.latestCount(WALLET)).toBe(9);
    expect(await sender.pendingCount(WALLET)).toEqual({ highest: 9, agreed: 7, answers: 2 });
    for (const height of [900, 1_000, 1_030]) {
      expect(await countAt(sender, height)).toBe(7);
      expect(await sender.latestCount(WALLET)).toBe(9);
    }
    expect(refuted).toEqual([]);
    expect(await countAt(sender, 1_100)).toBe(7);
    expect(await sender.latestCount(WALLET)).toBe(7);
    expect(await sender.pendingCount(WALLET)).toEqual({ highest: 7, agreed: 7, answers: 2 });
    expect(refuted).toEqual([
      { source: new URL(nodes[1]?.url ?? '').host, wallet: WALLET, claimed: 9, counted: 7, height: 1_100 },
    ]);
  });

  test('refutes a count in time when it keeps rising or its head is impossible', async () => {
    const source = overstating(9, 10 ** 12);
    const sender = await senderOn(node(7), source);
    for (let height = 1_000; height <= 1_100; height += 20) {
      await sender.latestCount(WALLET);
      source.latest += 1;
      await countAt(sender, height);
    }
    expect(await sender.latestCount(WALLET)).toBe(7);
    expect(refuted).toHaveLength(1);
  });

  test('refutes a count in time when only the other source reports a head', async () => {
    const sender = await senderOn(node(7), overstating(9, 'unknown'));
    await sender.latestCount(WALLET);
    await countAt(sender, 1_100);
    expect(await sender.latestCount(WALLET)).toBe(7);
  });

  test('confirms the count of a source that was ahead of the other', async () => {
    const behind = node(7, 990);
    const ahead = node(9);
    const sender = await senderOn(behind, ahead);
    expect(await sender.latestCount(WALLET)).toBe(9);
    behind.at = 9;
    expect(await countAt(sender, 1_100)).toBe(9);
    ahead.latest = 10;
    expect(await sender.latestCount(WALLET)).toBe(10);
    expect(refuted).toEqual([]);
  });

  test('accepts a refuted source again up to the count of a second one', async () => {
    const honest = node(7);
    const sender = await senderOn(honest, overstating(9));
    await sender.latestCount(WALLET);
    await countAt(sender, 1_100);
    honest.latest = 8;
    expect(await sender.latestCount(WALLET)).toBe(8);
    honest.latest = 9;
    expect(await sender.latestCount(WALLET)).toBe(9);
  });

  test('does not refute a count by that of another wallet', async () => {
    const sender = await senderOn(node(7), overstating(9));
    await sender.latestCount(WALLET);
    await sender.countAt(OTHER, blockAt(1_100));
    expect(await sender.latestCount(WALLET)).toBe(9);
  });

  test('accepts a refuted source when no other one answers', async () => {
    const sender = await senderOn(node(7), overstating(9));
    await sender.latestCount(WALLET);
    await countAt(sender, 1_100);
    await nodes[0]?.close();
    nodes.shift();
    expect(await sender.latestCount(WALLET)).toBe(9);
  });

  test('requests heads only once per claim', async () => {
    const sender = await senderOn(node(7), overstating(9));
    for (let poll = 0; poll < 5; poll += 1) await sender.latestCount(WALLET);
    const asked = nodes[0]?.requests.flat().filter(({ method }) => method === 'eth_blockNumber');
    expect(asked).toHaveLength(1);
  });
});

describe('countAt', () => {
  test('lets a third source decide, and refutes the outvoted one', async () => {
    const sender = await senderOn(node(7), node(9), node(7));
    expect(await countAt(sender, 500)).toBe(7);
    expect(refuted).toEqual([
      { source: new URL(nodes[1]?.url ?? '').host, wallet: WALLET, claimed: 9, counted: 7, height: 500 },
    ]);
    expect(await sender.latestCount(WALLET)).toBe(7);
  });

  test('throws when all sources count differently', async () => {
    const sender = await senderOn(node(7), node(9), node(8));
    await expect(countAt(sender, 500)).rejects.toMatchObject({ code: 'INCONSISTENT_ANSWER' });
    expect(refuted).toEqual([]);
  });

  test('throws when two sources count differently, and refutes neither', async () => {
    const sender = await senderOn(node(7), node(9));
    await expect(countAt(sender, 500)).rejects.toMatchObject({ code: 'INCONSISTENT_ANSWER' });
    expect(refuted).toEqual([]);
  });
});
