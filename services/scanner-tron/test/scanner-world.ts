import { randomBytes } from 'node:crypto';
import { addressOfShortHex } from '@opentill/chain-tron/address-codec';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import type { Database } from '@opentill/db/database';
import type { TronDevnet, TronDevnetOptions } from '@opentill/devnets/tron/start-tron-devnet';
import { startTronDevnet } from '@opentill/devnets/tron/start-tron-devnet';
import { connectBroker } from '@opentill/messaging/connection';
import { systemClock } from '@opentill/runtime/clock';
import { newId } from '@opentill/runtime/ids';
import { createLogger } from '@opentill/runtime/logger';
import { createMetrics } from '@opentill/runtime/metrics';
import { tronDevnetNetwork } from '@opentill/testkit/devnet-networks';
import { aCollection, aMerchant } from '@opentill/testkit/scenario';
import { createTestBroker, type TestBroker } from '@opentill/testkit/test-broker';
import { createTestDatabase, type TestDatabase } from '@opentill/testkit/test-database';
import { waitUntil } from '@opentill/testkit/wait-until';
import { raisedAlarms, watchScan, type WatchedScan } from '@opentill/testkit/watched-scan';
import { startScanner, type ScannerApp } from '../src/app.ts';

export const CHAIN = 'TRON_TEST';

/** A devnet whose blocks are made when told, a database and a broker. */
export interface ScannerWorld extends WatchedScan {
  readonly devnet: TronDevnet;
  readonly admin: Database;
  readonly database: TestDatabase;
  readonly broker: TestBroker;
  readonly network: NetworkConfig;
  /** A deposit address of a new order. */
  newDepositAddress(): Promise<string>;
  /** Waits until the seen cursor is at the node's head, by hash, and the verified one where the chain is solid. */
  caughtUp(): Promise<void>;
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
  const network = tronDevnetNetwork(devnet, { reorgWindow: 30, ...overrides });
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
      alarms: () => raisedAlarms(metrics),
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
    ...watchScan(CHAIN, admin.kysely, broker),
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
    caughtUp: () =>
      waitUntil(
        'the scanner is at the head',
        async () => {
          const { headId, solid } = devnet.control.summary();
          const { seenHash, verified } = await world.cursor();
          return seenHash === headId && verified === solid;
        },
        60_000,
      ),
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
