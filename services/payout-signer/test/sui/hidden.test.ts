import { afterAll, beforeAll, expect, test } from 'vitest';
import { sql } from 'kysely';
import { waitUntil } from '@opentill/testkit/wait-until';
import { TIMEOUT_MS } from '../world/quick-timing.ts';
import { aSuiAddress, createSuiWorld, type RunningSigner, type SuiWorld } from './sui-world.ts';

let world: SuiWorld;
let signer: RunningSigner | undefined;
beforeAll(async () => {
  world = await createSuiWorld({}, { nodes: 2 });
});
afterAll(async () => {
  await signer?.stop();
  await world.close();
});

test('does not pay again when both nodes hide a payment past the end of its epoch', async () => {
  const address = aSuiAddress();
  const { checkpoint: fromCheckpoint } = world.devnet.control.summary();
  for (const node of [world.devnet.control, world.other!])
    node.fault({ kind: 'forge-without', fromCheckpoint, address });
  signer = await world.start();
  const order = await world.payout({ address });
  await waitUntil('it landed', async () => (await world.received(order)) > 0n, TIMEOUT_MS);
  const readLast = sql<{ tx_hash: string; last_epoch: number; why: string | null }>`
    select tx_hash, last_epoch, why_epochs_unproven(chain, reference_height, last_epoch) as why
    from payout_attempt where order_pk = ${order.order_pk}`;
  const last = (await readLast.execute(world.admin)).rows[0]!.last_epoch;
  for (let { epoch } = world.devnet.control.summary(); epoch <= last; epoch += 1) await world.passEpoch();
  // The signer handles expired attempts before it signs this payout.
  const next = await world.payout();
  await waitUntil('the next one is sent', async () => (await world.payoutOf(next)).sent, TIMEOUT_MS);
  expect(await world.attemptsOf(order)).toMatchObject([{ state: 'OPEN', fate: null }]);
  expect(await world.received(order)).toBe(order.amount);
  expect((await readLast.execute(world.admin)).rows[0]!.why).toBe(
    `the end of epoch ${last} is not known to be certified by its validators`,
  );
});
