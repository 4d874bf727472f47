import { describe, expect, it } from 'vitest';
import type { EvmReaderDeps } from '../src/reader.ts';
import type { Block, View } from './byzantine-views.ts';
import {
  chainOf,
  changed,
  expectRejected,
  hashOf,
  HEAD,
  HONEST,
  LOOT,
  quantity,
  REJECTED,
  useByzantineViews,
  withLoot,
  word,
} from './byzantine-views.ts';

/*
 * One of two sources is Byzantine but consistent: its headers, blooms, logs and receipts match each other. The reader
 * must not accept what it invents nor miss what it omits, whichever of the two it asks first.
 */
const { nodeOf, readerOf, withHonest } = useByzantineViews();

describe('a consistent Byzantine source next to an honest one', () => {
  it('rejects a payment that one source adds with matching receipts', async () => {
    const invented = changed(50, (block) => ({ ...withLoot(block), bloomOf: block.txs }));
    await withHonest({ chain: invented }, expectRejected(48, 52));
    await withHonest({ chain: invented }, expectRejected(48, 52), { bloom: false });
  });

  it('finds a payment that one source hides, with matching receipts and bloom', async () => {
    const emptied = changed(50, ({ txs }) => ({ txs: txs.map((tx) => ({ ...tx, amounts: [] })) }));
    const noLogs = changed(50, ({ txs }) => ({ txs: txs.slice(0, 1) }));
    for (const chain of [emptied, noLogs])
      for (const bloom of [true, false])
        for (const [from, to] of [
          [50, 50],
          [48, 50],
          [50, 52],
          [48, 52],
        ] as const)
          await withHonest({ chain }, expectRejected(from, to), { bloom });
  });

  it('rejects a payment invented in an empty block with a matching bloom', async () => {
    const quiet = changed(50, () => ({ txs: [{ hash: hashOf('quiet'), amounts: [] }] }));
    const loud = changed(50, ({ txs }) => ({ txs: [{ ...txs[0]!, amounts: [LOOT] }], bloomOf: txs }), quiet);
    await withHonest({ chain: loud }, expectRejected(48, 52), {}, { chain: quiet });
    // A single source's receipts must match its own bloom as well.
    const twist: View['twist'] = ({ method }, result) => {
      if (method !== 'eth_getBlockReceipts') return result;
      const [first, ...others] = result as { logs: { topics: string[] }[] }[];
      const logs = first!.logs.map((log) => ({
        ...log,
        topics: [...log.topics.slice(0, 2), word(`0x${'cc'.repeat(20)}`)],
      }));
      return [{ ...first, logs }, ...others];
    };
    const single = readerOf([await nodeOf({ chain: HONEST, twist })]);
    await expect(single.readVerified(50, 50, [])).rejects.toMatchObject({
      message: /a log is not in the bloom/,
    });
  });

  it('rejects blocks that one source adds on top of the chain', async () => {
    const longer = chainOf(12, HONEST, 'invented', [LOOT], 1);
    const top = { code: 'BLOCK_NOT_FOUND', retryable: true };
    await withHonest({ chain: longer }, expectRejected(HEAD.height + 1, HEAD.height + 1, top));
    await withHonest({ chain: longer }, expectRejected(HEAD.height - 1, HEAD.height + 1, top));
    await withHonest({ chain: longer }, expectRejected(HEAD.height - 1, HEAD.height + 1, top), {
      bloom: false,
    });
    await withHonest({ chain: longer }, async (reader) => {
      await expect(reader.confirmBlock(longer.at(-1)! as never)).rejects.toMatchObject(top);
      await reader.confirmBlock(HEAD as never);
    });
  });

  it('confirms no block of a branch that only one source shows', async () => {
    const branch = chainOf(21, HONEST.slice(0, 80), 'branch', []);
    await withHonest({ chain: branch }, async (reader) => {
      await expect(reader.confirmBlock(branch[85]! as never)).rejects.toMatchObject(REJECTED);
      await expect(reader.confirmBlock(HONEST[85]! as never)).rejects.toMatchObject(REJECTED);
      await reader.confirmBlock(HONEST[79]! as never);
    });
  });

  it('does not accept a block that only one source reports as final', async () => {
    const views: readonly Block[] = [
      { ...HEAD, timeSeconds: HEAD.timeSeconds + 100_000 },
      HEAD,
      { ...HEAD, hash: hashOf('another') },
    ];
    for (const finalized of views) {
      await withHonest(
        { chain: HONEST, finalized },
        async (reader) => expect((await reader.finalized()).height).toBe(60),
        { finality: { staleSeconds: 60 } },
        { chain: HONEST, finalized: HONEST[60]! },
      );
    }
  });

  it('does not accept one source’s final block, however long the other stalls', async () => {
    let skewMs = 0;
    const pair = [
      await nodeOf({ chain: HONEST, finalized: { ...HEAD, hash: hashOf('another') } }),
      await nodeOf({ chain: HONEST, finalized: HONEST[60]! }),
    ];
    const reader = readerOf(pair, { finality: { staleSeconds: 60 } }, { nowMs: () => skewMs });
    for (; skewMs < 600_000; skewMs += 50_000) expect((await reader.finalized()).height).toBe(60);
  });

  it('rejects block times that one source shifts', async () => {
    const shifted = HONEST.map((block) => ({ ...block, timeSeconds: block.timeSeconds + 86_400 }));
    await withHonest({ chain: shifted }, expectRejected(48, 50));
    const earlier = HONEST.map((block) => ({ ...block, timeSeconds: block.timeSeconds - 600 }));
    await withHonest({ chain: earlier }, expectRejected(48, 50));
    await withHonest({ chain: earlier }, expectRejected(50, 50));
    // Only in requests that contain no other call: those for the blocks of payments.
    const twist: View['twist'] = ({ method }, result, calls) =>
      method === 'eth_getBlockByNumber' && calls.every((call) => call.method === method)
        ? { ...(result as object), timestamp: quantity(1) }
        : result;
    await withHonest({ chain: HONEST, twist }, async (reader) => {
      const { transfers, headers } = await reader.readVerified(48, 50, []);
      const confirming = reader.confirmTransfers(transfers, { headers });
      await expect(confirming).rejects.toMatchObject({ code: 'INCONSISTENT_ANSWER' });
    });
    const falling = changed(49, () => ({ timeSeconds: HONEST[51]!.timeSeconds }));
    await expectRejected(48, 52)(readerOf([await nodeOf({ chain: falling })]));
  });

  it('rejects a shifted time of one block with a payment between correct blocks', async () => {
    for (const [height, seconds] of [
      [49, 11],
      [49, -12],
    ] as const) {
      const shifted = changed(height, ({ timeSeconds }) => ({ timeSeconds: timeSeconds + seconds }));
      const compared: string[] = [];
      const deps: EvmReaderDeps = { onCompared: ({ outcome }) => compared.push(outcome) };
      const pair = [await nodeOf({ chain: shifted }), await nodeOf({ chain: HONEST })];
      for (const urls of [pair, pair.toReversed()]) {
        const reader = readerOf(urls, {}, deps);
        const { headers, transfers } = await reader.readVerified(48, 50, []);
        const confirming = reader.confirmTransfers(transfers, { headers });
        await expect(confirming).rejects.toMatchObject({ code: 'INCONSISTENT_ANSWER' });
        expect(compared.pop()).toBe('CONTENTS_DIFFER');
        const others = transfers.filter(({ blockHeight }) => blockHeight !== height);
        expect((await reader.confirmTransfers(others, { headers })).confirmed).toEqual(
          (await readerOf([pair[1]!]).confirmTransfers(others)).confirmed,
        );
      }
    }
  });

  it('rejects a changed position of a payment in its transaction', async () => {
    const twist: View['twist'] = ({ method }, result) => {
      if (method !== 'eth_getTransactionReceipt') return result;
      const receipt = result as { logs: { logIndex: string }[] };
      const [log] = receipt.logs;
      if (log?.logIndex !== '0x1') return result;
      const before = { ...log, logIndex: '0x0', address: `0x${'99'.repeat(20)}` };
      return { ...receipt, logs: [before, ...receipt.logs] };
    };
    await withHonest({ chain: HONEST, twist }, async (reader) => {
      const { transfers } = await reader.readVerified(50, 50, []);
      expect(transfers.map(({ amountBaseUnits }) => amountBaseUnits)).toEqual([1n, 2n]);
      await expect(reader.confirmTransfers(transfers)).rejects.toMatchObject(REJECTED);
      // The seen pass does not credit, so it does not wait.
      expect((await reader.confirmTransfers(transfers, { byOneSource: true })).confirmed).toHaveLength(2);
    });
  });

  it('verifies blocks on which the Byzantine source agrees without delay', async () => {
    await withHonest({ chain: changed(50, withLoot) }, async (reader) => {
      const { transfers } = await reader.readVerified(51, 60, []);
      expect(transfers).toHaveLength(20);
      expect((await reader.confirmTransfers(transfers)).confirmed).toHaveLength(20);
    });
  });
});
