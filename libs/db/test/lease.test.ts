import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { sql } from 'kysely';
import type { Database } from '../src/database.ts';
import { assertLease, isSameLease, keepLease, type Lease, type LeaseKeeper } from '../src/lease.ts';
import { announcePresence, listPresence } from '../src/presence.ts';
import { openTestDatabase } from '@opentill/testkit/test-database';

const { testDatabase, admin, open } = await openTestDatabase();
const [one, two] = [open('scanner_evm'), open('scanner_evm')];
beforeAll(async () => {
  await sql`create table lease_log (id bigint generated always as identity, token bigint, holder text)`.execute(
    admin.kysely,
  );
  await sql`grant select, insert on lease_log to opentill_scanner_evm`.execute(admin.kysely);
});
beforeEach(async () => {
  await sql`truncate scanner_evm.lease`.execute(admin.kysely);
});

const keeper = (database: Database, holder: string, ttlMs = 60_000, name = 'chain/ETH') =>
  keepLease({ db: database.kysely, schema: 'scanner_evm', name, holder, ttlMs });
const expire = () =>
  sql`update scanner_evm.lease set expires_at = now() - interval '1 millisecond'`.execute(admin.kysely);
const write = (database: Database, lease: Lease) =>
  database.kysely.transaction().execute(async (tx) => {
    await assertLease(tx, 'scanner_evm', lease);
    await sql`insert into lease_log (token, holder) values (${lease.fencingToken}, 'x')`.execute(tx);
  });
const lost = { code: 'LEASE_LOST', retryable: true };

