import { afterEach, beforeEach, expect, test } from 'vitest';
import { sql } from 'kysely';
import { evmFamily } from '@opentill/chain-evm/family';
import { openDatabase } from '@opentill/db/database';
import { newId } from '@opentill/runtime/ids';
import { planRound } from '../../src/sweeps/plan-round.ts';
import { nonceSweepChain } from '../../src/sweeps/sweep-chain.ts';
import { createSweepStore } from '../../src/sweeps/store/create-store.ts';
import { CHAIN } from '../nonce/signer-world.ts';
import { findSweepProblems } from './check-sweeps.ts';
import { sweepTermsOf } from './sweep-policy.ts';
import { createSweepWorld, type SweepWorld } from './sweep-world.ts';

// Two planners that both consider themselves leader read the same addresses at once. The negative control shows that
// the checks of sweep-kills.full.test.ts detect a duplicate fee.

const USDT = 1_000_000n;

let world: SweepWorld;
beforeEach(async () => {
  world = await createSweepWorld();
});
afterEach(async () => {
  await world.close();
});

/** No other test requests its lease. */
async function startPlanner(name: string) {
  const { signer, admin } = world;
  const { network } = signer;
  const db = openDatabase({ url: signer.database.url('signer'), applicationName: name, poolMax: 2 });
  await sql`insert into signer.lease (name, holder, fencing_token, expires_at)
    values (${`sweeps/${name}`}, ${name}, 1, now() + interval '1 hour')`.execute(admin);
  const nothing = () => undefined;
  const deps = {
    network,
    codec: evmFamily.addressCodec,
    wallet: signer.wallet,
    policy: sweepTermsOf(network),
    gasReserveBaseUnits: 0n,
    energyWaitMs: 0,
    store: createSweepStore(db.kysely, CHAIN, { newId, nativeSymbol: 'ETH' }),
    chain: nonceSweepChain(signer.newSender()),
    isDepositAddress: () => true,
    observe: { planned: nothing, stepped: nothing, ordered: nothing },
    readClocks: () => Promise.resolve(undefined),
    onMovement: nothing,
  };
  return {
    plan: () =>
      planRound(
        deps,
        { after: undefined },
        { name: `sweeps/${name}`, fencingToken: 1, holder: name },
        new AbortController().signal,
      ),
    close: () => db.close(),
  };
}

async function planTwice(): Promise<readonly string[]> {
  const orders = await world.paidMany([5n * USDT, 6n * USDT, 7n * USDT, 8n * USDT]);
  const planners = await Promise.all(['one', 'other'].map(startPlanner));
  await Promise.allSettled(planners.map((planner) => planner.plan()));
  for (const planner of planners) await planner.close();
  const signer = await world.start();
  await world.mineUntil(
    'all is swept',
    async () => {
      const { rows } = await sql`
        select from deposit_balance where received > swept union all select from sweep where state = 'OPEN'`.execute(
        world.admin,
      );
      return rows.length === 0;
    },
    60_000,
  );
  await signer.stop();
  return findSweepProblems(world, orders);
}

test('two concurrent planners send each fee once', async () => {
  expect(await planTwice()).toEqual([]);
});

test('finds a duplicate fee when an address may have two open sweeps', async () => {
  await sql`drop index sweep_one_open`.execute(world.admin);
  expect(await planTwice()).toContainEqual(expect.stringMatching(/2 fees were brought for 1 sweeps/));
});
