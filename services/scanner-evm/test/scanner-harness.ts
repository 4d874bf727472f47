import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import type { Database } from '@opentill/db/database';
import { startAnvil, type Anvil, type AnvilOptions } from '@opentill/devnets/evm/anvil';
import { devAccount } from '@opentill/devnets/evm/accounts';
import {
  callContract,
  DEV_TOKEN_ADDRESSES,
  deployContract,
  deployDevTokens,
  mine,
  payToken,
  setBlockTime,
} from '@opentill/devnets/evm/start-evm-devnet';
import { findFreePort } from '@opentill/test-servers/free-port';
import { callRpc } from '@opentill/devnets/evm/json-rpc';
import { connectBroker } from '@opentill/messaging/connection';
import { systemClock } from '@opentill/runtime/clock';
import { newId } from '@opentill/runtime/ids';
import { createLogger } from '@opentill/runtime/logger';
import { createMetrics, type Metrics } from '@opentill/runtime/metrics';
import { aCollection, anEvmAddress } from '@opentill/testkit/scenario';
import { createTestBroker, type TestBroker } from '@opentill/testkit/test-broker';
import { createTestDatabase, type TestDatabase } from '@opentill/testkit/test-database';
import { waitUntil } from '@opentill/testkit/wait-until';
import { watchScan, type WatchedScan } from '@opentill/testkit/watched-scan';
import { startScanner, type ScannerApp } from '../src/app.ts';

export const CHAIN = 'ETH_SEPOLIA';
const CHAIN_ID = 11155111;
const TRANSFER_TOPIC = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef';

/** A payment as the chain, or the database, tells of it. */
export interface Payment {
  readonly tx: string;
  readonly to: string;
  readonly amount: string;
  readonly height: number;
  readonly block: string;
}

/** A devnet whose blocks are made by `mine` alone, a database and a broker. */
export interface ScannerWorld extends WatchedScan {
  readonly anvil: Anvil;
  readonly admin: Database;
  readonly database: TestDatabase;
  readonly broker: TestBroker;
  readonly network: NetworkConfig;
  readonly usdt: string;
  /** A deposit address of a new order. */
  newDepositAddress(): Promise<string>;
  /** Sends a payment of USDT; a block holds it after `mine`. */
  pay(to: string, amount: bigint, account?: number): Promise<string>;
  /** Many transfers in one transaction. */
  payMany(items: readonly { readonly to: string; readonly amount: bigint }[]): Promise<string>;
  mine(blocks?: number): Promise<void>;
  /** What the chain has of payments to deposit addresses after the first cursor, read without the scanner's code. */
  paymentsOnChain(): Promise<readonly Payment[]>;
  /** Recorded transfers of one of the states. */
  recorded(...states: readonly string[]): Promise<readonly Payment[]>;
  /** Waits until the seen cursor is at the node's head, by hash, and the verified one at its depth. */
  caughtUp(): Promise<void>;
  /** From now on a replica that lives keeps the chain until it stops or `endLease`, also on a machine that stands for a while. */
  holdLeases(): Promise<void>;
  /** The time of whoever has the chain is over. */
  endLease(): Promise<void>;
  startReplica(options?: ReplicaOptions): Promise<Replica>;
  close(): Promise<void>;
}

export interface ReplicaOptions {
  readonly name?: string;
  readonly network?: Partial<NetworkConfig>;
}

export interface Replica {
  readonly app: ScannerApp;
  readonly metrics: Metrics;
  /** What it said only the operator can mend. */
  readonly failures: unknown[];
  stop(): Promise<void>;
}

