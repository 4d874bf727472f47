import { describe, expect, it } from 'vitest';
import type { EvmNetwork } from '../src/reader.ts';
import type { View } from './byzantine-views.ts';
import { changed, HONEST, STARTED_AT_MS, useByzantineViews, withLoot } from './byzantine-views.ts';
import { refusing } from './scripted-node.ts';

const { nodeOf, readerOf } = useByzantineViews();

describe('a consistent Byzantine source while the honest one fails', () => {
  const byzantine: View = { chain: changed(50, (block) => ({ ...withLoot(block), bloomOf: block.txs })) };

  /** The honest source first, and a clock that moves only by `pass`. */
  async function failing(change: Partial<EvmNetwork> = {}) {
    const [honest, byzantineNode] = [await nodeOf({ chain: HONEST }), await nodeOf(byzantine)];
    const script = honest.script;
    let skewMs = 0;
    const single: { readonly label: string; readonly sinceSeconds: number }[] = [];
    const reader = readerOf([honest, byzantineNode], change, {
      onSingleSource: (source) => single.push(source),
      nowMs: () => skewMs,
      epochMs: () => STARTED_AT_MS + skewMs,
    });
    const read = async (): Promise<number | string> => {
      try {
        return (await reader.readVerified(50, 50, [])).transfers.length;
      } catch (error) {
        return (error as { code: string }).code;
      }
    };
    return {
      reader,
      read,
      single,
      byzantineNode,
      fails: () => (honest.script = refusing(-32000, 'down', 503)),
      limits: () => (honest.script = () => ({ status: 429, headers: { 'retry-after': '50' }, body: '' })),
      recovers: () => (honest.script = script),
      pass: (seconds: number) => (skewMs += seconds * 1_000),
    };
  }

  it('does not accept a single source while the other one is in backoff', async () => {
    const { reader, read, limits, single } = await failing();
    expect((await reader.readVerified(49, 49, [])).transfers).toHaveLength(2);
    limits();
    await expect(reader.readVerified(50, 50, [])).rejects.toMatchObject({ code: 'RPC_RATE_LIMITED' });
    // Then no source is asked, and the error names the delay.
    await expect(reader.readVerified(50, 50, [])).rejects.toMatchObject({
      code: 'RPC_UNAVAILABLE',
      context: { retryAfterMs: expect.any(Number) },
    });
    expect(await read()).toBe('RPC_UNAVAILABLE');
    expect(single).toEqual([]);
  });

  it('accepts a single source after an uninterrupted minute', async () => {
    const { reader, read, fails, recovers, pass, single, byzantineNode } = await failing();
    fails();
    expect(await read()).toBe('RPC_UNAVAILABLE');
    pass(50);
    expect(await read()).toBe('RPC_UNAVAILABLE');
    expect(reader.sources!()).toMatchObject([
      { isSingleSource: false },
      { isSingleSource: false, failingSinceSeconds: null },
    ]);
    const since = reader.sources!()[0]!.failingSinceSeconds!;
    recovers();
    pass(40);
    expect(await read()).toBe('INCONSISTENT_ANSWER');
    expect(reader.sources!()[0]).toMatchObject({ failingSinceSeconds: null });
    fails();
    expect(await read()).toBe('RPC_UNAVAILABLE');
    pass(50);
    expect(await read()).toBe('RPC_UNAVAILABLE');
    expect(single).toEqual([]);
    pass(40);
    expect((await reader.readVerified(49, 49, [])).transfers).toHaveLength(2);
    await reader.confirmBlock(HONEST[49]! as never);
    const label = new URL(byzantineNode.url).host;
    expect(single).toMatchObject([{ label }, { label }]);
    expect(single[0]!.sinceSeconds).toBeGreaterThan(since + 60);
    expect(reader.sources!().map(({ isSingleSource }) => isSingleSource)).toEqual([false, true]);
    recovers();
    pass(40);
    expect(await read()).toBe('INCONSISTENT_ANSWER');
    expect(reader.sources!().map(({ isSingleSource }) => isSingleSource)).toEqual([false, false]);
  });

  it('never accepts a single source with aloneAfterSeconds: never', async () => {
    const { read, fails, pass, single } = await failing({ aloneAfterSeconds: 'never' });
    fails();
    for (let hour = 0; hour < 3; hour += 1) {
      expect(await read()).toBe('RPC_UNAVAILABLE');
      pass(3_600);
    }
    expect(single).toEqual([]);
  });

  it('does not accept a source because it recovers first after a common outage', async () => {
    const { read, fails, pass, single, byzantineNode } = await failing();
    const script = byzantineNode.script;
    fails();
    byzantineNode.script = refusing(-32000, 'down', 503);
    for (let minute = 0; minute < 5; minute += 1) {
      expect(await read()).toBe('RPC_UNAVAILABLE');
      pass(60);
    }
    byzantineNode.script = script;
    expect(await read()).toBe('RPC_UNAVAILABLE');
    pass(30);
    expect(await read()).toBe('RPC_UNAVAILABLE');
    expect(single).toEqual([]);
  });

  it('accepts a single source next to a stopped node only after a minute', async () => {
    const old = HONEST.slice(0, 60);
    let skewMs = 0;
    const reader = readerOf(
      [await nodeOf({ chain: old }), await nodeOf({ chain: HONEST })],
      {},
      { nowMs: () => skewMs, epochMs: () => STARTED_AT_MS + skewMs },
    );
    const read = (): Promise<unknown> => reader.readVerified(80, 80, []);
    await expect(read()).rejects.toMatchObject({ code: 'BLOCK_NOT_FOUND' });
    skewMs += 59_000;
    await expect(read()).rejects.toMatchObject({ code: 'BLOCK_NOT_FOUND' });
    skewMs += 2_000;
    await expect(read()).resolves.toMatchObject({ transfers: [{}, {}] });
    expect((await reader.readVerified(50, 50, [])).transfers).toHaveLength(2);
  });
});
