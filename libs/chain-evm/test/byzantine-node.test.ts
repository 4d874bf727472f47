import { describe, expect, it } from 'vitest';
import type { RpcFault } from '@opentill/testkit/byzantine-rpc-proxy';
import { createPatientReader } from './patient-reader.ts';
import { readDespiteAllFaults, useByzantineChain } from './byzantine-chain.ts';

const shared = useByzantineChain();
const { proxyOf, readerOf } = shared;

describe('a reader of a Byzantine node', () => {
  it('never accepts a wrong answer with all faults at once', async () => {
    await readDespiteAllFaults(shared, 1); // more seeds: byzantine-node.full.test.ts
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
    const proxy = await proxyOf({ faults: { [fault]: 1 }, delayMs: 2_500 });
    const reader = readerOf(proxy, fault === 'delayed' ? { requestTimeoutMs: 1_500 } : {});
    await expect(reader.readSeen(shared.to - 8, shared.to)).rejects.toMatchObject({
      code,
      retryable: code !== 'WRONG_CHAIN',
    });
  });

  it('passes on the delay that a provider names', async () => {
    const reader = readerOf(await proxyOf({ faults: { rateLimited: 1 } }));
    await expect(reader.head()).rejects.toMatchObject({ context: { retryAfterMs: 1_000 } });
  });

  it.each<RpcFault>(['falseEmpty', 'laggingLogs', 'droppedBlockOfLogs', 'duplicatedLog'])(
    'detects %s and reads the truth of a new branch',
    async (fault) => {
      const proxy = await proxyOf({ faults: { [fault]: 1 } });
      const read = await readerOf(proxy).readSeen(shared.from, shared.to, { everyBlock: true });
      expect(read).toMatchObject({ ...shared.truth, headers: shared.headers });
      expect(proxy.injected[fault]).toBeGreaterThan(0);
    },
  );

  it.each<RpcFault>(['falseEmpty', 'laggingLogs', 'duplicatedLog'])(
    'detects %s by the bloom of the last block',
    async (fault) => {
      const proxy = await proxyOf({ faults: { [fault]: 1 } });
      const reader = readerOf(proxy);
      expect(await reader.readSeen(shared.from, shared.to)).toMatchObject(shared.truth);
      const head = shared.headers.at(-1)!;
      expect((await reader.readSeen(shared.from, shared.to, { head })).transfers).toEqual(
        shared.truth.transfers,
      );
    },
  );

  it('uses receipts in the verified pass of a network without blooms', async () => {
    const proxy = await proxyOf({ faults: { falseEmpty: 1 } });
    const reader = readerOf(proxy, {}, false);
    expect((await reader.readSeen(shared.from, shared.to)).transfers).toEqual([]);
    expect(await reader.readVerified(shared.from, shared.to, [])).toMatchObject(shared.truth);
  });

  it.each([true, false])('rejects incomplete receipts, bloom %p', async (bloom) => {
    const reader = readerOf(await proxyOf({ faults: { falseEmpty: 1, blockReceiptsShort: 1 } }), {}, bloom);
    await expect(reader.readVerified(shared.from, shared.to, [])).rejects.toMatchObject({
      code: 'INCONSISTENT_ANSWER',
    });
  });

  it('misses one dropped log of several in the seen pass only', async () => {
    const height = shared.headers.at(-3)!.height;
    const logs = shared.truth.transfers.filter((transfer) => transfer.blockHeight === height);
    expect(logs.length).toBeGreaterThan(1);
    const reader = readerOf(await proxyOf({ faults: { droppedLog: 1 } }));
    expect((await reader.readSeen(height, height)).transfers).toHaveLength(logs.length - 1);
    expect((await reader.readVerified(height, height, [])).transfers).toEqual(logs);
  });

  it('splits ranges that are too large, and remembers the limit', async () => {
    const proxy = await proxyOf({ rangeCapBlocks: 5 });
    const reader = readerOf(proxy);
    expect(await reader.readSeen(shared.from, shared.to)).toMatchObject(shared.truth);
    const refusals = proxy.injected.rangeCap;
    expect(refusals).toBeGreaterThan(0);
    for (let round = 0; round < 3; round += 1)
      expect(await reader.readSeen(shared.from, shared.to)).toMatchObject(shared.truth);
    // Larger ranges are tried now and then, but not one that was rejected twice.
    expect(proxy.injected.rangeCap).toBeLessThanOrEqual(refusals! + 2);
  });

  it('reads a single block that is too large by its receipts', async () => {
    for (const bloom of [true, false]) {
      const proxy = await proxyOf({ resultCapLogs: 1 });
      const judged: string[] = [];
      expect(
        await readerOf(proxy, { onDecidedByReceipts: ({ reason }) => judged.push(reason) }, bloom).readSeen(
          shared.from,
          shared.to,
        ),
      ).toMatchObject(shared.truth);
      expect(judged).toContain('TOO_MANY_LOGS');
    }
  });

  it('continues with the next URL after a fault, and checks the chain id of each', async () => {
    const bad = await proxyOf({ faults: { unavailable: 1 } });
    const good = await proxyOf({});
    const reader = createPatientReader({ ...shared.chain.network, rpcUrls: [bad.url, good.url] });
    expect((await reader.head()).height).toBe(shared.to);
    expect((await reader.head()).height).toBe(shared.to);
    expect(good.calls).toEqual({ eth_chainId: 1, eth_getBlockByNumber: 2 });
  });

  it('checks the chain id again after a fault, as another node may serve the URL', async () => {
    const proxy = await proxyOf({});
    const reader = readerOf(proxy);
    await reader.head();
    proxy.setFaults({ unavailable: 1 });
    await expect(reader.head()).rejects.toMatchObject({ code: 'RPC_UNAVAILABLE' });
    proxy.setFaults({ wrongChainId: 1 });
    await expect(reader.head()).rejects.toMatchObject({ code: 'WRONG_CHAIN', retryable: false });
    proxy.setFaults({});
    expect((await reader.head()).height).toBe(shared.to);
  });
});
