import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startPostgres, type PostgresOptions, type PostgresServer } from './postgres.ts';

export interface PostgresPairOptions {
  /** Contains `one/` and `two/`. */
  readonly dir: string;
  readonly ports: readonly [number, number];
  /** Where the standby reaches the primary, for example a proxy. @default the primary's port */
  readonly replicationPort?: number;
  /** The primary confirms a commit when the standby has it on disk. */
  readonly synchronous: boolean;
  readonly binariesDir?: string;
  readonly settings?: Readonly<Record<string, string>>;
}

export interface PostgresPair {
  readonly primary: PostgresServer;
  readonly standby: PostgresServer;
  /** After a stop: on its port, with its data and settings, as the primary that it was. */
  restartPrimary(): Promise<void>;
  stop(): Promise<void>;
}

const STANDBY = 'two';

/**
 * A primary and a streaming standby. The standby's data is a copy of the stopped primary's, since the packaged binaries
 * have no pg_basebackup.
 */
export async function startPostgresPair(options: PostgresPairOptions): Promise<PostgresPair> {
  const [one, two] = ['one', STANDBY].map((name) => join(options.dir, name)) as [string, string];
  const start = (dir: string, port: number, settings: PostgresOptions['settings']): Promise<PostgresServer> =>
    startPostgres({
      dir,
      port,
      ...(options.binariesDir !== undefined && { binariesDir: options.binariesDir }),
      settings: { wal_receiver_status_interval: '1s', ...options.settings, ...settings },
    });
  await (await start(one, options.ports[0], {})).stop();
  mkdirSync(two, { recursive: true });
  chmodSync(two, 0o711);
  execFileSync('cp', ['-a', join(one, 'data'), join(two, 'data')]);
  writeFileSync(join(two, 'data', 'standby.signal'), '');
  const startPrimary = (): Promise<PostgresServer> =>
    start(one, options.ports[0], { ...(options.synchronous && { synchronous_standby_names: STANDBY }) });
  let primary = await startPrimary();
  try {
    const source = `host=127.0.0.1 port=${options.replicationPort ?? options.ports[0]} user=opentill`;
    const standby = await start(two, options.ports[1], {
      primary_conninfo: `${source} application_name=${STANDBY} connect_timeout=2`,
      wal_retrieve_retry_interval: '500ms',
    });
    return {
      get primary() {
        return primary;
      },
      standby,
      async restartPrimary() {
        primary = await startPrimary();
      },
      async stop() {
        await Promise.all([primary.stop('immediate'), standby.stop('immediate')]);
      },
    };
  } catch (error) {
    await primary.stop('immediate');
    throw error;
  }
}
