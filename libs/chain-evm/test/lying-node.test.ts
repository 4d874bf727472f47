import { describe, expect, it } from 'vitest';
import type { RpcFault } from '@opentill/testkit/lying-rpc-proxy';
import { createPatientReader } from './patient-reader.ts';
import { readDespiteEveryLie, useLiedAboutChain } from './lied-about-chain.ts';

const lied = useLiedAboutChain();
const { liar, readerOf } = lied;

describe('a reader of a Byzantine node', () => {
  it('never accepts a wrong answer with all faults at once', async () => {
    await readDespiteEveryLie(lied, 1); // more seeds: lying-node.full.test.ts
  }, 600_000);

  it.each<[RpcFault, string]>([
    ['rateLimited', 'RPC_RATE_LIMITED'],
    ['connectionReset', 'RPC_UNAVAILABLE'],
    ['truncatedJson', 'RPC_UNAVAILABLE'],
    ['unavailable', 'RPC_UNAVAILABLE'],
    ['delayed', 'RPC_UNAVAILABLE'],
    ['laggingNode', 'BLOCK_NOT_FOUND'],
    ['answerMissing', 'INCONSISTENT_ANSWER'],
    ['internalError', 'RPC_UNAVAILABLE'],
    ['wrongChainId', 'WRONG_CHAIN'],
    ['orphanedLog', 'INCONSISTENT_ANSWER'],
  ])('reports the fault %s as %s', async (fault, code) => {
    const proxy = await liar({ faults: { [fault]: 1 }, delayMs: 2_500 });
    const reader = readerOf(proxy, fault === 'delayed' ? { requestTimeoutMs: 1_500 } : {});
    await expect(reader.readSeen(lied.to - 8, lied.to)).rejects.toMatchObject({
      code,
      retryable: code !== 'WRONG_CHAIN',
    });
  });

  it('passes on the provider’s delay', async () => {
    const reader = readerOf(await liar({ faults: { rateLimited: 1 } }));
    await expect(reader.head()).rejects.toMatchObject({ context: { retryAfterMs: 1_000 } });
  });

  it.each<RpcFault>(['falseEmpty', 'laggingLogs', 'droppedBlockOfLogs', 'duplicatedLog'])(
    'detects %s and reads the truth',
    async (fault) => {
      const proxy = await liar({ faults: { [fault]: 1 } });
      expect(await readerOf(proxy).readSeen(lied.from, lied.to)).toEqual(lied.truth);
      expect(proxy.injected[fault]).toBeGreaterThan(0);
    },
  );

  it('uses receipts in the verified pass where there is no bloom', async () => {
    const proxy = await liar({ faults: { falseEmpty: 1 } });
    const reader = readerOf(proxy, {}, false);
    expect((await reader.readSeen(lied.from, lied.to)).transfers).toEqual([]);
    expect(await reader.readVerified(lied.from, lied.to, [])).toEqual(lied.truth);
  });

  it.each([true, false])('rejects incomplete receipts, bloom %p', async (bloom) => {
    const reader = readerOf(await liar({ faults: { falseEmpty: 1, blockReceiptsShort: 1 } }), {}, bloom);
    await expect(reader.readVerified(lied.from, lied.to, [])).rejects.toMatchObject({
      code: 'INCONSISTENT_ANSWER',
    });
  });

  it('misses one dropped log of several in the seen pass only', async () => {
    const height = lied.truth.headers.at(-3)!.height;
    const logs = lied.truth.transfers.filter((transfer) => transfer.blockHeight === height);
    expect(logs.length).toBeGreaterThan(1);
    const reader = readerOf(await liar({ faults: { droppedLog: 1 } }));
    expect((await reader.readSeen(height, height)).transfers).toHaveLength(logs.length - 1);
    expect((await reader.readVerified(height, height, [])).transfers).toEqual(logs);
  });

  it('splits ranges that are too large, and remembers the limit', async () => {
    const proxy = await liar({ rangeCapBlocks: 5 });
    const reader = readerOf(proxy);
    expect(await reader.readSeen(lied.from, lied.to)).toEqual(lied.truth);
    const refusals = proxy.injected.rangeCap;
    expect(refusals).toBeGreaterThan(0);
    for (let round = 0; round < 3; round += 1)
      expect(await reader.readSeen(lied.from, lied.to)).toEqual(lied.truth);
    // Larger ranges are tried now and then, but not one that was rejected twice.
    expect(proxy.injected.rangeCap).toBeLessThanOrEqual(refusals! + 2);
  });

  it('reads a single block that is too large by its receipts', async () => {
    for (const bloom of [true, false]) {
      const proxy = await liar({ resultCapLogs: 1 });
      const judged: string[] = [];
      expect(
        await readerOf(proxy, { onJudged: ({ reason }) => judged.push(reason) }, bloom).readSeen(
          lied.from,
          lied.to,
        ),
      ).toEqual(lied.truth);
      expect(judged).toContain('TOO_MANY_LOGS');
    }
  });

  it('continues with the next URL after a fault, and checks the chain id of each', async () => {
    const bad = await liar({ faults: { unavailable: 1 } });
    const good = await liar({});
    const reader = createPatientReader({ ...lied.chain.network, rpcUrls: [bad.url, good.url] });
    expect((await reader.head()).height).toBe(lied.to);
    expect((await reader.head()).height).toBe(lied.to);
    expect(good.calls).toEqual({ eth_chainId: 1, eth_getBlockByNumber: 2 });
  });

  it('checks the chain id again after a fault, as another node may serve the URL', async () => {
    const proxy = await liar({});
    const reader = readerOf(proxy);
    await reader.head();
    proxy.setFaults({ unavailable: 1 });
    await expect(reader.head()).rejects.toMatchObject({ code: 'RPC_UNAVAILABLE' });
    proxy.setFaults({ wrongChainId: 1 });
    await expect(reader.head()).rejects.toMatchObject({ code: 'WRONG_CHAIN', retryable: false });
    proxy.setFaults({});
    expect((await reader.head()).height).toBe(lied.to);
  });
});
