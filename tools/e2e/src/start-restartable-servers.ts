import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findFreePort } from '@opentill/test-servers/free-port';
import { startPostgres, type PostgresStopMode } from '@opentill/test-servers/postgres';
import { startRabbitMq, type RabbitMqStopMode } from '@opentill/test-servers/rabbitmq';

/** A database and a broker that a test can crash. They restart on the same port with their data. */
export interface RestartableServers {
  readonly databaseUrl: string;
  readonly amqpUrl: string;
  restartDatabase(mode: PostgresStopMode): Promise<void>;
  /** Stops the database while `work` runs, and restarts it even if `work` throws. */
  withoutDatabase<T>(work: () => Promise<T>): Promise<T>;
  restartBroker(mode: RabbitMqStopMode): Promise<void>;
  wipeBroker(): Promise<void>;
  stop(): Promise<void>;
}

export async function startRestartableServers(): Promise<RestartableServers> {
  const root = mkdtempSync(join(tmpdir(), 'opentill-servers-'));
  chmodSync(root, 0o711); // lets the servers' users reach their subdirectories
  const databasePort = await findFreePort();
  const brokerPort = await findFreePort();
  // Commits survive a crash of the process, but not of the machine.
  const startDatabase = async () =>
    startPostgres({
      dir: join(root, 'postgres'),
      port: databasePort,
      durable: false,
      settings: { synchronous_commit: 'on', full_page_writes: 'on' },
    });
  const startBroker = async () => startRabbitMq({ dir: join(root, 'rabbitmq'), port: brokerPort });

  const [databaseStart, brokerStart] = await Promise.allSettled([startDatabase(), startBroker()]);
  if (databaseStart.status === 'rejected' || brokerStart.status === 'rejected') {
    if (databaseStart.status === 'fulfilled') await databaseStart.value.stop('immediate');
    if (brokerStart.status === 'fulfilled') await brokerStart.value.stop('kill');
    rmSync(root, { recursive: true, force: true });
    throw databaseStart.status === 'rejected'
      ? databaseStart.reason
      : (brokerStart as PromiseRejectedResult).reason;
  }
  let database = databaseStart.value;
  let broker = brokerStart.value;
  return {
    databaseUrl: database.url,
    amqpUrl: broker.url,
    async restartDatabase(mode) {
      await database.stop(mode);
      database = await startDatabase();
    },
    async withoutDatabase(work) {
      await database.stop('fast');
      try {
        return await work();
      } finally {
        database = await startDatabase();
      }
    },
    async restartBroker(mode) {
      await broker.stop(mode);
      broker = await startBroker();
    },
    async wipeBroker() {
      await broker.stop('kill');
      rmSync(join(root, 'rabbitmq'), { recursive: true, force: true });
      broker = await startBroker();
    },
    async stop() {
      await Promise.all([database.stop('immediate'), broker.stop('kill')]);
      rmSync(root, { recursive: true, force: true });
    },
  };
}
