import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { startColludingNodes, type ColludingNodes } from '@opentill/testkit/colluding-tron-nodes';
import { waitUntil } from '@opentill/testkit/wait-until';
import { TIMEOUT_MS } from '../world/quick-timing.ts';
import { aTronAddress, createTronWorld, ONE_TRX, type RunningDriver, type TronWorld } from './tron-world.ts';

let world: TronWorld;
let nodes: ColludingNodes;
let driver: RunningDriver | undefined;
let unproven: unknown[] = [];

beforeAll(async () => {
  world = await createTronWorld(
    { expirationSeconds: 30 },
    {},
    async (url) => (nodes = await startColludingNodes(url)).urls,
  );
});
afterEach(async () => {
  await driver?.stop();
  nodes.hidden.clear();
  unproven = [];
});
afterAll(async () => {
  await world.close();
  await nodes.close();
});

async function payUnseen() {
  driver = await world.start({
    sender: (sender) => ({
      ...sender,
      async broadcast(signed, options) {
        for (const { txHash } of signed) nodes.hidden.add(txHash);
        return sender.broadcast(signed, options);
      },
    }),
    observe: { unproven: (_key, _attempts, error) => void unproven.push(error) },
  });
  const order = await world.payout();
  await waitUntil('sent', async () => (await world.payoutOf(order)).sent, TIMEOUT_MS);
  // If headers kept their roots, the check would reject a block without transactions.
  if (nodes.omission === 'ROOT_KEPT') await world.devnet.control.fund(aTronAddress(), { trxSun: ONE_TRX });
  await world.passExpiry();
  await waitUntil(
    'a verdict',
    async () => unproven.length > 0 || (await world.attemptsOf(order)).some(({ state }) => state === 'DEAD'),
    TIMEOUT_MS,
  );
  expect(await world.received(order)).toBe(order.amount);
  return order;
}

test('does not pay again while two sources omit the same payment', async () => {
  const order = await payUnseen();
  expect(await world.attemptsOf(order)).toMatchObject([{ state: 'OPEN' }]);
  expect(unproven[0]).toMatchObject({ code: 'INCONSISTENT_ANSWER', message: /txTrieRoot/ });
  nodes.hidden.clear();
  await world.land([order]);
  expect(await world.attemptsOf(order)).toMatchObject([{ state: 'SETTLED' }]);
});

test('does not pay again when two sources forge headers', async () => {
  nodes.omission = 'FORGED_HEADERS';
  const order = await payUnseen();
  expect(await world.attemptsOf(order)).toMatchObject([{ state: 'OPEN' }]);
  expect(unproven[0]).toMatchObject({ code: 'INCONSISTENT_ANSWER', context: { signed: 0 } });
});
