import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { checkChain } from './check-tron-chain.ts';
import { createTronWorld, post, type RunningDriver, type TronWorld } from './tron-world.ts';
import type { OrderRow } from '@opentill/testkit/scenario';
import { waitUntil } from '@opentill/testkit/wait-until';

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

async function sent(): Promise<OrderRow> {
  const order = await world.payout();
  orders.push(order);
  await waitUntil('sent', async () => (await world.payoutOf(order)).sent);
  return order;
}

async function stayDownUntilExpired(): Promise<void> {
  const { control } = world.devnet;
  control.clearFaults();
  control.fault({ kind: 'status', status: 503 });
  await control.mine(EXPIRATION_SECONDS / SECONDS_PER_BLOCK + 10);
}

async function attempts(order: OrderRow): Promise<readonly string[]> {
  return (await world.attemptsOf(order)).map(({ state }) => state);
}

test('finds a mined payout when the node returns and does not sign it again', async () => {
  const order = await sent();
  expect(world.devnet.control.summary().pending).toBe(1);
  await stayDownUntilExpired();
  expect(await attempts(order)).toEqual(['OPEN']);
  world.devnet.control.clearFaults();
  await world.land([order]);
  expect(await attempts(order)).toEqual(['SETTLED']);
  expect(await checkChain(world, orders)).toEqual({ payouts: 1, wrong: [] });
});

test('signs again only after the scan has passed the expiry, and lands once', async () => {
  world.devnet.control.fault({ kind: 'swallow-broadcast' });
  const order = await sent();
  await stayDownUntilExpired();
  expect(await attempts(order)).toEqual(['OPEN']);
  world.devnet.control.clearFaults();
  await world.until('signed anew', order, ({ length }) => length === 2);
  const [dead] = await world.attemptsOf(order);
  expect(dead).toMatchObject({ state: 'DEAD', fate: null });
  expect(await post<object>(world.devnet.url, 'gettransactionbyid', { value: dead!.tx_hash })).toEqual({});
  await world.land([order]);
  expect(await attempts(order)).toEqual(['DEAD', 'SETTLED']);
  expect(await checkChain(world, orders)).toEqual({ payouts: 2, wrong: [] });
});