describe('lease', () => {
  test('a lease has one holder until it is released', async () => {
    const [a, b] = [keeper(one, 'a'), keeper(two, 'b')];
    const first = await a.acquire();
    expect(first).toEqual({
      name: 'chain/ETH',
      fencingToken: 1,
      holder: expect.stringMatching(/^a#[0-9a-f]{12}$/),
    });
    expect(await b.acquire()).toBeUndefined();
    expect(b.current()).toBeUndefined();
    expect(await a.renew()).toBe(true);
    expect(await a.acquire()).toEqual(first);
    await a.release();
    expect(a.current()).toBeUndefined();
    expect(await b.acquire()).toMatchObject({ fencingToken: 2, holder: expect.stringMatching(/^b#/) });
    expect(await a.renew()).toBe(false);
    expect(await a.acquire()).toBeUndefined();
  });

  test('a lease is taken over once expired by database time; the old holder is refused', async () => {
    const [a, b] = [keeper(one, 'a'), keeper(two, 'b')];
    const stale = (await a.acquire())!;
    await expire();
    const fresh = (await b.acquire())!;
    expect(fresh.fencingToken).toBe(stale.fencingToken + 1);
    await expect(write(one, stale)).rejects.toMatchObject({ ...lost, context: { takenBy: fresh.holder } });
    await write(two, fresh);
    expect(await a.renew()).toBe(false);
    expect(a.current()).toBeUndefined();
    await a.release(); // does not release the lease of another holder
    await write(two, fresh);
    expect(await b.renew()).toBe(true);
  });

  test('an expired lease gets a new token, also for the same holder', async () => {
    const a = keeper(one, 'a');
    const before = (await a.acquire())!;
    await expire();
    expect(await a.renew()).toBe(false);
    const after = (await a.acquire())!;
    expect(after.fencingToken).toBe(before.fencingToken + 1);
    await expect(write(one, before)).rejects.toMatchObject(lost);
    await write(one, after);
  });

  test('an expired lease that was not taken over still covers a write', async () => {
    const lease = (await keeper(one, 'a').acquire())!;
    await expire();
    await write(one, lease);
  });

  test('a lease cannot be taken over while a write under it is open', async () => {
    const lease = (await keeper(one, 'a', 30).acquire())!;
    const asserted = Promise.withResolvers<void>();
    const finish = Promise.withResolvers<void>();
    const order: string[] = [];
    const writing = one.kysely.transaction().execute(async (tx) => {
      await assertLease(tx, 'scanner_evm', lease);
      await sql`set local idle_in_transaction_session_timeout = 0`.execute(tx); // not a test of a frozen holder
      asserted.resolve();
      await finish.promise;
      order.push('write');
    });
    await asserted.promise;
    await untilTrue(sql`select expires_at < now() from scanner_evm.lease`);
    const taking = keeper(two, 'b')
      .acquire()
      .then((taken) => order.push(`taken ${taken?.fencingToken}`));
    await untilTrue(sql`select count(*) > 0 from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`);
    finish.resolve();
    await Promise.all([writing, taking]);
    expect(order).toEqual(['write', 'taken 2']);
  });

  test('a lease without a row is lost, and lease rows cannot be deleted', async () => {
    await expect(write(one, { name: 'chain/NONE', fencingToken: 1, holder: 'a' })).rejects.toMatchObject(
      lost,
    );
    await keeper(one, 'a').acquire();
    await expect(sql`delete from scanner_evm.lease`.execute(one.kysely)).rejects.toMatchObject({
      code: 'DATABASE_CONSTRAINT',
    });
  });
});

/** A failover lost the last take: its token is free again. */
const loseTake = () =>
  sql`update scanner_evm.lease set holder = 'before', fencing_token = fencing_token - 1, expires_at = now()`.execute(
    admin.kysely,
  );

// Both are configured with one instance id, or the second is the first after a restart.
describe('two processes with one instance id', () => {
  test.each([
    {
      title: 'the second waits while the first holds the lease',
      meanwhile: () => Promise.resolve(),
      takes: undefined,
      first: { writes: true, renews: true },
    },
    {
      title: 'an expired lease that the second did not take covers a write, no renewal',
      meanwhile: expire,
      takes: 'later',
      first: { writes: true, renews: false },
    },
    {
      title: 'an expired lease that the second took is lost for the first',
      meanwhile: expire,
      takes: 2,
      first: { writes: false, renews: false },
    },
    {
      title: 'a released lease that the second took refuses late writes of the first',
      meanwhile: (first: LeaseKeeper) => first.release(),
      takes: 2,
      first: { writes: false, renews: false },
    },
    {
      title: 'a token that a failover repeats is lost for the first',
      meanwhile: loseTake,
      takes: 1,
      first: { writes: false, renews: false },
    },
  ])('$title', async ({ meanwhile, takes, first: can }) => {
    const [first, second] = [keeper(one, 'pod-1'), keeper(two, 'pod-1')];
    const before = (await first.acquire())!;
    await meanwhile(first);
    let after = takes === 'later' ? undefined : await second.acquire();
    if (takes !== 'later') expect(after?.fencingToken).toBe(takes);

    const written = write(one, before);
    if (can.writes) await written;
    else await expect(written).rejects.toMatchObject({ ...lost, context: { takenBy: after?.holder } });
    expect(await first.renew()).toBe(can.renews);
    await first.release();

    // The second is not affected by what the first did, and the first is fenced from then on.
    after ??= await second.acquire();
    expect(after).toMatchObject({ holder: expect.stringMatching(/^pod-1#/) });
    expect(isSameLease(before, after)).toBe(false);
    await write(two, after!);
    await expect(write(one, before)).rejects.toMatchObject(lost);
    expect([await first.renew(), await first.acquire(), first.current()]).toEqual([
      false,
      undefined,
      undefined,
    ]);
    await first.release();
    expect(await second.renew()).toBe(true);
    await write(two, after!);
  });
});

describe('takeovers', () => {
  test('every write under an older token precedes every write under a newer one', async () => {
    await sql`truncate lease_log`.execute(admin.kysely);
    let refusals = 0;
    let takeovers = 0;
    const wrote = new Map<number, string>();
    // A slow server gets the time it needs for a meaningful number of takeovers.
    const atMost = Date.now() + 90_000;
    const isEnough = () => refusals > 10 && wrote.size > 50 && new Set(wrote.values()).size === 2;
    const shouldContinue = () => !isEnough() && Date.now() < atMost;
    const keep = async (database: Database, holder: string) => {
      const mine = keeper(database, holder, 4);
      while (shouldContinue()) {
        const lease = await mine.acquire();
        if (lease === undefined) continue;
        takeovers += 1;
        for (let n = 0; n < 4; n += 1) {
          // Sometimes the holder is slow and learns of the takeover only when it writes.
          if ((takeovers + n) % 3 === 0) await new Promise((resolve) => setTimeout(resolve, 6));
          const refused = await database.kysely
            .transaction()
            .execute(async (tx) => {
              await assertLease(tx, 'scanner_evm', lease);
              await sql`insert into lease_log (token, holder) values (${lease.fencingToken}, ${holder})`.execute(
                tx,
              );
              return false;
            })
            .catch((error: unknown) => {
              expect(error).toMatchObject(lost);
              return true;
            });
          if (refused) refusals += 1;
          else wrote.set(lease.fencingToken, holder);
        }
      }
    };
    await Promise.all([keep(one, 'a'), keep(two, 'b')]);
    const { rows } = await sql<{
      token: number;
      holder: string;
    }>`select token, holder from lease_log order by id`.execute(admin.kysely);
    const tokens = rows.map((row) => row.token);
    expect(tokens).toEqual(tokens.toSorted((a, b) => a - b));
    const holders = new Map<number, Set<string>>();
    for (const row of rows) holders.set(row.token, (holders.get(row.token) ?? new Set()).add(row.holder));
    expect([...holders.values()].every((set) => set.size === 1)).toBe(true);
    expect(new Set(rows.map((row) => row.holder)).size).toBe(2);
    expect(refusals).toBeGreaterThan(10);
    expect(holders.size).toBeGreaterThan(50);
  });

  test('a token that repeats after a lost change does not fence in its first holder', async () => {
    const a = keeper(one, 'a');
    const before = await a.acquire();
    // A failover lost the change to `a`; the new primary gave the same token to `b`.
    await sql`update scanner_evm.lease set holder = 'b'`.execute(admin.kysely);
    expect(before?.fencingToken).toBe(1);
    await expect(write(one, before!)).rejects.toMatchObject(lost);
    expect(await a.renew()).toBe(false);
    await write(two, { name: 'chain/ETH', fencingToken: 1, holder: 'b' });
  });

  test('one of many concurrent requests gets the lease', async () => {
    const asked = await Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        keeper(n % 2 === 0 ? one : two, `k${n}`, 60_000, 'chain/BSC').acquire(),
      ),
    );
    expect(asked.filter((lease) => lease !== undefined)).toMatchObject([
      { name: 'chain/BSC', fencingToken: 1 },
    ]);
    await expire();
    const again = await Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        keeper(n % 2 === 0 ? one : two, `k${n}`, 60_000, 'chain/BSC').acquire(),
      ),
    );
    expect(again.filter((lease) => lease !== undefined)).toMatchObject([
      { name: 'chain/BSC', fencingToken: 2 },
    ]);
  });

  test('the write of a holder that was paused past its lease is refused', async () => {
    const script = fileURLToPath(new URL('lease-holder.ts', import.meta.url));
    const child = spawn(
      process.execPath,
      ['--conditions=source', script, testDatabase.url('scanner_evm'), '500'],
      {
        stdio: ['pipe', 'pipe', 'inherit'],
      },
    );
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    const next = async () => (await lines.next()).value as string | undefined;
    try {
      expect(await next()).toBe('took 1');
      child.stdin.write('write\n');
      expect(await next()).toBe('written');
      child.kill('SIGSTOP');
      const successor = keeper(one, 'successor');
      let lease: Lease | undefined;
      while (lease === undefined) lease = await successor.acquire();
      expect(lease.fencingToken).toBe(2);
      child.kill('SIGCONT');
      child.stdin.write('write\n');
      expect(await next()).toBe('LEASE_LOST');
      child.stdin.write('renew\n');
      expect(await next()).toBe('renewed false');
      await write(one, lease);
      const { rows } = await sql`select payload from scanner_evm.outbox where routing_key = 'stale'`.execute(
        admin.kysely,
      );
      expect(rows).toEqual([{ payload: '1' }]);
    } finally {
      child.kill('SIGCONT');
      child.stdin.end();
      if (child.exitCode === null) await once(child, 'exit');
    }
  });
});

describe('presence', () => {
  test('a presence is announced at once, renewed, seen by the api, and withdrawn', async () => {
    const api = testDatabase.open('api');
    const errors: unknown[] = [];
    const options = {
      db: one.kysely,
      schema: 'scanner_evm',
      intervalMs: 20,
      ttlMs: 600_000, // longer than a busy machine keeps a process waiting
      onError: (error: unknown) => errors.push(error),
    } as const;
    const a = announcePresence({ ...options, instance: 'a' });
    const b = announcePresence({ ...options, instance: 'b' });
    const present = () => listPresence(api.kysely, 'scanner_evm');
    await untilTrue(sql`select count(*) = 2 from scanner_evm.lease`);
    expect(await present()).toEqual(['a', 'b']);
    const { rows } = await sql<{ seen: Date }>`select max(expires_at) as seen from scanner_evm.lease`.execute(
      admin.kysely,
    );
    await untilTrue(sql`select min(expires_at) > ${rows[0]!.seen} from scanner_evm.lease`); // both renewed
    await a.stop();
    expect(await present()).toEqual(['b']);
    await b.stop();
    expect(await present()).toEqual([]);
    expect(errors).toEqual([]);
    await api.close();
  });

  test('a presence that is not renewed expires and is deleted a day later', async () => {
    const gone = announcePresence({
      db: one.kysely,
      schema: 'scanner_evm',
      instance: 'gone',
      intervalMs: 60_000,
      ttlMs: 50,
    });
    await untilTrue(sql`select count(*) = 1 from scanner_evm.lease`);
    await untilTrue(sql`select expires_at < now() from scanner_evm.lease`);
    expect(await listPresence(one.kysely, 'scanner_evm')).toEqual([]);
    await sql`update scanner_evm.lease set expires_at = now() - interval '25 hours'`.execute(admin.kysely);
    await keeper(one, 'a').acquire();
    const next = announcePresence({ db: one.kysely, schema: 'scanner_evm', instance: 'next' });
    await untilTrue(sql`select not exists (select from scanner_evm.lease where name = 'presence/gone')`);
    expect((await sql`select name from scanner_evm.lease order by 1`.execute(admin.kysely)).rows).toEqual([
      { name: 'chain/ETH' },
      { name: 'presence/next' },
    ]);
    await Promise.all([gone.stop(), next.stop()]);
  });

  test('a failed announcement is reported and the next one is made', async () => {
    const own = testDatabase.open('scanner_evm');
    const failed = Promise.withResolvers<unknown>();
    const presence = announcePresence({
      db: own.kysely,
      schema: 'tracker',
      instance: 'a',
      intervalMs: 5,
      onError: failed.resolve,
    });
    expect(await failed.promise).toMatchObject({ code: 'DATABASE_FORBIDDEN' });
    await presence.stop();
    await own.close();
  });
});

async function untilTrue(question: ReturnType<typeof sql>): Promise<void> {
  for (;;) {
    const { rows } = await question.execute(admin.kysely);
    const [row] = rows as Record<string, unknown>[];
    if (row !== undefined && Object.values(row)[0] === true) return;
  }
}
