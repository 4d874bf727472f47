import { afterAll, beforeAll, expect, test } from 'vitest';
import { sql } from 'kysely';
import { queueName } from '@opentill/contracts/topology';
import { createTestBroker, type TestBroker } from '@opentill/testkit/test-broker';
import { waitUntil } from '@opentill/testkit/wait-until';
import { PATIENCE_MS } from '../quick-timing.ts';
import { prepareEnvironment, startProcess, type SignerProcess } from '../nonce/signer-process.ts';
import { createTronWorld, PASSPHRASE, type TronWorld } from './tron-world.ts';

let world: TronWorld;
let rabbit: TestBroker;
let signer: SignerProcess | undefined;
beforeAll(async () => {
  [world, rabbit] = await Promise.all([createTronWorld(), createTestBroker()]);
});
afterAll(async () => {
  signer?.child.kill('SIGKILL');
  await signer?.ended;
  await rabbit.drop();
  await world.close();
});

test('the process pays on TRON what the broker tells it of, tells of it, and ends cleanly', async () => {
  const env = await prepareEnvironment(world, await rabbit.urlFor('payout-signer'));
  signer = await startProcess({ ...env, LOG_LEVEL: 'debug' });
  await waitUntil('ready', signer.isReady, 2 * PATIENCE_MS);
  const order = await world.payout();
  const event = {
    id: order.order_pk,
    type: 'payout.requested',
    version: 1,
    occurredAt: new Date().toISOString(),
    data: { orderPk: order.order_pk },
  };
  await rabbit.publish('payout.requested.tron', JSON.stringify(event));
  // Blocks come faster than a slow process signs: what it signs would be over before it is sent.
  await waitUntil('sent', async () => (await world.payoutOf(order)).sent, PATIENCE_MS);
  await world.land([order]);
  expect(await world.received(order)).toBe(order.amount);
  const queue = queueName('confirmation-tracker', 'payout.changed');
  await waitUntil('told', async () => (await rabbit.depth(queue)) > 0);
  const metrics = await (await fetch(`http://127.0.0.1:${signer.healthPort}/metrics`)).text();
  expect(metrics).toMatch(/opentill_signer_payouts_sent_total\{.*chain="TRON_TEST".*\} 1/);
  expect(metrics).toMatch(/opentill_signer_payout_alarm_bool\{.*kind="new-block-keys".*\} 0/);

  signer.child.kill('SIGTERM');
  expect(await signer.ended).toBe(0);
  // No key, no passphrase, no signed bytes: neither in the log nor in the metrics.
  const { rows } = await sql<{ raw: string }>`select encode(raw, 'hex') as raw from own_transaction`.execute(
    world.admin,
  );
  expect(rows).toHaveLength(1);
  for (const secret of [PASSPHRASE, world.walletKey, ...rows.map(({ raw }) => raw)]) {
    expect(signer.output()).not.toContain(secret);
    expect(metrics).not.toContain(secret);
  }
});
