import { randomBytes } from 'node:crypto';
import { sql } from 'kysely';
import { addressOfShortHex } from '@opentill/chain-tron/address-codec';
import type { EventEnvelope, EventType } from '@opentill/contracts/event-catalog';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import { queueName } from '@opentill/contracts/topology';
import type { Database } from '@opentill/db/database';
import type { TronDevnet, TronDevnetOptions } from '@opentill/devnet/tron/start-tron-devnet';
import { startTronDevnet } from '@opentill/devnet/tron/start-tron-devnet';
import { connectBroker } from '@opentill/messaging/connection';
import { systemClock } from '@opentill/runtime/clock';
import { newId } from '@opentill/runtime/ids';
import { createLogger } from '@opentill/runtime/logger';
import { createMetrics } from '@opentill/runtime/metrics';
import { aCollection, aMerchant } from '@opentill/testkit/scenario';
import { createTestBroker, type TestBroker } from '@opentill/testkit/test-broker';
import { createTestDatabase, type TestDatabase } from '@opentill/testkit/test-database';
import { waitUntil } from '@opentill/testkit/wait-until';
import { startScanner, type ScannerApp } from '../src/app.ts';

export const CHAIN = 'TRON_TEST';

export interface Cursor {
  readonly head: number;
  readonly seen: number;
  readonly verified: number;
  readonly seenHash: string;
}

/** A devnet whose blocks are made when told, a database and a broker. */
export interface ScannerWorld {
  readonly devnet: TronDevnet;
  readonly admin: Database;
  readonly database: TestDatabase;
  readonly broker: TestBroker;
  readonly network: NetworkConfig;
  /** A deposit address of a new order. */
  newDepositAddress(): Promise<string>;
  cursor(): Promise<Cursor>;
  /** Waits until a cursor is at a height; false when it is not in time. */
  passed(which: 'seen' | 'verified', height: number, limitMs: number): Promise<boolean>;
  /** Waits until the seen cursor is at the node's head, by hash, and the verified one where the chain is solid. */
  caughtUp(): Promise<void>;
  /** Takes the waiting messages of a kind out of the tracker's queue. */
  takeEvents<T extends EventType>(type: T): Promise<readonly EventEnvelope<T>[]>;
  startReplica(network?: Partial<NetworkConfig>): Promise<Replica>;
  close(): Promise<void>;
}

export interface Replica {
  readonly app: ScannerApp;
  /** What it said only the operator can mend. */
  readonly failures: unknown[];
  /** The kinds of alarm that it raises now. */
  alarms(): Promise<readonly string[]>;
  stop(): Promise<void>;
}

export async function createScannerWorld(
  options: Partial<TronDevnetOptions> & { readonly network?: Partial<NetworkConfig> } = {},
): Promise<ScannerWorld> {
  const { network: overrides, ...ofDevnet } = options;
  const devnet = await startTronDevnet({ blockTimeMs: 0, solidLagBlocks: 3, ...ofDevnet });
  const database = await createTestDatabase();
  const admin = database.open('admin');
  const broker = await createTestBroker();
  const replicas = new Set<Replica>();
  const network = networkOf(devnet, overrides);
  const { merchantId } = await aMerchant(admin.kysely);

  async function startReplica(ofReplica: Partial<NetworkConfig> = {}): Promise<Replica> {
    const db = database.open('scanner_tron');
    const logger = createLogger({ service: 'scanner-tron', level: 'silent' });
    const url = await broker.urlFor('scanner-tron');
    const connection = connectBroker({ url, logger, name: 'replica' });
    const failures: unknown[] = [];
    const metrics = createMetrics('scanner-tron', { ofProcess: false });
    const app = startScanner({
      db: db.kysely,
      broker: connection,
      logger,
      metrics,
      clock: systemClock,
      newId,
      networks: [{ ...network, ...ofReplica }],
      instanceId: newId(),
      fail: (error) => failures.push(error),
      leaseTtlMs: 1_500,
    });
    const replica: Replica = {
      app,
      failures,
      async alarms() {
        const raised = (await metrics.render()).matchAll(/^scanner_alarm\{.*kind="([^"]+)".*\} 1$/gm);
        return [...raised].map(([, kind]) => kind!);
      },
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
    devnet,
    admin,
    database,
    broker,
    network,
    async newDepositAddress() {
      const address = addressOfShortHex(randomBytes(20).toString('hex'))!;
      const contract_address = devnet.tokens.USDT;
      await aCollection(admin.kysely, {
        chain: CHAIN,
        family: 'TRON',
        address,
        contract_address,
        merchant_id: merchantId,
      });
      return address;
    },
    async cursor() {
      const { rows } = await sql<Cursor>`
        select head_height as head, seen_height as seen, verified_height as verified, seen_hash as "seenHash"
        from chain_cursor where chain = ${CHAIN}`.execute(admin.kysely);
      if (rows[0] === undefined) throw new Error('no cursor yet');
      return rows[0];
    },
    async passed(which, height, limitMs) {
      const deadline = performance.now() + limitMs;
      while (performance.now() < deadline) {
        const cursor = await world.cursor().catch(() => undefined);
        if (cursor !== undefined && cursor[which] >= height) return true;
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
      return false;
    },
    caughtUp: () =>
      waitUntil('the scanner is at the head', async () => {
        const { headId, solid } = devnet.control.summary();
        const { seenHash, verified } = await world.cursor();
        return seenHash === headId && verified === solid;
      }),
    async takeEvents<T extends EventType>(type: T) {
      const messages = await broker.take(queueName('confirmation-tracker', type));
      return messages.map((message) => JSON.parse(message.content.toString()) as EventEnvelope<T>);
    },
    startReplica,
    async close() {
      for (const replica of replicas) await replica.stop();
      await admin.close();
      await broker.drop();
      await database.drop();
      await devnet.close();
    },
  };
  return world;
}

function networkOf(devnet: TronDevnet, overrides: Partial<NetworkConfig> = {}): NetworkConfig {
  const token = { decimals: 6, displayDecimals: 2, minAmount: null, maxAmount: null };
  return {
    chain: CHAIN,
    family: 'TRON',
    enabled: true,
    genesisId: devnet.chainId,
    name: 'devnet',
    rpcUrls: [devnet.url],
    nativeSymbol: 'TRX',
    nativeDecimals: 6,
    confirmations: 'finalized',
    blockTimeMs: 3_000,
    // Chain time runs ahead of the clock, as fast as blocks are asked for.
    headStaleSeconds: 86_400,
    pollIntervalMs: 50,
    reorgWindow: 30,
    maxBlockRange: 20,
    tokens: [
      { symbol: 'USDT', contract: devnet.tokens.USDT, ...token },
      { symbol: 'USDC', contract: devnet.tokens.USDC, ...token },
      { symbol: 'TRX', contract: null, ...token },
    ],
    ...overrides,
  };
}
