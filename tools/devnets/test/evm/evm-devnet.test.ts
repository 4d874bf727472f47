import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { startAnvil, type Anvil } from '../../src/evm/anvil.ts';
import { contractInterface } from '../../src/evm/contract-artifacts.ts';
import { devAccount } from '../../src/evm/accounts.ts';
import {
  callContract,
  deployContract,
  deployDevTokens,
  DEV_TOKEN_ADDRESSES,
  dropTransaction,
  headHeight,
  mine,
  payNative,
  payToken,
  reorg,
  restoreSnapshot,
  setBlockTime,
  takeSnapshot,
  tokenBalance,
} from '../../src/evm/start-evm-devnet.ts';
import { signTransaction, waitForReceipt } from '../../src/evm/transactions.ts';
import { findFreePort } from '@opentill/test-servers/free-port';
import { callRpc } from '../../src/evm/json-rpc.ts';
import { processesOf } from '@opentill/test-servers/running-processes';
import { withScratchDirectory } from '@opentill/test-servers/scratch-directory';

const [owner, payer, payee] = [devAccount(0), devAccount(1), devAccount(9)];
const { USDT, USDC } = DEV_TOKEN_ADDRESSES;

let running: Anvil | undefined;
afterEach(async () => running?.stop('kill'));

async function withDevnet(
  work: (rpcUrl: string, directory: string) => Promise<void>,
  options: { blockTimeSeconds?: number } = {},
): Promise<void> {
  await withScratchDirectory(async (directory) => {
    running = await startAnvil({
      dir: directory,
      port: await findFreePort(),
      chainId: 11_155_111,
      ...options,
    });
    await deployDevTokens({ rpcUrl: running.rpcUrl, usdtDecimals: 6, usdcDecimals: 6 });
    await work(running.rpcUrl, directory);
    await running.stop();
    expect(processesOf(directory)).toEqual([]);
  });
}

test("deploys tokens at the local network file's addresses and funds accounts 0 to 4", async () => {
  await withDevnet(
    async (rpcUrl) => {
      expect(USDT.toLowerCase()).toBe('0x5fbdb2315678afecb367f032d93f642f64180aa3');
      expect(USDC.toLowerCase()).toBe('0xe7f1725e7734ce288f8367e1bb143e90bb3f0512');
      for (const token of [USDT, USDC]) {
        for (const index of [0, 1, 2, 3, 4]) {
          const balance = await tokenBalance(rpcUrl, token, devAccount(index).address);
          expect(balance).toBeGreaterThanOrEqual(1_000_000_000_000_000n);
        }
        expect(await tokenBalance(rpcUrl, token, devAccount(5).address)).toBe(0n);
      }
      const before = await callRpc(rpcUrl, 'eth_getTransactionCount', [owner.address, 'latest']);
      await deployDevTokens({ rpcUrl, usdtDecimals: 6, usdcDecimals: 6 });
      expect(await callRpc(rpcUrl, 'eth_getTransactionCount', [owner.address, 'latest'])).toBe(before);
    },
    { blockTimeSeconds: 1 },
  );
});

test('rejects token deployment on a chain whose account 0 was already used', async () => {
  await withScratchDirectory(async (directory) => {
    running = await startAnvil({ dir: directory, port: await findFreePort(), chainId: 97 });
    const { rpcUrl } = running;
    await payNative({ rpcUrl, fromKey: owner.privateKey, to: payee.address, amountWei: 1n });
    await expect(deployDevTokens({ rpcUrl, usdtDecimals: 18, usdcDecimals: 18 })).rejects.toMatchObject({
      code: 'TOKENS_NOT_DEPLOYABLE',
    });
  });
});

test('delivers payments, including concurrent ones of one key', async () => {
  await withDevnet(async (rpcUrl) => {
    const payments = [1n, 2n, 3n, 4n, 5n].map(async (amountBaseUnits) => {
      const txid = await payToken({
        rpcUrl,
        token: USDT,
        fromKey: payer.privateKey,
        to: payee.address,
        amountBaseUnits,
      });
      return waitForReceipt(rpcUrl, txid);
    });
    const receipts = await Promise.all(payments);
    expect(receipts.map((receipt) => receipt.status)).toEqual(Array(5).fill('0x1'));
    expect(await tokenBalance(rpcUrl, USDT, payee.address)).toBe(15n);

    const before = BigInt(await callRpc<string>(rpcUrl, 'eth_getBalance', [payee.address, 'latest']));
    await waitForReceipt(
      rpcUrl,
      await payNative({ rpcUrl, fromKey: payer.privateKey, to: payee.address, amountWei: 7n }),
    );
    expect(BigInt(await callRpc<string>(rpcUrl, 'eth_getBalance', [payee.address, 'latest'])) - before).toBe(
      7n,
    );
  });
});

