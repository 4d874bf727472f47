import { join } from 'node:path';
import { afterEach, expect, test, vi } from 'vitest';
import { sql } from 'kysely';
import type { Database } from '@opentill/db/database';
import { findFreePort } from '@opentill/test-servers/free-port';
import { startPgBouncer, type PgBouncer } from '@opentill/test-servers/pgbouncer';
import { queryServer } from '../src/query-server.ts';
import { startTcpProxy, type TcpProxy } from '../src/tcp-proxy.ts';
import { waitUntil } from '../src/wait-until.ts';
import {
  audit,
  countEffects,
  countSessions,
  createWorld,
  SCHEMA,
  seconds,
  startLoad,
  traffic,
  type World,
} from './failover-world.ts';

/*
 * Two Postgres servers, one a streaming standby, and writers behind PgBouncer in transaction mode. The test is the
 * cluster manager: it promotes the standby and points PgBouncer to it.
 */

/** Starts, copies and fails over servers, on a machine that may be busy. */
vi.setConfig({ testTimeout: 900_000, hookTimeout: 900_000 });

/** Fewer than the writers. */
const POOL_SIZE = 4;
const WATCH_MS = 1_000;
const SERVICE_WATCH_MS = 15_000;
const ONE_DAY_MS = 86_400_000;

interface Pooled {
  readonly world: World;
  readonly bouncer: PgBouncer;
  /** PgBouncer's way to the primary, or the name of the primary. */
  readonly toPrimary: TcpProxy;
  /** `watchMs` is the pause between searches for the primary. */
  open(watchMs: number): Database;
  /** A command of PgBouncer's console. */
  command<Row extends object>(text: string): Promise<Row[]>;
  stop(): Promise<void>;
}

let pooled: Pooled | undefined;
afterEach(async () => {
  await pooled?.stop();
  pooled = undefined;
});

async function createPooled(synchronous: boolean): Promise<Pooled> {
  const world = await createWorld(synchronous);
  const toPrimary = await startTcpProxy(world.pair.primary.port);
  const bouncer = await startPgBouncer({
    dir: join(world.dir, 'pgbouncer'),
    port: await findFreePort(),
    postgresPort: toPrimary.port,
    poolSize: POOL_SIZE,
    users: [`opentill_${SCHEMA}`],
    ignoredParameters: ['statement_timeout', 'idle_in_transaction_session_timeout'],
    loginRetrySeconds: 1,
  });
  await world.query('primary', `alter role opentill_${SCHEMA} set statement_timeout = '10s'`);
  const url = `postgres://opentill_${SCHEMA}@127.0.0.1:${bouncer.port}/opentill`;
  return {
    world,
    bouncer,
    toPrimary,
    open: (primaryWatchMs) => world.open({ url, primaryWatchMs }),
    command: <Row extends object>(text: string) => queryServer<Row>(bouncer.adminUrl, text),
    async stop() {
      await bouncer.stop();
      await world.stop();
      await toPrimary.close();
    },
  };
}

/** A transaction of a service that continues until `end`. Its result is the timeline of its server. */
function holdTransaction({ kysely }: Database) {
  let end: (() => void) | undefined;
  const result = kysely.transaction().execute(async (tx) => {
    await sql`select pg_current_xact_id()`.execute(tx);
    await new Promise<void>((resolve) => (end = resolve));
    const { rows } = await sql<{ timeline: string }>`
      select left(pg_walfile_name(pg_current_wal_insert_lsn()), 8) as timeline`.execute(tx);
    return rows[0]?.timeline;
  });
  result.catch(() => undefined); // awaited later
  return { result, isOpen: () => end !== undefined, end: () => end?.() };
}

// RELOAD after a change of the host, RECONNECT after its name moved. The old primary is not fenced and accepts writes.
test.each([
  ['RELOAD', ({ bouncer, world }: Pooled) => bouncer.configureServer(world.pair.standby.port)],
  ['RECONNECT', ({ toPrimary, world }: Pooled) => void (toPrimary.targetPort = world.pair.standby.port)],
])('PgBouncer leaves the old primary transaction by transaction after %s', async (command, move) => {
  pooled = await createPooled(false);
  const { world } = pooled;
  const load = startLoad(pooled.open(WATCH_MS));
  await traffic(load);
  await world.promote();
  const before = await countEffects(world, 'primary');
  await traffic(load); // by itself, PgBouncer continues to write to the old primary
  expect(await countEffects(world, 'primary')).toBeGreaterThan(before);
  expect(await countSessions(world, 'standby')).toBe(0);

  const watched = holdTransaction(pooled.open(WATCH_MS));
  const unwatched = holdTransaction(pooled.open(ONE_DAY_MS));
  await waitUntil('both transactions are open', () => watched.isOpen() && unwatched.isOpen());
  move(pooled);
  await pooled.command(command);

  await waitUntil('one session remains', async () => (await countSessions(world, 'primary')) === 1);
  watched.end();
  await expect(watched.result).rejects.toMatchObject({ code: 'DATABASE_UNAVAILABLE' }); // the service ended it
  const left = await countEffects(world, 'primary');
  await traffic(load, 1_000);
  expect(await countEffects(world, 'primary')).toBe(left);
  unwatched.end();
  expect(await unwatched.result).toBe('00000001'); // it commits on the old primary
  await waitUntil('the last session ends', async () => (await countSessions(world, 'primary')) === 0);
  expect(world.news.some(({ timeline }) => timeline === 2)).toBe(true);
  await load.stop();
  expect((await audit(world, load)).doubled).toBe(0);
});

test.each([
  ['killed', ({ world }: Pooled) => world.pair.primary.stop('kill')],
  [
    'cut off',
    ({ world, toPrimary }: Pooled) => {
      world.replication.mode = 'blackhole';
      toPrimary.mode = 'blackhole';
      return Promise.resolve();
    },
  ],
])('PgBouncer loses no confirmed commit when the primary is %s', async (name, fault) => {
  pooled = await createPooled(true);
  const { world, bouncer } = pooled;
  const load = startLoad(pooled.open(SERVICE_WATCH_MS));
  await traffic(load);
  const faultAt = performance.now();
  await fault(pooled);
  await world.promote();
  const promotedAt = performance.now();
  const before = load.confirmed.size;
  bouncer.configureServer(world.pair.standby.port);
  await pooled.command('RELOAD');
  await waitUntil('writes continue', () => load.confirmed.size > before);
  const recoveredAt = performance.now();
  await traffic(load);
  const isOnOld = ({ port }: { readonly port: unknown }) => Number(port) === pooled!.toPrimary.port;
  await waitUntil(
    'PgBouncer has no session to the old primary',
    async () => !(await pooled!.command<{ port: unknown }>('SHOW SERVERS')).some(isOnOld),
  );
  const leftAt = performance.now();
  await load.stop();
  const result = await audit(world, load);
  process.stdout.write(
    `pgbouncer: primary ${name}: confirmed ${load.confirmed.size}, lost ${result.lost}, doubled ${result.doubled}, ` +
      `promotion ended after ${seconds(promotedAt - faultAt)}, writes continue after ${seconds(recoveredAt - faultAt)}, ` +
      `the last session to the old primary ends by ${seconds(leftAt - faultAt)}\n`,
  );
  expect(result).toEqual({ lost: 0, doubled: 0 });
});
