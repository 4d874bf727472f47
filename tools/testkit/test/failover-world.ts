import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { sql } from 'kysely';
import { openDatabase, type Database, type DatabaseOptions } from '@opentill/db/database';
import { handleOnce } from '@opentill/db/inbox';
import { migrate } from '@opentill/db/migrate';
import type { PrimaryNews } from '@opentill/db/primary-keeper';
import { roleUrl } from '@opentill/db/roles';
import { newId } from '@opentill/runtime/ids';
import { findFreePort } from '@opentill/test-servers/free-port';
import { startPostgresPair, type PostgresPair } from '@opentill/test-servers/postgres-standby';
import { scratchParent } from '@opentill/test-servers/scratch-directory';
import { signalDescendants } from '@opentill/test-servers/signal-descendants';
import { queryServer } from '../src/query-server.ts';
import { startTcpProxy, type TcpProxy } from '../src/tcp-proxy.ts';
import { waitUntil } from '../src/wait-until.ts';

// Two Postgres servers, one a streaming standby, and writers that use the services' settings.

const WRITERS = 8;
export const SCHEMA = 'tracker';

export interface World {
  /** Contains the data of both servers. */
  readonly dir: string;
  readonly pair: PostgresPair;
  readonly replication: TcpProxy;
  /** Lists both servers. */
  readonly url: string;
  readonly news: PrimaryNews[];
  open(options?: Partial<DatabaseOptions>): Database;
  /** A superuser's session on one server, whatever its state. */
  query<Row extends object>(server: 'primary' | 'standby', text: string): Promise<Row[]>;
  promote(): Promise<void>;
  stop(): Promise<void>;
}

export async function createWorld(synchronous: boolean): Promise<World> {
  const dir = mkdtempSync(join(scratchParent(), 'opentill-failover-'));
  chmodSync(dir, 0o711);
  const ports = [await findFreePort(), await findFreePort()] as const;
  const replication = await startTcpProxy(ports[0]);
  const pair = await startPostgresPair({ dir, ports, replicationPort: replication.port, synchronous });
  const adminUrl = `postgres://opentill@127.0.0.1:${ports[0]},127.0.0.1:${ports[1]}/opentill`;
  const url = roleUrl(adminUrl, SCHEMA);
  const opened: Database[] = [];
  const news: PrimaryNews[] = [];
  const made: World = {
    dir,
    pair,
    replication,
    url,
    news,
    open(options = {}) {
      const onPrimary = (one: PrimaryNews) => news.push(one);
      const database = openDatabase({
        url,
        applicationName: 'failover',
        poolMax: WRITERS,
        onPrimary,
        ...options,
      });
      opened.push(database);
      return database;
    },
    query: <Row extends object>(server: 'primary' | 'standby', text: string) =>
      queryServer<Row>(pair[server].url, text),
    async promote() {
      await made.query('standby', 'select pg_promote(true, 600)');
    },
    async stop() {
      signalDescendants(pair.primary.pid, 'SIGCONT');
      await Promise.all(opened.map((database) => database.close(1_000)));
      await pair.stop();
      await replication.close();
      rmSync(dir, { recursive: true, force: true });
    },
  };
  await waitUntil('the standby streams', async () => {
    const rows = await made.query<{ state: string; sync: string }>(
      'primary',
      'select state, sync_state as sync from pg_stat_replication',
    );
    return rows[0]?.state === 'streaming' && rows[0].sync === (synchronous ? 'sync' : 'async');
  });
  await migrate(adminUrl);
  await made.query(
    'primary',
    `create table effect (event_id uuid, written_at timestamptz default clock_timestamp());
    grant insert, select on effect to opentill_${SCHEMA}`,
  );
  return made;
}

export interface Load {
  readonly confirmed: ReadonlySet<string>;
  /** Milliseconds of performance.now() at the last confirmed write. */
  lastMs(): number;
  stop(): Promise<void>;
}

/** Handles events as a consumer does: once per event, again after an error whose outcome is unknown. */
export function startLoad(database: Database): Load {
  const confirmed = new Set<string>();
  let running = true;
  let lastMs = performance.now();
  async function write(): Promise<void> {
    while (running) {
      const eventId = newId();
      for (;;) {
        try {
          await handleOnce(database.kysely, { schema: SCHEMA, consumer: 'load', eventId }, (tx) =>
            sql`insert into effect (event_id) values (${eventId})`.execute(tx),
          );
          break;
        } catch (error) {
          expect(error).toMatchObject({ code: 'DATABASE_UNAVAILABLE', retryable: true });
          if (!running) return;
        }
      }
      confirmed.add(eventId);
      lastMs = performance.now();
    }
  }
  const writers = Array.from({ length: WRITERS }, write);
  return {
    confirmed,
    lastMs: () => lastMs,
    async stop() {
      running = false;
      await Promise.all(writers);
    },
  };
}

export const traffic = (load: Load, count = 200): Promise<void> => {
  const before = load.confirmed.size;
  return waitUntil('traffic', () => load.confirmed.size >= before + count);
};

/** Compares the confirmed events with the rows of the new primary. */
export async function audit(
  { query }: World,
  { confirmed }: Load,
): Promise<{ lost: number; doubled: number }> {
  const rows = await query<{ id: string; times: number }>(
    'standby',
    'select event_id as id, count(*)::int as times from effect group by 1',
  );
  const times = new Map(rows.map((row) => [row.id, row.times]));
  return {
    lost: [...confirmed].filter((id) => !times.has(id)).length,
    doubled: rows.filter((row) => row.times > 1).length,
  };
}

/** Rows of handled events on a server. */
export async function countEffects({ query }: World, server: 'primary' | 'standby'): Promise<number> {
  const rows = await query<{ n: number }>(server, 'select count(*)::int as n from effect');
  return rows[0]?.n ?? Number.NaN;
}

/** Sessions of the writers on a server. */
export async function countSessions({ query }: World, server: 'primary' | 'standby'): Promise<number> {
  return (await query(server, `select from pg_stat_activity where usename = 'opentill_${SCHEMA}'`)).length;
}

export const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;
