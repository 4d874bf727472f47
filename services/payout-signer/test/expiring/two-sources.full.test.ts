import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { sql } from 'kysely';
import {
  createByzantineTronProxy,
  type AskedOfTron,
  type ByzantineTronProxy,
} from '@opentill/testkit/byzantine-tron-proxy';
import type { OrderRow } from '@opentill/testkit/scenario';
import { withHeader, type BlockWithHeader } from '@opentill/testkit/tron-block-id';
import { waitUntil } from '@opentill/testkit/wait-until';
import { checkChain } from './check-tron-chain.ts';
import { createTronWorld, ONE_USDT, type RunningDriver, type TronWorld } from './tron-world.ts';

// Wrong answers of one source may delay payouts, but never cause a double or wrong payment, or a halt.

type Tampering = (asked: AskedOfTron, honest: () => Promise<unknown>) => Promise<unknown>;
type Json = Readonly<Record<string, unknown>>;

let world: TronWorld;
let proxy: ByzantineTronProxy;
let driver: RunningDriver | undefined;
let tampering: Tampering | undefined;
let wrongAnswers = 0;
const orders: OrderRow[] = [];

beforeAll(async () => {
  world = await createTronWorld({}, {}, async (upstreamUrl) => {
    proxy = await createByzantineTronProxy({
      upstreamUrl,
      seed: 1,
      async override(asked, honest) {
        const answer = await tampering?.(asked, honest);
        if (answer !== undefined) wrongAnswers += 1;
        return answer;
      },
    });
    return [proxy.url, upstreamUrl];
  });
  driver = await world.start();
  await world.land([await payout()]);
});
afterEach(() => {
  tampering = undefined;
  wrongAnswers = 0;
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

const of =
  (method: string, change: (truth: Json, body: Json) => unknown): Tampering =>
  async (asked, honest) =>
    asked.method === method ? change((await honest()) as Json, asked.body) : undefined;
const instead =
  (method: string, answer: (body: Json) => unknown): Tampering =>
  (asked) =>
    Promise.resolve(asked.method === method ? answer(asked.body) : undefined);
const any =
  (...tamperings: readonly Tampering[]): Tampering =>
  async (asked, honest) => {
    for (const one of tamperings) {
      const answer = await one(asked, honest);
      if (answer !== undefined) return answer;
    }
    return undefined;
  };

const isBalanceCall = ({ data }: Json): boolean => String(data).startsWith('70a08231');
const energy = (energyUsed: number): Tampering =>
  of('triggerconstantcontract', (truth, body) =>
    isBalanceCall(body) ? undefined : { ...truth, energy_used: energyUsed },
  );
const passing: Tampering = of('triggerconstantcontract', (_, body) =>
  isBalanceCall(body)
    ? undefined
    : { result: { result: true }, energy_used: 1_000, constant_result: [word(1n)] },
);
const price = (sun: number): Tampering =>
  of('getchainparameters', ({ chainParameter }) => ({
    chainParameter: (chainParameter as readonly Json[]).map((one) =>
      one['key'] === 'getEnergyFee' ? { ...one, value: sun } : one,
    ),
  }));
const balances = (sun: number, tokens: bigint): Tampering =>
  any(
    of('getaccount', (truth, { address }) => ({ ...truth, address, balance: sun })),
    of('triggerconstantcontract', (truth, body) =>
      isBalanceCall(body) ? { ...truth, constant_result: [word(tokens)] } : undefined,
    ),
  );
const refused = (code: string, message: string): Tampering =>
  instead('broadcasthex', () => ({ code, message: Buffer.from(message).toString('hex') }));
const HOUR_MS = 3_600_000;
const ahead = (ms: number): Tampering =>
  of('getblock', (truth, body) => {
    if (body['id_or_num'] !== undefined) return undefined;
    const block = truth as unknown as BlockWithHeader;
    return withHeader(block, { timestamp: Number(block.block_header.raw_data['timestamp']) + ms });
  });

async function attemptsOf(some: readonly OrderRow[]): Promise<readonly string[]> {
  const all = await Promise.all(some.map((order) => world.attemptsOf(order)));
  return all.flatMap((attempts) => attempts.map(({ state }) => state));
}

async function expectNoHarm(): Promise<void> {
  const { rows } = await sql<{ halts: number; failed: number }>`
    select (select count(*)::int from wallet_halt) as halts,
      (select count(*)::int from own_transaction_fate where not succeeded) as failed`.execute(world.admin);
  expect(rows).toEqual([{ halts: 0, failed: 0 }]);
  expect(await checkChain(world, orders)).toEqual({ payouts: orders.length, wrong: [] });
  expect(driver?.failures).toEqual([]);
}

test.each<readonly [string, Tampering]>([
  ['reports too little energy', energy(1_000)],
  ['reports too low an energy price', price(1)],
  ['accepts every simulation at low cost', passing],
  ['overstates the balances', balances(9_000_000_000_000_000, 10n ** 30n)],
  ['claims to accept what it drops', instead('broadcasthex', () => ({ result: true, code: 'SUCCESS' }))],
  ['calls every transaction a duplicate', refused('DUP_TRANSACTION_ERROR', 'Dup transaction.')],
  ['calls every transaction expired', refused('TRANSACTION_EXPIRATION_ERROR', 'Transaction expired')],
  ['rejects the reference block', refused('TAPOS_ERROR', 'Tapos check error')],
  ['rejects every signature', refused('SIGERROR', 'Validate signature error')],
])('lands payouts with one attempt each while a source %s', async (_what, given) => {
  tampering = given;
  const two = [await payout(), await payout()];
  await world.land(two);
  expect(wrongAnswers).toBeGreaterThan(0);
  tampering = undefined;
  expect(await attemptsOf(two)).toEqual(['SETTLED', 'SETTLED']);
  await expectNoHarm();
});

test.each<readonly [string, Tampering]>([
  ['reports an energy price above the cap', price(1_000_000)],
  ['reports an empty wallet', balances(0, 0n)],
  [
    'reports that every transaction failed',
    of('gettransactioninfobyid', (truth) =>
      'id' in truth ? { ...truth, result: 'FAILED', receipt: { result: 'REVERT' }, log: [] } : truth,
    ),
  ],
  // The outcome needs two sources. Until then it counts as mined and is never signed again.
  ['omits all transactions', instead('gettransactioninfobyid', () => ({}))],
  ['reports a newest block an hour ahead', ahead(HOUR_MS)],
  ['reports a newest block an hour behind', ahead(-HOUR_MS)],
])('delays payouts at most while a source %s, and lands them when it stops', async (_what, given) => {
  tampering = given;
  const two = [await payout(), await payout()];
  await waitUntil(
    'asked often enough, over many blocks',
    async () => {
      await world.devnet.control.mine();
      const states = await attemptsOf(two);
      return wrongAnswers >= 20 || (states.length === 2 && states.every((state) => state === 'SETTLED'));
    },
    30_000,
  );
  expect(wrongAnswers).toBeGreaterThan(0);
  tampering = undefined;
  await world.land(two, 60_000);
  await expectNoHarm();
});

test('does not sign again when only one source reports expiry', async () => {
  tampering = any(
    instead('broadcasthex', () => ({ result: true, code: 'SUCCESS' })),
    ahead(HOUR_MS),
    instead('gettransactioninfobyid', () => ({})),
  );
  world.devnet.control.fault({ kind: 'swallow-broadcast' });
  driver = await restarted();
  const order = await payout();
  await waitUntil('wrong answers are requested often', () => wrongAnswers >= 30);
  expect((await attemptsOf([order])).length).toBeLessThanOrEqual(1);
  expect(await attemptsOf([order])).not.toContain('DEAD');
  world.devnet.control.clearFaults();
  tampering = undefined;
  await world.land([order], 60_000);
  await expectNoHarm();
});

test('does not overdraw when one source overstates the balance', async () => {
  await sql`select book_top_up('TRON_TEST:riches:USDT', 'TRON_TEST', 'USDT', ${10_000_000n * ONE_USDT})`.execute(
    world.admin,
  );
  tampering = any(passing, balances(9_000_000_000_000_000, 10n ** 30n));
  const order = await world.payout({ amount: 9_000_000n * ONE_USDT });
  await waitUntil('an obstacle', async () => (await world.payoutOf(order)).obstacle !== null);
  await waitUntil('asked often enough', async () => {
    await world.mine();
    return wrongAnswers >= 10;
  });
  expect(['NO_TOKENS', 'WOULD_FAIL']).toContain((await world.payoutOf(order)).obstacle);
  expect(await attemptsOf([order])).toEqual([]);
});

async function restarted(): Promise<RunningDriver> {
  await driver?.stop();
  return world.start();
}