test('removes a payment by a reorganisation or moves it to another block', async () => {
  await withDevnet(async (rpcUrl) => {
    await mine({ rpcUrl, blocks: 3 });
    const payment = { rpcUrl, fromKey: payer.privateKey, to: USDT, data: transfer(5n) };
    const rawTransaction = await signTransaction(payment);
    const txid = await callRpc<string>(rpcUrl, 'eth_sendRawTransaction', [rawTransaction]);
    const first = await waitForReceipt(rpcUrl, txid);
    await mine({ rpcUrl, blocks: 1 });
    const head = await headHeight(rpcUrl);

    await reorg({ rpcUrl, depth: 3 });
    expect(await headHeight(rpcUrl)).toBe(head);
    expect(await callRpc(rpcUrl, 'eth_getTransactionReceipt', [txid])).toBeNull();
    expect(await tokenBalance(rpcUrl, USDT, payee.address)).toBe(0n);

    await reorg({ rpcUrl, depth: 3, replacements: [{ rawTransaction, blockOffset: 2 }] });
    const second = await waitForReceipt(rpcUrl, txid);
    expect(second.blockHash).not.toBe(first.blockHash);
    expect(Number(second.blockNumber)).toBe(head);
    expect(await tokenBalance(rpcUrl, USDT, payee.address)).toBe(5n);
  });
});

test('supports snapshots, mining on request and dropped transactions', async () => {
  await withDevnet(async (rpcUrl) => {
    const head = await headHeight(rpcUrl);
    const snapshot = await takeSnapshot(rpcUrl);
    await mine({ rpcUrl, blocks: 4 });
    expect(await headHeight(rpcUrl)).toBe(head + 4);
    await restoreSnapshot(rpcUrl, snapshot);
    expect(await headHeight(rpcUrl)).toBe(head);

    await setBlockTime(rpcUrl, 0);
    const token = USDC;
    const txid = await payToken({
      rpcUrl,
      token,
      fromKey: payer.privateKey,
      to: payee.address,
      amountBaseUnits: 9n,
    });
    await dropTransaction(rpcUrl, txid);
    await mine({ rpcUrl, blocks: 1 });
    expect(await tokenBalance(rpcUrl, token, payee.address)).toBe(0n);
    await setBlockTime(rpcUrl, undefined);
    await waitForReceipt(
      rpcUrl,
      await payToken({ rpcUrl, token, fromKey: payer.privateKey, to: payee.address, amountBaseUnits: 9n }),
    );
    expect(await tokenBalance(rpcUrl, token, payee.address)).toBe(9n);
  });
});

test('continues a kept chain with its blocks and tokens', async () => {
  await withScratchDirectory(async (directory) => {
    const options = {
      dir: directory,
      port: await findFreePort(),
      chainId: 97,
      keepState: true,
      blockTimeSeconds: 1,
    };
    running = await startAnvil(options);
    const { rpcUrl } = running;
    await deployDevTokens({ rpcUrl, usdtDecimals: 18, usdcDecimals: 18 });
    const height = await headHeight(rpcUrl);
    const { hash } = await callRpc<{ hash: string }>(rpcUrl, 'eth_getBlockByNumber', [
      `0x${height.toString(16)}`,
      false,
    ]);
    await running.stop();

    running = await startAnvil(options);
    const again = await callRpc<{ hash: string }>(rpcUrl, 'eth_getBlockByNumber', [
      `0x${height.toString(16)}`,
      false,
    ]);
    expect(again.hash).toBe(hash);
    expect(await tokenBalance(rpcUrl, USDT, payer.address)).toBe(10n ** 27n);
    await running.stop();
    expect(processesOf(directory)).toEqual([]);
  });
});

test('reports the process that owns a taken port', async () => {
  await withDevnet(async (rpcUrl, directory) => {
    const port = Number(new URL(rpcUrl).port);
    await expect(startAnvil({ dir: join(directory, 'second'), port, chainId: 97 })).rejects.toMatchObject({
      code: 'PORT_TAKEN',
      message: expect.stringMatching(new RegExp(`Port ${port}, .* is taken by process \\d+ \\(.*anvil`)),
    });
  });
});

