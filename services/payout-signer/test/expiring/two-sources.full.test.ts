import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { sql } from 'kysely';
import {
  createLyingTronProxy,
  type AskedOfTron,
  type LyingTronProxy,
} from '@opentill/testkit/lying-tron-proxy';
import type { OrderRow } from '@opentill/testkit/scenario';
import { withHeader, type BlockWithHeader } from '@opentill/testkit/tron-block-id';
import { waitUntil } from '@opentill/testkit/wait-until';
import { checkChain } from './check-tron-chain.ts';
import { createTronWorld, ONE_USDT, type RunningDriver, type TronWorld } from './tron-world.ts';

/*
 * Two sources are configured, and one of them lies to the signer, and to the scanner where they ask the same. It may hold
 * payouts up; it never has one paid twice or wrongly, none signed anew while the first can land, and no wallet halted.
 */

type Lie = (asked: AskedOfTron, honest: () => Promise<unknown>) => Promise<unknown>;
type Json = Readonly<Record<string, unknown>>;

let world: TronWorld;
let proxy: LyingTronProxy;
let driver: RunningDriver | undefined;
let lie: Lie | undefined;
let told = 0;
const orders: OrderRow[] = [];

beforeAll(async () => {
  world = await createTronWorld({}, {}, async (upstreamUrl) => {
    proxy = await createLyingTronProxy({
      upstreamUrl,
      seed: 1,
      async override(asked, honest) {
        const answer = await lie?.(asked, honest);
        if (answer !== undefined) told += 1;
        return answer;
      },
    });
    return [proxy.url, upstreamUrl];
  });
  driver = await world.start();
  await world.land([await payout()]);
});
afterEach(() => {
  lie = undefined;
  told = 0;
});
afterAll(async () => {
  await driver?.stop();
  await world.close();
  await proxy.close();
});

async function payout(): Promise<OrderRow> {
  const order = await world.payout();
  orders.push(order);
  return order;
}
const word = (value: bigint): string => value.toString(16).padStart(64, '0');

/** Changes what the node behind it says to a method. */
const of =
  (method: string, change: (truth: Json, body: Json) => unknown): Lie =>
  async (asked, honest) =>
    asked.method === method ? change((await honest()) as Json, asked.body) : undefined;
/** Says this to a method, and does not ask the node. */
const instead =
  (method: string, answer: (body: Json) => unknown): Lie =>
  (asked) =>
    Promise.resolve(asked.method === method ? answer(asked.body) : undefined);
const any =
  (...lies: readonly Lie[]): Lie =>
  async (asked, honest) => {
    for (const one of lies) {
      const answer = await one(asked, honest);
      if (answer !== undefined) return answer;
    }
    return undefined;
  };

const isBalanceCall = ({ data }: Json): boolean => String(data).startsWith('70a08231');
const energy = (energyUsed: number): Lie =>
  of('triggerconstantcontract', (truth, body) =>
    isBalanceCall(body) ? undefined : { ...truth, energy_used: energyUsed },
  );
/** Each payment that is tried would pass, for little. */
const passing: Lie = of('triggerconstantcontract', (_, body) =>
  isBalanceCall(body)
    ? undefined
    : { result: { result: true }, energy_used: 1_000, constant_result: [word(1n)] },
);
const price = (sun: number): Lie =>
  of('getchainparameters', ({ chainParameter }) => ({
    chainParameter: (chainParameter as readonly Json[]).map((one) =>
      one['key'] === 'getEnergyFee' ? { ...one, value: sun } : one,
    ),
  }));
const balances = (sun: number, tokens: bigint): Lie =>
  any(
    of('getaccount', (truth, { address }) => ({ ...truth, address, balance: sun })),
    of('triggerconstantcontract', (truth, body) =>
      isBalanceCall(body) ? { ...truth, constant_result: [word(tokens)] } : undefined,
    ),
  );
const refused = (code: string, message: string): Lie =>
  instead('broadcasthex', () => ({ code, message: Buffer.from(message).toString('hex') }));
const HOUR_MS = 3_600_000;
/** The newest block has this time more, wherever it is asked for. */
const ahead = (ms: number): Lie =>
  of('getblock', (truth, body) => {
    if (body['id_or_num'] !== undefined) return undefined;
    const block = truth as unknown as BlockWithHeader;
    return withHeader(block, { timestamp: Number(block.block_header.raw_data['timestamp']) + ms });
  });

async function attemptsOf(some: readonly OrderRow[]): Promise<readonly string[]> {
  const all = await Promise.all(some.map((order) => world.attemptsOf(order)));
  return all.flatMap((attempts) => attempts.map(({ state }) => state));
}

