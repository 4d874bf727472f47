import { expect } from 'vitest';
import { reorg } from '@opentill/devnets/evm/start-evm-devnet';
import { createByzantineRpcProxy } from '@opentill/testkit/byzantine-rpc-proxy';
import type { ScannerWorld } from './scanner-harness.ts';

/** Each block has a payment; a reorganisation follows after every eighth. */
export async function recordThroughByzantineNode(world: ScannerWorld, blocks: number): Promise<void> {
  const proxy = await createByzantineRpcProxy({
    upstreamUrl: world.anvil.rpcUrl,
    seed: 7,
    faults: {
      rateLimited: 0.01,
      connectionReset: 0.02,
      truncatedJson: 0.02,
      unavailable: 0.02,
      laggingNode: 0.05,
      answerMissing: 0.02,
      internalError: 0.02,
      laggingLogs: 0.1,
      falseEmpty: 0.1,
      duplicatedLog: 0.1,
      orphanedLog: 0.05,
      receiptMissing: 0.03,
      blockReceiptsShort: 0.05,
    },
  });
  try {
    const { wsUrl: _, ...network } = { ...world.network, rpcUrls: [proxy.url] };
    await world.startReplica(network);
    await world.caughtUp();
    const addresses = await Promise.all(Array.from({ length: 5 }, () => world.newDepositAddress()));
    for (let block = 0; block < blocks; block += 1) {
      await world.pay(addresses[block % 5]!, BigInt(block + 1));
      await world.mine();
      if (block % 8 === 7) {
        await reorg({ rpcUrl: world.anvil.rpcUrl, depth: 2 });
        await world.mine();
      }
      if (block % 3 === 2) await world.caughtUp();
    }
    await world.mine(3);
    proxy.setFaults({ laggingNode: 0.05, falseEmpty: 0.1, laggingLogs: 0.1 });
    await world.caughtUp();
    const { verified } = await world.cursor();
    const onChain = await world.paymentsOnChain();
    expect(onChain.length).toBeGreaterThan(blocks / 2);
    expect(await world.recorded('VERIFIED')).toEqual(onChain.filter((payment) => payment.height <= verified));
    expect(Object.values(proxy.injected).reduce((sum, count) => sum + count, 0)).toBeGreaterThan(
      (blocks * 20) / 24,
    );
  } finally {
    await proxy.close();
  }
}