test('Tether deducts fees, blocks senders, pauses, destroys funds and is deprecated', async () => {
  await withDevnet(async (rpcUrl) => {
    const tether = async (method: string, ...methodArguments: unknown[]) =>
      send(rpcUrl, {
        fromKey: owner.privateKey,
        contract: 'TetherLike',
        address: USDT,
        method,
        methodArguments,
      });
    const pay = async (amountBaseUnits: bigint) =>
      waitForReceipt(
        rpcUrl,
        await payToken({
          rpcUrl,
          token: USDT,
          fromKey: payer.privateKey,
          to: payee.address,
          amountBaseUnits,
        }),
      );

    await tether('setParams', 10n, 40n); // 0.1 %
    const withFee = await pay(1_000_000n);
    expect(withFee.logs.length).toBe(2);
    expect(await tokenBalance(rpcUrl, USDT, payee.address)).toBe(999_000n);
    await tether('setParams', 0n, 0n);

    await tether('addBlackList', payer.address);
    expect((await pay(1n)).status).toBe('0x0');
    await tether('removeBlackList', payer.address);
    await tether('pause');
    expect((await pay(1n)).status).toBe('0x0');
    await tether('unpause');

    await tether('addBlackList', payee.address);
    expect((await pay(1n)).status).toBe('0x1'); // only senders are blocked
    const destroyed = await tether('destroyBlackFunds', payee.address);
    expect(destroyed.logs.length).toBe(1);
    expect(await tokenBalance(rpcUrl, USDT, payee.address)).toBe(0n);

    const upgraded = await deployContract({
      rpcUrl,
      fromKey: owner.privateKey,
      contract: 'UpgradedTether',
      constructorArguments: [USDT, payer.address, 100n],
    });
    await tether('deprecate', upgraded);
    expect((await pay(60n)).logs.map((log) => log.address)).toEqual([upgraded.toLowerCase()]);
    expect(await tokenBalance(rpcUrl, USDT, payee.address)).toBe(60n);
  });
});

test('USDC rejects blacklisted receivers; fake token and batch emit arbitrary logs', async () => {
  await withDevnet(async (rpcUrl) => {
    const fromKey = owner.privateKey;
    const usdc = { fromKey, contract: 'UsdcLike', address: USDC } as const;
    await send(rpcUrl, { ...usdc, method: 'blacklist', methodArguments: [payee.address] });
    const refused = await payToken({
      rpcUrl,
      token: USDC,
      fromKey: payer.privateKey,
      to: payee.address,
      amountBaseUnits: 1n,
    });
    expect((await waitForReceipt(rpcUrl, refused)).status).toBe('0x0');
    await send(rpcUrl, { ...usdc, method: 'unBlacklist', methodArguments: [payee.address] });

    const fake = await deployContract({
      rpcUrl,
      fromKey,
      contract: 'FakeToken',
      constructorArguments: [6, 'Tether USD', 'USDT'],
    });
    const emit = async (method: string, ...methodArguments: unknown[]) =>
      (await send(rpcUrl, { fromKey, contract: 'FakeToken', address: fake, method, methodArguments })).logs;
    expect(await emit('emitNftTransfer', payer.address, payee.address, 1n)).toMatchObject([
      { data: '0x', topics: { length: 4 } },
    ]);
    expect(await emit('emitTransferWithoutData', payer.address, payee.address)).toMatchObject([
      { data: '0x', topics: { length: 3 } },
    ]);
    expect(await emit('emitTransfer', payer.address, payee.address, 5n)).toMatchObject([
      { topics: { length: 3 } },
    ]);
    expect(await emit('emitUnindexedTransfer', payer.address, payee.address, 5n)).toMatchObject([
      { topics: { length: 1 } },
    ]);
    expect(await emit('emitTransferWithData', payer.address, payee.address, '0x01')).toMatchObject([
      { data: '0x01' },
    ]);

    const address = await deployContract({ rpcUrl, fromKey, contract: 'TransferBatch' });
    await payToken({ rpcUrl, token: USDT, fromKey: payer.privateKey, to: address, amountBaseUnits: 100n });
    const items = [
      { token: USDT, to: payee.address, amount: 10n },
      { token: USDT, to: payee.address, amount: 20n },
      { token: `0x${'0'.repeat(40)}`, to: payee.address, amount: 3n },
    ];
    const batch = {
      fromKey,
      contract: 'TransferBatch',
      address,
      methodArguments: [items],
      valueWei: 3n,
    } as const;
    expect((await send(rpcUrl, { ...batch, method: 'sendThenRevert' })).status).toBe('0x0');
    expect(await send(rpcUrl, { ...batch, method: 'sendAndRevertInside' })).toMatchObject({
      status: '0x1',
      logs: [],
    });
    expect(await tokenBalance(rpcUrl, USDT, payee.address)).toBe(0n);
    expect((await send(rpcUrl, { ...batch, method: 'send' })).logs.length).toBe(2);
    expect(await tokenBalance(rpcUrl, USDT, payee.address)).toBe(30n);
  });
});

function transfer(amount: bigint): string {
  return contractInterface('UsdcLike').encodeFunctionData('transfer', [payee.address, amount]);
}

async function send(rpcUrl: string, call: Omit<Parameters<typeof callContract>[0], 'rpcUrl'>) {
  return waitForReceipt(rpcUrl, await callContract({ rpcUrl, ...call }));
}
