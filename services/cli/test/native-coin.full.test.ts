import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { randomUUID } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { ChainReader } from '@opentill/chain/chain-reader';
import { evmFamily } from '@opentill/chain-evm/family';
import { tronFamily } from '@opentill/chain-tron/family';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import { parseNetworkFile } from '@opentill/contracts/parse-network-file';
import { keepLease } from '@opentill/db/lease';
import type { ServiceSchema } from '@opentill/db/service-schema';
import { startAnvil } from '@opentill/devnets/evm/anvil';
import { devAccount } from '@opentill/devnets/evm/accounts';
import { DEV_TOKEN_ADDRESSES, deployDevTokens, payNative } from '@opentill/devnets/evm/start-evm-devnet';
import { waitForReceipt } from '@opentill/devnets/evm/transactions';
import { findFreePort } from '@opentill/test-servers/free-port';
import { callRpc } from '@opentill/devnets/evm/json-rpc';
import { startTronDevnet } from '@opentill/devnets/tron/start-tron-devnet';
import { systemClock } from '@opentill/runtime/clock';
import { newId } from '@opentill/runtime/ids';
import { createLogger } from '@opentill/runtime/logger';
import { createMetrics } from '@opentill/runtime/metrics';
import { createObserve } from '@opentill/scanner/observe';
import { createChainGates, startChainScan } from '@opentill/scanner/scan-chain';
import { scanNetworkOf } from '@opentill/scanner/scan-network';
import { createScanStore } from '@opentill/scanner/store/scan-store';
import { tronDevnetNetwork } from '@opentill/testkit/devnet-networks';
import { aCollection, aPayout } from '@opentill/testkit/scenario';
import { createTestDatabase } from '@opentill/testkit/test-database';
import { waitUntil } from '@opentill/testkit/wait-until';
import { sql } from 'kysely';
import { runCli } from '../src/run-cli.ts';

// Coin is booked as gas and becomes an asset. The rescan that `reconcile` suggests then finds the transfer that brought
// it. Real nodes, scanner and command line.

interface Node {
  createReader(network: NetworkConfig): ChainReader;
  canonical(contract: string): string | undefined;
  readonly schema: ServiceSchema;
  readonly hot: string;
  readonly deposit: string;
  readonly coin: bigint;
  network(takesCoin: boolean): NetworkConfig;
  send(to: string, amount: bigint): Promise<unknown>;
  close(): Promise<unknown>;
}

async function evmNode(directory: string): Promise<Node> {
  const anvil = await startAnvil({ dir: join(directory, 'anvil'), port: await findFreePort(), chainId: 97 });
  const { rpcUrl } = anvil;
  await callRpc(rpcUrl, 'evm_setAutomine', [true]);
  await deployDevTokens({ rpcUrl, usdtDecimals: 18, usdcDecimals: 6 });
  await callRpc(rpcUrl, 'evm_setIntervalMining', [1]);
  const fromKey = devAccount(1).privateKey;
  return {
    createReader: (network) => evmFamily.createReader(network, {}),
    canonical: evmFamily.addressCodec.parse,
    schema: 'scanner_evm',
    hot: `0x${'ab'.repeat(20)}`,
    deposit: `0x${'cd'.repeat(20)}`,
    coin: 10n ** 18n,
    network(takesCoin) {
      const limits = { displayDecimals: 2, minAmount: null, maxAmount: null };
      const network = {
        chain: 'BSC_TEST',
        family: 'EVM',
        enabled: true,
        chainId: 97,
        name: 'devnet',
        rpcUrls: [rpcUrl],
        nativeSymbol: 'tBNB',
        nativeDecimals: 18,
        confirmations: 3,
        blockTimeMs: 1_000,
        pollIntervalMs: 250,
        restIntervalMs: 250,
        reorgWindow: 64,
        maxBlockRange: 200,
        bloom: true,
        tokens: [
          { symbol: 'USDT', contract: DEV_TOKEN_ADDRESSES.USDT, decimals: 18, ...limits },
          ...(takesCoin ? [{ symbol: 'tBNB', contract: null, decimals: 18, ...limits }] : []),
        ],
      };
      return parseNetworkFile(JSON.stringify({ networks: [network] }), 'test')[0]!;
    },
    send: async (to, amountWei) =>
      waitForReceipt(rpcUrl, await payNative({ rpcUrl, fromKey, to, amountWei })),
    close: () => anvil.stop('kill'),
  };
}

async function tronNode(): Promise<Node> {
  const devnet = await startTronDevnet({ blockTimeMs: 500, solidLagBlocks: 3, seed: 'native coin' });
  const all = tronDevnetNetwork(devnet);
  const [, hot, deposit] = devnet.accounts.map(({ address }) => address);
  return {
    createReader: (network) => tronFamily.createReader(network, {}),
    canonical: tronFamily.addressCodec.parse,
    schema: 'scanner_tron',
    hot: hot!,
    deposit: deposit!,
    coin: 1_000_000n,
    network: (takesCoin) => ({
      ...all,
      tokens: all.tokens.filter(({ contract }) => takesCoin || contract !== null),
    }),
    send: (to, trxSun) => devnet.control.fund(to, { trxSun }),
    close: () => devnet.close(),
  };
}

