import { afterEach, describe, expect, test, vi } from 'vitest';
import { sql } from 'kysely';
import { handleOnce } from '@opentill/db/inbox';
import { assertLease, keepLease } from '@opentill/db/lease';
import { roleUrl } from '@opentill/db/roles';
import { newId } from '@opentill/runtime/ids';
import { signalDescendants } from '@opentill/test-servers/signal-descendants';
import { startTcpProxy } from '../src/tcp-proxy.ts';
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
  type Load,
  type World,
} from './failover-world.ts';

/*
 * Two Postgres servers, one a streaming standby, and writers that use the services' settings. The test is the cluster
 * manager: it promotes the standby. Each test prints its recovery time.
 */

/** Starts, copies and fails over servers, on a machine that may be busy. */
vi.setConfig({ testTimeout: 900_000, hookTimeout: 900_000 });

/** For sessions that are not part of the load, whose time limits are the services'. */
const PATIENT = { connectTimeoutMs: 90_000 };

let world: World | undefined;
afterEach(async () => {
  await world?.stop();
  world = undefined;
});

function report(what: string, fields: Readonly<Record<string, number | string>>): void {
  const texts = Object.entries(fields).map(([name, value]) => `${name} ${value}`);
  process.stdout.write(`failover: ${what}: ${texts.join(', ')}\n`);
}

/** From the fault to the first write that the new primary confirms. */
async function measureRecovery(load: Load, fault: () => void | Promise<void>, promote: () => Promise<void>) {
  const faultMs = performance.now();
  await fault();
  await promote();
  const promotedMs = performance.now();
  const before = load.confirmed.size;
  await waitUntil('writes continue', () => load.confirmed.size > before);
  return { faultMs, promotedMs, recoveredMs: performance.now() };
}