export async function createScannerWorld(
  options: Partial<Pick<AnvilOptions, 'slotsInAnEpoch'>> & { readonly network?: Partial<NetworkConfig> } = {},
): Promise<ScannerWorld> {
  const { network: overrides, ...anvilOptions } = options;
  const dir = await mkdtemp(join(tmpdir(), 'scanner-evm-'));
  const anvil = await startAnvil({ dir, port: await findFreePort(), chainId: CHAIN_ID, ...anvilOptions });
  const { rpcUrl } = anvil;
  await setBlockTime(rpcUrl, 0);
  await deployDevTokens({ rpcUrl, usdtDecimals: 6, usdcDecimals: 6 });
  const usdt = DEV_TOKEN_ADDRESSES.USDT;
  const batch = await deployBatch(rpcUrl, usdt);
  await mine({ rpcUrl, blocks: 30 });
  const database = await createTestDatabase();
  const admin = database.open('admin');
  const broker = await createTestBroker();
  const replicas = new Set<Replica>();
  const network = networkOf(anvil, overrides);
  let started = 0;

  async function startReplica(replicaOptions: ReplicaOptions = {}): Promise<Replica> {
    started += 1;
    const db = database.open('scanner_evm');
    const metrics = createMetrics('scanner-evm');
    const logger = createLogger({ service: 'scanner-evm', level: 'silent' });
    const connection = connectBroker({
      url: await broker.urlFor('scanner-evm'),
      logger,
      name: `replica-${started}`,
    });
    const failures: unknown[] = [];
    const app = startScanner({
      db: db.kysely,
      broker: connection,
      logger,
      metrics,
      clock: systemClock,
      newId,
      networks: [{ ...network, ...replicaOptions.network }],
      instanceId: replicaOptions.name ?? `replica-${started}`,
      fail: (error) => failures.push(error),
      leaseTtlMs: 1_500,
    });
    const replica: Replica = {
      app,
      metrics,
      failures,
      async stop() {
        if (!replicas.delete(replica)) return;
        await app.stop();
        await connection.close();
        await db.close();
      },
    };
    replicas.add(replica);
    return replica;
  }

  const world: ScannerWorld = {
    anvil,
    admin,
    database,
    broker,
    network,
    usdt,
    ...watchScan(CHAIN, admin.kysely, broker),
    async newDepositAddress() {
      const address = anEvmAddress();
      await aCollection(admin.kysely, { chain: CHAIN, address });
      return address;
    },
    pay: (to, amount, account = 1) =>
      payToken({ rpcUrl, token: usdt, fromKey: devAccount(account).privateKey, to, amountBaseUnits: amount }),
    payMany: (items) =>
      callContract({
        rpcUrl,
        fromKey: devAccount(2).privateKey,
        contract: 'TransferBatch',
        address: batch,
        method: 'send',
        methodArguments: [items.map(({ to, amount }) => [usdt, to, amount])],
        gasLimit: 2_000_000n,
      }),
    mine: (blocks = 1) => mine({ rpcUrl, blocks }),
    async paymentsOnChain() {
      const { rows } = await sql<{ address: string }>`select address from deposit_address`.execute(
        admin.kysely,
      );
      const ours = new Set(rows.map((row) => row.address));
      const logs = await callRpc<RawLog[]>(rpcUrl, 'eth_getLogs', [
        { fromBlock: '0x0', toBlock: 'latest', address: usdt, topics: [TRANSFER_TOPIC] },
      ]);
      return sorted(
        logs
          .map((log) => ({
            tx: log.transactionHash,
            to: `0x${log.topics[2]!.slice(26)}`,
            amount: BigInt(log.data).toString(),
            height: Number(log.blockNumber),
            block: log.blockHash,
          }))
          .filter((payment) => ours.has(payment.to)),
      );
    },
    async recorded(...states) {
      const { rows } = await sql<Payment>`
        select tx_hash as tx, to_address as to, amount::text as amount, block_height as height, block_hash as block
        from transfer where state = any(${states})`.execute(admin.kysely);
      return sorted(rows);
    },
    async holdLeases() {
      await sql`create function scanner_evm.hold_lease() returns trigger language plpgsql as $$
        begin new.expires_at = now() + interval '10 minutes'; return new; end $$`.execute(admin.kysely);
      await sql`create trigger lease_held before insert or update on scanner_evm.lease for each row
        when (new.name like 'chain:%' and new.expires_at > now()) execute function scanner_evm.hold_lease()`.execute(
        admin.kysely,
      );
    },
    async endLease() {
      await sql`update scanner_evm.lease set expires_at = now() where name = ${`chain:${CHAIN}`}`.execute(
        admin.kysely,
      );
    },
    caughtUp: () =>
      waitUntil(
        'the scanner is at the head',
        async () => {
          const head = await callRpc<{ number: string; hash: string }>(rpcUrl, 'eth_getBlockByNumber', [
            'latest',
            false,
          ]);
          const { seen, verified, seenHash } = await world.cursor();
          const depth = network.confirmations === 'finalized' ? undefined : network.confirmations - 1;
          return seenHash === head.hash && (depth === undefined || verified === seen - depth);
        },
        60_000,
      ),
    startReplica,
    async close() {
      for (const replica of replicas) await replica.stop();
      await admin.close();
      await broker.drop();
      await database.drop();
      await anvil.stop('kill');
      await rm(dir, { recursive: true });
    },
  };
  return world;
}

interface RawLog {
  readonly transactionHash: string;
  readonly blockHash: string;
  readonly blockNumber: string;
  readonly topics: readonly string[];
  readonly data: string;
}

/** A contract that pays many at once, holding a million USDT. */
async function deployBatch(rpcUrl: string, usdt: string): Promise<string> {
  const fromKey = devAccount(2).privateKey;
  const deploying = deployContract({ rpcUrl, fromKey, contract: 'TransferBatch' });
  await waitUntil('the creation waits for a block', async () => {
    const pool = await callRpc<{ pending: string }>(rpcUrl, 'txpool_status', []);
    return Number(pool.pending) === 1;
  });
  await mine({ rpcUrl, blocks: 1 });
  const batch = await deploying;
  await payToken({ rpcUrl, token: usdt, fromKey, to: batch, amountBaseUnits: 10n ** 12n });
  await mine({ rpcUrl, blocks: 1 });
  return batch;
}

function networkOf(anvil: Anvil, overrides: Partial<NetworkConfig> = {}): NetworkConfig {
  const token = { decimals: 6, displayDecimals: 2, minAmount: null, maxAmount: null };
  return {
    chain: CHAIN,
    family: 'EVM',
    enabled: true,
    chainId: CHAIN_ID,
    name: 'devnet',
    rpcUrls: [anvil.rpcUrl],
    wsUrl: anvil.wsUrl,
    nativeSymbol: 'ETH',
    nativeDecimals: 18,
    confirmations: 3,
    blockTimeMs: 1_000,
    pollIntervalMs: 50,
    reorgWindow: 30,
    maxBlockRange: 20,
    bloom: true,
    tokens: [
      { symbol: 'USDT', contract: DEV_TOKEN_ADDRESSES.USDT, ...token },
      { symbol: 'USDC', contract: DEV_TOKEN_ADDRESSES.USDC, ...token },
    ],
    ...overrides,
  };
}

function sorted(payments: readonly Payment[]): readonly Payment[] {
  const key = (p: Payment): string => `${p.height} ${p.tx} ${p.to} ${p.amount}`;
  return [...payments].sort((a, b) => (key(a) < key(b) ? -1 : 1));
}