describe.each([
  ['EVM', evmNode],
  ['TRON', tronNode],
] as const)('native coin on %s', (_name, startNode) => {
  test('books coin once that was booked as gas before it became an asset', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'opentill-coin-'));
    const [node, database] = await Promise.all([startNode(directory), createTestDatabase()]);
    const adminDatabase = database.open('admin');
    const admin = adminDatabase.kysely;
    const scanDatabase = database.open(node.schema);
    const file = join(directory, 'networks.json');
    const { chain, family, nativeSymbol: symbol, nativeDecimals: decimals } = node.network(true);

    const scan = async (takesCoin: boolean, until: () => Promise<boolean>): Promise<void> => {
      const network = node.network(takesCoin);
      writeFileSync(file, JSON.stringify({ networks: [network] }));
      const logger = createLogger({ service: 'scanner', level: 'silent' });
      const running = startChainScan({
        network: scanNetworkOf(network, node.canonical),
        reader: node.createReader(network),
        store: createScanStore({ db: scanDatabase.kysely, schema: node.schema, clock: systemClock, newId }),
        observe: createObserve({ logger, metrics: createMetrics('scanner'), clock: systemClock }),
        clock: systemClock,
        lease: keepLease({
          db: scanDatabase.kysely,
          schema: node.schema,
          name: `chain:${chain}`,
          holder: randomUUID(),
          ttlMs: 5_000,
        }),
        leaseIntervalMs: 1_000,
        onCommitted: () => undefined,
        gates: createChainGates(systemClock, (error) => {
          throw error;
        }),
      });
      try {
        await waitUntil('the scanner is there', until);
      } finally {
        await running.stop();
      }
    };
    const opentill = async (...args: string[]) => {
      const out: string[] = [];
      const code = await runCli(args, {
        env: { OPS_DATABASE_URL: database.url('ops'), NETWORKS_FILE: file },
        clock: systemClock,
        print: (line) => out.push(line),
        printError: () => undefined,
        askSecret: async () => '',
      });
      return { code, out: out.join('\n') };
    };
    const verified = async () =>
      (await sql<{ height: number }>`select verified_height as height from chain_cursor`.execute(admin))
        .rows[0]?.height ?? -1;
    const accounts = async () => {
      const { rows } = await sql<{ kind: string; balance: bigint }>`select kind, balance from ledger_account
        where chain = ${chain} and symbol = ${symbol} and kind like 'HOT%' and balance <> 0`.execute(admin);
      return Object.fromEntries(rows.map(({ kind, balance }) => [kind, balance]));
    };
    const whileScanning = async <T>(takesCoin: boolean, work: () => Promise<T>): Promise<T> => {
      let result: { readonly value: T } | undefined;
      let failed: { readonly error: unknown } | undefined;
      void work().then(
        (value) => (result = { value }),
        (error: unknown) => (failed = { error }),
      );
      await scan(takesCoin, async () => result !== undefined || failed !== undefined);
      if (result === undefined) throw failed?.error;
      return result.value;
    };

    try {
      await sql`insert into hot_wallet (family, address) values (${family}, ${node.hot})`.execute(admin);
      await aCollection(admin, { chain, family, address: node.deposit });
      await scan(false, async () => (await verified()) >= 0);
      const before = await verified();
      await node.send(node.hot, 3_000n * node.coin);
      await node.send(node.deposit, 5n * node.coin);
      await scan(false, async () => (await verified()) > before + 6);

      const booked = await whileScanning(false, () => opentill('reconcile', '--book-gas'));
      expect(booked.out).toMatch(/as coin for fees, as of block \d+: \w+:gas-at-/);
      const { HOT_GAS: gas = 0n, ...others } = await accounts();
      expect(gas).toBeGreaterThanOrEqual(3_000n * node.coin);
      expect(others).toEqual({});

      const advised = await whileScanning(true, () => opentill('reconcile', '--json'));
      const [, , to] = /opentill rescan --chain \w+ --from (\d+) --to (\d+)/.exec(advised.out) ?? [];
      await sql`insert into rescan_request (chain, from_height, to_height) values (${chain}, ${before}, ${to})`.execute(
        admin,
      );
      await scan(true, async () => {
        const { rows } = await sql`select from rescan_request where done_at is null`.execute(admin);
        return rows.length === 0;
      });
      const { rows: found } = await sql<{ transferId: number; version: number; amount: bigint }>`
        select transfer_id as "transferId", version, amount from transfer where to_address = ${node.hot}`.execute(
        admin,
      );
      expect(found.map(({ amount }) => amount)).toContain(3_000n * node.coin);
      const given = JSON.stringify(found.map(({ transferId, version }) => ({ transferId, version })));
      await sql`select * from settle_hot_wallet_deposits(${given}::jsonb)`.execute(admin);

      expect(await accounts()).toEqual({ HOT_AVAILABLE: gas });
      const equal = await whileScanning(true, () => opentill('reconcile', '--json'));
      interface Line {
        readonly symbol: string;
        readonly what: string;
      }
      const { chains } = JSON.parse(equal.out) as {
        chains: { lines: Line[] }[];
      };
      expect(chains[0]?.lines).toContainEqual(
        expect.objectContaining({
          symbol,
          what: 'hot wallets',
          ledger: `${gas}`,
          onItsWay: '0',
          onChain: `${gas}`,
        }),
      );
      const reserve = async (amount: bigint) => {
        const coin = { chain, family, symbol, decimals, contract_address: null, source_address: node.hot };
        const { order_pk } = await aPayout(admin, { ...coin, amount, accepted_amount: amount });
        const { rows } = await sql<{ ok: boolean }>`select reserve(${order_pk}) as ok`.execute(admin);
        return rows[0]?.ok;
      };
      expect([await reserve(gas + 1n), await reserve(gas)]).toEqual([false, true]);
    } finally {
      await Promise.all([adminDatabase.close(), scanDatabase.close()]);
      await database.drop();
      await node.close();
      rmSync(directory, { recursive: true, force: true });
    }
  }, 300_000);
});
