import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TokenContract } from '@opentill/chain/transfer';
import { deployDevTokens, mine, payToken } from '@opentill/devnets/evm/start-evm-devnet';
import { devAccount } from '@opentill/devnets/evm/accounts';
import { startAnvil, type Anvil } from '@opentill/devnets/evm/anvil';
import { findFreePort } from '@opentill/test-servers/free-port';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { EvmNetwork } from '../src/reader.ts';
import { createPatientReader } from './patient-reader.ts';
import { evmFamily } from '../src/family.ts';
import { subscribeHeads } from '../src/subscribe-heads.ts';

let dir: string;
let anvil: Anvil;
let network: EvmNetwork;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'chain-evm-'));
  anvil = await startAnvil({ dir, port: await findFreePort(), chainId: 97 });
  const tokens = await deployDevTokens({ rpcUrl: anvil.rpcUrl, usdtDecimals: 18, usdcDecimals: 6 });
  const token = (symbol: 'USDT' | 'USDC', decimals: number): EvmNetwork['tokens'][number] => ({
    symbol,
    contract: tokens[symbol],
    decimals,
    displayDecimals: 2,
    minAmount: null,
    maxAmount: null,
  });
  const coin = { ...token('USDT', 18), symbol: 'BNB', contract: null };
  network = {
    chain: 'BSC_TEST',
    chainId: 97,
    rpcUrls: [anvil.rpcUrl],
    wsUrl: anvil.wsUrl,
    bloom: true,
    blockTimeMs: 1_000,
    maxBlockRange: 500,
    tokens: [token('USDT', 18), token('USDC', 6), coin],
  };
});
afterAll(async () => {
  await anvil.stop('kill');
  await rm(dir, { recursive: true });
});

describe('an EVM reader on real tokens', () => {
  it('finds and proves a payment', async () => {
    const reader = evmFamily.createReader(network, {});
    await reader.checkNetwork();
    const to = evmFamily.addressCodec.parse(devAccount(7).address)!;
    const { privateKey: fromKey, address: from } = devAccount(1);
    for (const [place, amountBaseUnits] of [
      [0, 12_340_000_000_000_000_001n],
      [1, 5_000_000n],
    ] as const) {
      const txHash = await payToken({
        rpcUrl: anvil.rpcUrl,
        token: network.tokens[place]!.contract!,
        fromKey,
        to,
        amountBaseUnits,
      });
      await mine({ rpcUrl: anvil.rpcUrl, blocks: 2 });
      const head = await reader.head();
      const { transfers } = await reader.readSeen(head.height - 3, head.height);
      const ours = transfers.filter((transfer) => transfer.txHash === txHash);
      const { confirmed } = await reader.confirmTransfers(ours);
      expect(confirmed).toEqual([
        expect.objectContaining({
          chain: 'BSC_TEST',
          txHash,
          position: 'log:0',
          contract: network.tokens[place]!.contract!.toLowerCase(),
          from: from.toLowerCase(),
          to,
          amountBaseUnits,
        }),
      ]);
      expect(confirmed[0]!.feeBaseUnits).toBeGreaterThan(21_000n);
    }
  });
});

describe('the configured network', () => {
  const changed = (change: Partial<EvmNetwork['tokens'][number]>): EvmNetwork => ({
    ...network,
    tokens: [{ ...network.tokens[0]!, ...change }],
  });

  it('rejects tokens with other decimals', async () => {
    await expect(createPatientReader(changed({ decimals: 6 })).checkNetwork()).rejects.toMatchObject({
      code: 'TOKEN_MISMATCH',
      retryable: false,
    });
    await expect(
      createPatientReader(changed({ contract: devAccount(9).address })).checkNetwork(),
    ).rejects.toMatchObject({ code: 'TOKEN_MISMATCH' });
  });

  it('rejects a node with another chain id', async () => {
    await expect(createPatientReader({ ...network, chainId: 56 }).checkNetwork()).rejects.toMatchObject({
      code: 'WRONG_CHAIN',
      retryable: false,
    });
  });

  it('requires a chain id and token addresses', () => {
    const { chainId: _, ...without } = network;
    expect(() => createPatientReader(without)).toThrow(TypeError);
    expect(() => createPatientReader(changed({ contract: 'USDT' as TokenContract }))).toThrow(TypeError);
  });
});

describe('subscribeHeads of a reader', () => {
  it('wakes the caller at every block and ends with the signal', async () => {
    const reader = createPatientReader(network);
    const controller = new AbortController();
    const waiting: (() => void)[] = [];
    const nextHead = (): Promise<void> => new Promise((resolve) => waiting.push(resolve));
    const connected = nextHead();
    const done = reader.subscribeHeads!(() => waiting.splice(0).forEach((wake) => wake()), controller.signal);
    await connected;
    for (let count = 0; count < 3; count += 1) {
      const woken = nextHead();
      await mine({ rpcUrl: anvil.rpcUrl, blocks: 1 });
      await woken;
    }
    controller.abort();
    await done;
  });

  it('retries a subscription without a server, and stops at once', async () => {
    let connections = 0;
    const { promise: thrice, resolve } = Promise.withResolvers<void>();
    const server = createServer();
    server.on('connection', (socket) => {
      connections += 1;
      socket.destroy();
      if (connections === 3) resolve();
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const controller = new AbortController();
    const url = `ws://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const done = subscribeHeads(
      { url, blockTimeMs: 1_000, reconnectMs: 10 },
      () => undefined,
      controller.signal,
    );
    await thrice;
    controller.abort();
    await done;
    server.close();
    await subscribeHeads({ url, blockTimeMs: 1_000 }, () => undefined, AbortSignal.abort());
  });

  it('has no subscription without a WebSocket URL', () => {
    const { wsUrl: _, ...without } = network;
    expect(createPatientReader(without).subscribeHeads).toBeUndefined();
  });
});
