import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { MIGRATIONS } from '@opentill/db/migrations';
import { devAccount } from '@opentill/devnets/evm/accounts';
import { waitUntil } from '@opentill/testkit/wait-until';
import { sql } from 'kysely';
import { prepareCompose, type ComposeUnderTest } from '../src/compose-under-test.ts';
import {
  reachGateway,
  untilFunded,
  untilHealthy,
  type GatewayInContainers,
} from '../src/gateway-in-containers.ts';
import { CHECKOUT } from '../src/read-markdown.ts';
import { BUILD_LIMIT_MS, TEST_LIMIT_MS, WAIT_MS } from '../src/time-limits.ts';

// An upgrade by an operator while payments run: starts the version before the newest migration, migrates the schema, and
// replaces one service after another.

/** Order of replacement. Old and new services must work together in every state. */
const SERVICES = [
  'webhook-sender',
  'confirmation-tracker',
  'scanner-evm',
  'scanner-tron',
  'scanner-sui',
  'payout-signer',
  'rates',
  'api',
  'ops',
] as const;
const PAYMENT_PAUSE_MS = 500;
const PAYMENTS_IN_EACH = 4;

let before: string | undefined;
let migrationsBefore: readonly string[];
let old: ComposeUnderTest;
let now: ComposeUnderTest;
let gateway: GatewayInContainers;

const SCHEMA = 'libs/db/schema';
/** The commit to upgrade from, if it is not the one that findCommitBefore() finds, such as a release. */
const FROM = process.env['OPENTILL_TEST_UPGRADE_FROM'];
/** The first schema from which an upgrade exists. */
const FIRST_TO_UPGRADE = `${SCHEMA}/0001-baseline`;

const git = (...args: string[]) =>
  execFileSync('git', ['-C', CHECKOUT, ...args], { encoding: 'utf8', stdio: 'pipe' }).trim();

/**
 * Returns the last commit without the newest migration whose other migrations are those of today, or the first from
 * which an upgrade exists. Migrations may change until they land, and then the upgrade is refused.
 */
function findCommitBefore(): string {
  try {
    const firstWith = (path: string) =>
      git('log', '--diff-filter=A', '--format=%H', '--reverse', '--', path).split('\n')[0] ?? '';
    const isUnchangedSince = (commit: string) =>
      git('diff', '--name-only', '--diff-filter=MDR', commit, '--', SCHEMA) === '';
    for (const { name } of MIGRATIONS.toReversed()) {
      const added = firstWith(`${SCHEMA}/${name}*`); // '' if the migration is not committed
      const commit = git('rev-parse', '--verify', added === '' ? 'HEAD' : `${added}^`);
      if (git('ls-tree', '--name-only', commit, FIRST_TO_UPGRADE) === '') break;
      if (isUnchangedSince(commit)) return commit;
    }
    return firstWith(FIRST_TO_UPGRADE);
  } catch (cause) {
    throw new Error(
      'This test upgrades from an earlier commit, so it needs a checkout with its git history.',
      {
        cause,
      },
    );
  }
}

function migrationsAt(commit: string): readonly string[] {
  const entries = git('ls-tree', '--name-only', commit, `${SCHEMA}/`).split('\n');
  return entries.map((path) => basename(path, '.sql')).toSorted();
}

function extract(commit: string, directory: string): void {
  const script = 'git -C "$1" archive "$2" | tar -x -C "$3"';
  execFileSync('sh', ['-c', script, 'sh', CHECKOUT, commit, directory]);
}

beforeAll(async () => {
  const commit = FROM ?? findCommitBefore();
  migrationsBefore = migrationsAt(commit);
  before = mkdtempSync(join(tmpdir(), 'opentill-before-'));
  extract(commit, before);
  console.info(`from ${commit} to ${MIGRATIONS.at(-1)?.name}`);
  old = await prepareCompose({ checkout: before, imageTag: 'before' });
  await old.compose(['build'], [], BUILD_LIMIT_MS);
  await old.compose(['up', '-d', '--no-build']);
  await untilHealthy(old, SERVICES);
  await untilFunded(old);
  gateway = await reachGateway(old);
  now = await old.moveTo({ checkout: CHECKOUT, imageTag: 'latest' });
  await now.compose(['build'], [], BUILD_LIMIT_MS);
}, 2 * BUILD_LIMIT_MS);