/** Nothing is settled by a lie: no halt, no transaction that failed, nothing paid otherwise than asked. */
async function nothingWrong(): Promise<void> {
  const { rows } = await sql<{ halts: number; failed: number }>`
    select (select count(*)::int from wallet_halt) as halts,
      (select count(*)::int from own_transaction_fate where not succeeded) as failed`.execute(world.admin);
  expect(rows).toEqual([{ halts: 0, failed: 0 }]);
  expect(await checkChain(world, orders)).toEqual({ payouts: orders.length, wrong: [] });
  expect(driver?.failures).toEqual([]);
}

test.each<readonly [string, Lie]>([
  ['of an energy that is too little', energy(1_000)],
  ['of a price of energy that is too low', price(1)],
  ['that all would pass for little', passing],
  ['of riches', balances(9_000_000_000_000_000, 10n ** 30n)],
  ['that it took what it did not', instead('broadcasthex', () => ({ result: true, code: 'SUCCESS' }))],
  ['that it has all that it is sent', refused('DUP_TRANSACTION_ERROR', 'Dup transaction.')],
  ['that all that it is sent has expired', refused('TRANSACTION_EXPIRATION_ERROR', 'Transaction expired')],
  ['that it does not know the reference', refused('TAPOS_ERROR', 'Tapos check error')],
  ['that all that it is sent is wrong', refused('SIGERROR', 'Validate signature error')],
])('payouts land by one attempt each while a source lies %s', async (_what, given) => {
  lie = given;
  const two = [await payout(), await payout()];
  await world.land(two, 45_000);
  expect(told).toBeGreaterThan(0);
  lie = undefined;
  expect(await attemptsOf(two)).toEqual(['SETTLED', 'SETTLED']);
  await nothingWrong();
});

test.each<readonly [string, Lie]>([
  ['of a price of energy above the cap', price(1_000_000)],
  ['of an empty wallet', balances(0, 0n)],
  [
    'of failures of all that blocks have',
    of('gettransactioninfobyid', (truth) =>
      'id' in truth ? { ...truth, result: 'FAILED', receipt: { result: 'REVERT' }, log: [] } : truth,
    ),
  ],
  // What became of it two must say; meanwhile it is in a block, and never signed anew.
  ['that no block has any transaction', instead('gettransactioninfobyid', () => ({}))],
  ['of a newest block an hour ahead', ahead(HOUR_MS)],
  ['of a newest block an hour behind', ahead(-HOUR_MS)],
])('payouts wait or land while a source lies %s, and land when it stops', async (_what, given) => {
  lie = given;
  const two = [await payout(), await payout()];
  await waitUntil(
    'asked often enough, over many blocks',
    async () => {
      await world.devnet.control.mine();
      const states = await attemptsOf(two);
      return told >= 20 || (states.length === 2 && states.every((state) => state === 'SETTLED'));
    },
    30_000,
  );
  expect(told).toBeGreaterThan(0);
  lie = undefined;
  await world.land(two, 60_000);
  await nothingWrong();
});

test('the end of time that one source tells of has nothing signed anew: not while the other one can have the first in a block', async () => {
  // It takes nothing, and its newest blocks, head and solid, are of after every expiry.
  lie = any(
    instead('broadcasthex', () => ({ result: true, code: 'SUCCESS' })),
    ahead(HOUR_MS),
    instead('gettransactioninfobyid', () => ({})),
  );
  // The other one takes it as well, and keeps it to itself.
  world.devnet.control.fault({ kind: 'swallow-broadcast' });
  driver = await restarted();
  const order = await payout();
  await waitUntil('told of often', () => told >= 30, 30_000);
  expect((await attemptsOf([order])).length).toBeLessThanOrEqual(1);
  expect(await attemptsOf([order])).not.toContain('DEAD');
  world.devnet.control.clearFaults();
  lie = undefined;
  await world.land([order], 60_000);
  await nothingWrong();
});

test('riches that are told of do not have signed what the wallet does not hold', async () => {
  await sql`select book_top_up('TRON_TEST:riches:USDT', 'TRON_TEST', 'USDT', ${10_000_000n * ONE_USDT})`.execute(
    world.admin,
  );
  lie = any(passing, balances(9_000_000_000_000_000, 10n ** 30n));
  const order = await world.payout({ amount: 9_000_000n * ONE_USDT });
  await waitUntil('hindered', async () => (await world.payoutOf(order)).obstacle !== null, 20_000);
  await waitUntil('asked often enough', async () => {
    await world.mine();
    return told >= 10;
  });
  expect(['NO_TOKENS', 'WOULD_FAIL']).toContain((await world.payoutOf(order)).obstacle);
  expect(await attemptsOf([order])).toEqual([]);
});

async function restarted(): Promise<RunningDriver> {
  await driver?.stop();
  return world.start();
}
