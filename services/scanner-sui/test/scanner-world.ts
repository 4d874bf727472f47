import { randomBytes } from 'node:crypto';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import type { Database } from '@opentill/db/database';
import type { SuiDevnet, SuiDevnetOptions, SuiNode } from '@opentill/devnets/sui/start-sui-devnet';
import { startSuiDevnet } from '@opentill/devnets/sui/start-sui-devnet';
import { connectBroker } from '@opentill/messaging/connection';
import { systemClock } from '@opentill/runtime/clock';
import { newId } from '@opentill/runtime/ids';
import { createLogger } from '@opentill/runtime/logger';
import { createMetrics } from '@opentill/runtime/metrics';
import { suiDevnetNetwork } from '@opentill/testkit/devnet-networks';
import { aCollection, aMerchant } from '@opentill/testkit/scenario';
import { createTestBroker, type TestBroker } from '@opentill/testkit/test-broker';
import { createTestDatabase, type TestDatabase } from '@opentill/testkit/test-database';
import { waitUntil } from '@opentill/testkit/wait-until';
import { raisedAlarms, watchScan, type WatchedScan } from '@opentill/testkit/watched-scan';
import { startScanner, type ScannerApp } from '../src/app.ts';

export const CHAIN = 'SUI_TEST';

/** A devnet whose checkpoints are made when told, a database and a broker. */
export interface ScannerWorld extends WatchedScan {
  readonly devnet: SuiDevnet;
  /** The one that the scanner reads; what is wrong with it is not with those who pay. */
  readonly node: SuiNode;
  readonly admin: Database;
  readonly database: TestDatabase;
  readonly broker: TestBroker;
  readonly network: NetworkConfig;
  /** A deposit address of a new order. */
  newDepositAddress(): Promise<string>;
  /** Waits until the seen cursor is at the node's head, by hash, and the verified one beside it. */
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
  /**
   * How many statements it has had carried out, beside the beginnings and ends of transactions and what asks by the clock,
   * of which a slow machine sees more: for the lease, for events to publish, whether it is paused and who is there.
   */
  statements(): number;
  stop(): Promise<void>;
}

/** Whether the words of a statement are of such a kind. */
function asksByTheClock(query: object): boolean {
  const wordsOf = (part: unknown): readonly string[] => {
    if (typeof part === 'string') return [part];
    return typeof part === 'object' && part !== null ? Object.values(part).flatMap(wordsOf) : [];
  };
  return /\b(?:lease|outbox|pause)\b/.test(wordsOf(query).join(' '));
}

export async function createScannerWorld(
  options: Partial<SuiDevnetOptions> & { readonly network?: Partial<NetworkConfig> } = {},
): Promise<ScannerWorld> {
  const { network: overrides, ...ofDevnet } = options;
  const devnet = await startSuiDevnet({ checkpointMs: 0, ...ofDevnet });
  const database = await createTestDatabase();
  const admin = database.open('admin');
  const broker = await createTestBroker();
  const replicas = new Set<Replica>();
  const node = await devnet.control.openNode();
  const network = suiDevnetNetwork(devnet, { rpcUrls: [node.url], reorgWindow: 30, ...overrides });
  const { merchantId } = await aMerchant(admin.kysely);

  async function startReplica(ofReplica: Partial<NetworkConfig> = {}): Promise<Replica> {
    const db = database.open('scanner_sui');
    const logger = createLogger({ service: 'scanner-sui', level: 'silent' });
    const url = await broker.urlFor('scanner-sui');
    const connection = connectBroker({ url, logger, name: 'replica' });
    const failures: unknown[] = [];
    const metrics = createMetrics('scanner-sui', { ofProcess: false });
    let statements = 0;
    const counting = db.kysely.withPlugin({
      transformQuery({ node: query }) {
        if (!asksByTheClock(query)) statements += 1;
        return query;
      },
      transformResult: ({ result }) => Promise.resolve(result),
    });
    const app = startScanner({
      db: counting,
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
      statements: () => statements,
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
    node,
    admin,
    database,
    broker,
    network,
    ...watchScan(CHAIN, admin.kysely, broker),
    async newDepositAddress() {
      const address = `0x${randomBytes(32).toString('hex')}`;
      const contract_address = devnet.tokens.USDT;
      await aCollection(admin.kysely, {
        chain: CHAIN,
        family: 'SUI',
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
          const { digest, checkpoint } = devnet.control.summary();
          const { seenHash, verified } = await world.cursor();
          return seenHash === digest && verified === checkpoint;
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
