import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { checkChain } from './check-tron-chain.ts';
import { createTronWorld, post, type RunningDriver, type TronWorld } from './tron-world.ts';
import type { OrderRow } from '@opentill/testkit/scenario';
import { waitUntil } from '@opentill/testkit/wait-until';

/* The only node can't be reached while a payout's time goes by: nobody knows what became of it until it is back. */

const EXPIRATION_SECONDS = 60;
const SECONDS_PER_BLOCK = 3;

let world: TronWorld;
let driver: RunningDriver;
const orders: OrderRow[] = [];
beforeAll(async () => {
  world = await createTronWorld({ expirationSeconds: EXPIRATION_SECONDS });
  driver = await world.start();
});
afterEach(() => {
  world.devnet.control.clearFaults();
  expect(driver.failures).toEqual([]);
});
afterAll(() => world.close());

/** A payout that was sent. */
async function sent(): Promise<OrderRow> {
  const order = await world.payout();
  orders.push(order);
  await waitUntil('sent', async () => (await world.payoutOf(order)).sent, 10_000);
  return order;
}

/** No answer to anybody while the chain goes on until the payout's end, and everything up to there is solid. */
async function downUntilTheEnd(): Promise<void> {
  const { control } = world.devnet;
  control.clearFaults();
  control.fault({ kind: 'status', status: 503 });
  await control.mine(EXPIRATION_SECONDS / SECONDS_PER_BLOCK + 10);
}

async function attempts(order: OrderRow): Promise<readonly string[]> {
  return (await world.attemptsOf(order)).map(({ state }) => state);
}

test('what the node had taken, and a block has, is found when the node is back, and is not signed anew', async () => {
  const order = await sent();
  expect(world.devnet.control.summary().pending).toBe(1);
  await downUntilTheEnd();
  expect(await attempts(order)).toEqual(['OPEN']);
  world.devnet.control.clearFaults();
  await world.land([order], 30_000);
  expect(await attempts(order)).toEqual(['SETTLED']);
  expect(await checkChain(world, orders)).toEqual({ payouts: 1, wrong: [] });
});

test('what the node never passed on is signed anew only when the own scan has read the chain past its end, and lands once', async () => {
  world.devnet.control.fault({ kind: 'swallow-broadcast' });
  const order = await sent();
  await downUntilTheEnd();
  expect(await attempts(order)).toEqual(['OPEN']);
  world.devnet.control.clearFaults();
  await world.until('signed anew', order, ({ length }) => length === 2);
  const [dead] = await world.attemptsOf(order);
  expect(dead).toMatchObject({ state: 'DEAD', fate: null });
  expect(await post<object>(world.devnet.url, 'gettransactionbyid', { value: dead!.tx_hash })).toEqual({});
  await world.land([order], 30_000);
  expect(await attempts(order)).toEqual(['DEAD', 'SETTLED']);
  expect(await checkChain(world, orders)).toEqual({ payouts: 2, wrong: [] });
});