afterAll(async () => {
  await gateway?.close();
  await (now ?? old)?.remove();
  if (before !== undefined) rmSync(before, { recursive: true, force: true });
});

test(
  'upgrades one service after another while payments run, without losing any',
  async () => {
    const orderIds: string[] = [];
    const receiver = devAccount(6).address;
    const [first] = gateway.evm;
    if (first === undefined) throw new Error('no chain');
    const chains = [...gateway.evm, gateway.tron, gateway.sui];
    const balanceBefore = await first.balance('USDT', receiver);
    let [payouts, stopped] = [0, false];
    const pay = async () => {
      for (let place = 0; !stopped; place += 1) {
        const chain: (typeof chains)[number] = chains[place % chains.length] ?? first;
        const orderId = `upgraded-${place}`;
        await chain.pay({ to: await gateway.order(orderId, chain), amount: '10' });
        orderIds.push(orderId);
        if (chain === first) {
          await gateway.payOut(`out-${place}`, first, { receiveAddress: receiver, amount: '1' });
          orderIds.push(`out-${place}`);
          payouts += 1;
        }
        await pause(PAYMENT_PAUSE_MS);
      }
    };
    const somePayments = async (when: string) => {
      const until = orderIds.length + PAYMENTS_IN_EACH;
      await waitUntil(`payments ${when}`, () => orderIds.length >= until, WAIT_MS);
      const orderId = orderIds.at(-2) ?? '';
      await gateway.untilStatus(orderId, 'SUCCESS'); // with the services of this state
    };
    const appliedMigrations = async () => {
      const { kysely: db } = gateway.database();
      const { rows } = await sql<{ name: string }>`select name from schema_migration order by name`.execute(
        db,
      );
      return rows.map(({ name }) => name);
    };
    const imagesOf = async () =>
      Promise.all(SERVICES.map(async (service) => (await now.inspect(service)).Config.Image.split(':')[1]));
    const upgrade = async () => {
      await somePayments('before');
      expect(await appliedMigrations()).toEqual(migrationsBefore);
      await now.compose(['up', '-d', '--no-build', '--no-deps', '--force-recreate', 'setup']);
      const setup = async () => (await now.inspect('setup')).State;
      await waitUntil('setup has ended', async () => (await setup()).Status === 'exited', WAIT_MS);
      expect((await setup()).ExitCode).toBe(0);
      expect(await appliedMigrations()).toEqual(MIGRATIONS.map(({ name }) => name));
      expect(await imagesOf()).toEqual(SERVICES.map(() => 'before'));
      await somePayments('by old services on the new schema');
      for (const [place, service] of SERVICES.entries()) {
        await now.compose(['up', '-d', '--no-build', '--no-deps', service]);
        await untilHealthy(now, [service]);
        expect(await imagesOf()).toEqual(SERVICES.map((_, i) => (i <= place ? 'latest' : 'before')));
        await somePayments(`with the new ${service}`);
      }
    };
    const paying = pay();
    try {
      await Promise.race([upgrade(), paying]);
    } finally {
      stopped = true;
      await paying;
    }
    for (const orderId of orderIds) await gateway.untilStatus(orderId, 'SUCCESS');
    for (const orderId of orderIds) {
      const successes = (await gateway.callbacksOf(orderId)).filter(
        ({ notifyType }) => notifyType === 'ORDER_SUCCESS',
      );
      expect([orderId, successes.length]).toEqual([orderId, 1]);
    }
    expect((await first.balance('USDT', receiver)) - balanceBefore).toBe(
      first.baseUnits('USDT', `${payouts}`),
    );
    expect(await gateway.findProblems()).toEqual([]);
    console.info(`${orderIds.length} payments, ${payouts} of them out`);
  },
  TEST_LIMIT_MS,
);