describe('a synchronous standby', () => {
  test('loses no confirmed commit when the primary is killed under load', async () => {
    world = await createWorld(true);
    const { pair } = world;
    const load = startLoad(world.open());
    await traffic(load);
    const times = await measureRecovery(load, () => pair.primary.stop('kill'), world.promote);
    await traffic(load);
    await load.stop();
    const result = await audit(world, load);
    report('primary killed', {
      confirmed: load.confirmed.size,
      ...result,
      'promotion ended after': seconds(times.promotedMs - times.faultMs),
      'writes after': seconds(times.recoveredMs - times.faultMs),
    });
    expect(result).toEqual({ lost: 0, doubled: 0 });
    expect(world.news.at(-1)).toMatchObject({
      host: `127.0.0.1:${pair.standby.port}`,
      timeline: 2,
      conflicts: [],
    });
  });

  test('refuses a frozen primary that wakes up after the promotion', async () => {
    world = await createWorld(true);
    const { pair, open, query } = world;
    const lease = keepLease({
      db: open(PATIENT).kysely,
      schema: SCHEMA,
      name: 'fence',
      holder: 'a',
      ttlMs: 1_000,
    });
    const held = await lease.acquire();
    const load = startLoad(open());
    await traffic(load);
    const freeze = () => signalDescendants(pair.primary.pid, 'SIGSTOP');
    const times = await measureRecovery(load, freeze, world.promote);
    await traffic(load);
    signalDescendants(pair.primary.pid, 'SIGCONT');
    await waitUntil('the old primary answers', async () => (await query('primary', 'select 1')).length === 1);
    const before = await countEffects(world, 'primary');
    await traffic(load, 2_000);
    expect(await countEffects(world, 'primary')).toBe(before);

    // A holder of the new primary fences out the one of before.
    const other = keepLease({
      db: open(PATIENT).kysely,
      schema: SCHEMA,
      name: 'fence',
      holder: 'b',
      ttlMs: 60_000,
    });
    await waitUntil('the lease expired', async () => (await other.acquire()) !== undefined);
    const write = open(PATIENT)
      .kysely.transaction()
      .execute((tx) => assertLease(tx, SCHEMA, held!));
    await expect(write).rejects.toMatchObject({ code: 'LEASE_LOST' });

    // A process that starts now sees both and uses the newer one.
    const fresh = open(PATIENT);
    await sql`select 1`.execute(fresh.kysely);
    expect(world.news.at(-1)).toMatchObject({
      host: `127.0.0.1:${pair.standby.port}`,
      conflicts: [expect.stringMatching(/old primary \(timeline 1/)],
    });

    // One that reaches only the old primary gets no commit confirmed.
    const stranded = open({ ...PATIENT, url: roleUrl(pair.primary.url, SCHEMA), statementTimeoutMs: 1_000 });
    const event = { schema: SCHEMA, consumer: 'stranded', eventId: newId() } as const;
    await expect(handleOnce(stranded.kysely, event, () => Promise.resolve())).rejects.toMatchObject({
      code: 'DATABASE_UNAVAILABLE',
    });
    expect(await query('primary', `select from tracker.inbox where event_id = '${event.eventId}'`)).toEqual(
      [],
    );

    await load.stop();
    const result = await audit(world, load);
    report('primary frozen, then awake', {
      confirmed: load.confirmed.size,
      ...result,
      'promotion ended after': seconds(times.promotedMs - times.faultMs),
      'writes after': seconds(times.recoveredMs - times.faultMs),
    });
    expect(result).toEqual({ lost: 0, doubled: 0 });
  });

  test('loses no confirmed commit when the primary loses only its standby', async () => {
    world = await createWorld(true);
    const { replication, query } = world;
    const load = startLoad(world.open());
    await traffic(load);
    replication.mode = 'blackhole';
    const stopped = load.lastMs;
    await waitUntil('commits wait', () => performance.now() - stopped() > 3_000);
    const waiting = load.confirmed.size;
    const times = await measureRecovery(load, () => undefined, world.promote);
    expect(load.confirmed.size).toBeGreaterThan(waiting);
    await traffic(load);
    await load.stop();
    const result = await audit(world, load);
    // Rows whose commit waits are invisible on the old primary, so that no reader acts on them.
    const old = await query<{ id: string }>('primary', 'select event_id as id from effect');
    expect(old.filter(({ id }) => !load.confirmed.has(id))).toEqual([]);
    report('primary without its standby', {
      confirmed: load.confirmed.size,
      ...result,
      'writes after the promotion': seconds(times.recoveredMs - times.promotedMs),
    });
    expect(result).toEqual({ lost: 0, doubled: 0 });
  });

  test('reports a commit that its standby did not confirm as unavailable', async () => {
    world = await createWorld(true);
    const { replication, query, open } = world;
    const insert = (id: string) => sql`insert into effect (event_id) values (${id})`;
    const waiting = `from pg_stat_activity where wait_event = 'SyncRep' and usename = 'opentill_${SCHEMA}'`;
    const isVisible = async (id: string) =>
      (await query('primary', `select from effect where event_id = '${id}'`)).length > 0;
    const database = open({ ...PATIENT, statementTimeoutMs: 1_000 });
    await waitUntil('a commit succeeds', async () => {
      await insert(newId()).execute(database.kysely);
      return true;
    });
    replication.mode = 'blackhole';
    // No statement timeout ends the wait, so no other session sees the row.
    for (const write of [
      (id: string) => insert(id).execute(database.kysely),
      (id: string) => database.kysely.transaction().execute((tx) => insert(id).execute(tx)),
    ]) {
      const id = newId();
      await expect(write(id)).rejects.toMatchObject({ code: 'DATABASE_UNAVAILABLE' });
      expect(await isVisible(id)).toBe(false);
    }
    // An operator who cancels the wait makes Postgres report success, with a warning.
    await query('primary', `select pg_terminate_backend(pid, 60000) ${waiting}`);
    const late = open({ ...PATIENT, statementTimeoutMs: 300_000, poolMax: 1 });
    const id = newId();
    const cancelled = expect(insert(id).execute(late.kysely)).rejects.toMatchObject({
      code: 'DATABASE_UNAVAILABLE',
      message: expect.stringMatching(/did not confirm the commit/),
    });
    await waitUntil(
      'it waits',
      async () => (await query('primary', `select pg_cancel_backend(pid) ${waiting}`)).length > 0,
    );
    await cancelled;
    expect(await isVisible(id)).toBe(true);
  });
});

test('one host name that leads to the promoted server moves all writers there', async () => {
  world = await createWorld(false);
  const { pair, open, news } = world;
  const name = await startTcpProxy(pair.primary.port);
  try {
    const url = name.through(roleUrl(pair.primary.url, SCHEMA));
    const load = startLoad(open({ url, primaryWatchMs: 1_000 }));
    await traffic(load);
    await world.promote();
    name.targetPort = pair.standby.port;
    const promotedMs = performance.now();
    await waitUntil('the new primary is seen', () => news.at(-1)?.timeline === 2);
    await waitUntil('no writer remains', async () => (await countSessions(world!, 'primary')) === 0);
    const movedMs = performance.now();
    const before = await countEffects(world, 'primary');
    await traffic(load, 2_000);
    expect(await countEffects(world, 'primary')).toBe(before);
    await load.stop();
    const { lost, doubled } = await audit(world, load);
    report('one host name', {
      confirmed: load.confirmed.size,
      lost,
      doubled,
      'writers moved after the promotion by': seconds(movedMs - promotedMs),
    });
    expect(doubled).toBe(0);
    expect(news).toEqual([{ host: `127.0.0.1:${name.port}`, timeline: 2, conflicts: [] }]);
  } finally {
    await world.stop();
    world = undefined;
    await name.close();
  }
});

test('an asynchronous standby loses the commits that it did not receive', async () => {
  world = await createWorld(false);
  const { replication } = world;
  const load = startLoad(world.open({ primaryWatchMs: 1_000 }));
  await traffic(load);
  replication.mode = 'blackhole';
  await traffic(load);
  await world.promote();
  const promotedMs = performance.now();
  await waitUntil('the writers use the new primary', () => world?.news.at(-1)?.timeline === 2);
  const movedMs = performance.now();
  await traffic(load);
  await load.stop();
  const { lost, doubled } = await audit(world, load);
  report('asynchronous standby without its primary', {
    confirmed: load.confirmed.size,
    lost,
    doubled,
    'writers moved after the promotion by': seconds(movedMs - promotedMs),
  });
  expect(lost).toBeGreaterThan(0);
  expect(doubled).toBe(0);
});
