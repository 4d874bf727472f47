import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findFreePort } from '@opentill/test-servers/free-port';
import { startPostgres, type PostgresStopMode } from '@opentill/test-servers/postgres';
import { startRabbitMq, type RabbitMqStopMode } from '@opentill/test-servers/rabbitmq';

/** A database and a broker that a test may crash: they come back on the same port with what they had on disk. */
export interface RestartableServers {
  readonly databaseUrl: string;
  readonly amqpUrl: string;
  restartDatabase(mode: PostgresStopMode): Promise<void>;
  /** Does something while the database is away, and brings it back, whatever became of that. */
  withoutDatabase<T>(work: () => Promise<T>): Promise<T>;
  restartBroker(mode: RabbitMqStopMode): Promise<void>;
  /** Kills the broker, deletes everything that it had on disk, and starts it empty: no queue, no exchange. */
  wipeBroker(): Promise<void>;
  /** Leaves neither process nor file. */
  stop(): Promise<void>;
}

export async function startRestartableServers(): Promise<RestartableServers> {
  const root = mkdtempSync(join(tmpdir(), 'opentill-servers-'));
  chmodSync(root, 0o711); // the servers' users pass through
  const databasePort = await findFreePort();
  const brokerPort = await findFreePort();
  // A crash of the process must cost no commit; the machine itself is not pulled from under it.
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
