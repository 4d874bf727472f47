import type { NetworkConfig } from '@opentill/contracts/network-config';
import type { Db } from '@opentill/db/database';
import type { Family } from '@opentill/domain/chains';
import { connectBroker, type Broker } from '@opentill/messaging/connection';
import { systemClock, type Clock } from '@opentill/runtime/clock';
import { newId, type NewId } from '@opentill/runtime/ids';
import { createLogger, type Logger } from '@opentill/runtime/logger';
import { createMetrics, type Metrics } from '@opentill/runtime/metrics';
import { aCollection, aMerchant, type OrderOverrides } from './scenario.ts';
import { createTestBroker } from './test-broker.ts';
import { createTestDatabase } from './test-database.ts';
import { waitUntil } from './wait-until.ts';
import { raisedAlarms, watchScan, type ScanCursor } from './watched-scan.ts';

export interface ScannerOfFamily<App> {
  readonly service: 'scanner-evm' | 'scanner-tron' | 'scanner-sui';
  readonly network: NetworkConfig;
  newAddress(): string;
  readonly order?: OrderOverrides;
  /** True if the seen cursor matches the node's head by hash and the verified cursor is at its depth. */
  isCaughtUp(cursor: ScanCursor): boolean | Promise<boolean>;
  createApp(deps: {
    readonly db: Db;
    readonly broker: Broker;
    readonly logger: Logger;
    readonly metrics: Metrics;
    readonly clock: Clock;
    readonly newId: NewId;
    readonly networks: readonly NetworkConfig[];
    readonly instanceId: string;
    readonly fail: (error: unknown) => void;
    readonly leaseTtlMs: number;
  }): App;
  closeDevnet(): Promise<unknown>;
}

export interface Replica<App> {
  readonly app: App;
  readonly metrics: Metrics;
  /** Failures that need an operator. */
  readonly failures: unknown[];
  alarms(): Promise<readonly string[]>;
  /** Excludes transaction control and timed statements, whose number depends on the machine's speed. */
  statements(): number;
  stop(): Promise<void>;
}

const CAUGHT_UP_MAX_MS = 60_000;

export async function createScannerWorldOf<App extends { start(): void; stop(): Promise<void> }>(
  ofFamily: ScannerOfFamily<App>,
) {
  const { network, service, order, newAddress, isCaughtUp, closeDevnet } = ofFamily;
  const { chain, family } = network;
  const database = await createTestDatabase();
  const admin = database.open('admin');
  const broker = await createTestBroker();
  const { merchantId } = await aMerchant(admin.kysely);
  const replicas = new Set<Replica<App>>();

  async function startReplica(ofReplica: Partial<NetworkConfig> = {}, name = newId()): Promise<Replica<App>> {
    const db = database.open(schemaOf(family));
    const logger = createLogger({ service, level: 'silent' });
    const connection = connectBroker({ url: await broker.urlFor(service), logger, name });
    const metrics = createMetrics(service, { ofProcess: false });
    const failures: unknown[] = [];
    let statements = 0;
    const counting = db.kysely.withPlugin({
      transformQuery({ node }) {
        if (!asksByTheClock(node)) statements += 1;
        return node;
      },
      transformResult: ({ result }) => Promise.resolve(result),
    });
    const app = ofFamily.createApp({
      db: counting,
      broker: connection,
      logger,
      metrics,
      clock: systemClock,
      newId,
      networks: [{ ...network, ...ofReplica }],
      instanceId: name,
      fail: (error) => failures.push(error),
      leaseTtlMs: 1_500,
    });
    app.start();
    const replica: Replica<App> = {
      app,
      metrics,
      failures,
      alarms: () => raisedAlarms(metrics),
      statements: () => statements,
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

  const watched = watchScan(chain, admin.kysely, broker);
  return {
    admin,
    database,
    broker,
    network,
    ...watched,
    async newDepositAddress(): Promise<string> {
      const address = newAddress();
      await aCollection(admin.kysely, { chain, family, address, merchant_id: merchantId, ...order });
      return address;
    },
    caughtUp: () =>
      waitUntil(
        'the scanner is at the head',
        async () => isCaughtUp(await watched.cursor()),
        CAUGHT_UP_MAX_MS,
      ),
    startReplica,
    async close(): Promise<void> {
      for (const replica of replicas) await replica.stop();
      await admin.close();
      await broker.drop();
      await database.drop();
      await closeDevnet();
    },
  };
}

const schemaOf = (family: Family) => `scanner_${family.toLowerCase() as Lowercase<Family>}` as const;

/** True for timed statements, which `statements` does not count. */
function asksByTheClock(query: object): boolean {
  const wordsOf = (part: unknown): readonly string[] => {
    if (typeof part === 'string') return [part];
    return typeof part === 'object' && part !== null ? Object.values(part).flatMap(wordsOf) : [];
  };
  return /\b(?:lease|outbox|pause)\b/.test(wordsOf(query).join(' '));
}
