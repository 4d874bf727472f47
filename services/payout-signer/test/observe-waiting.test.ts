import { expect, test } from 'vitest';
import { createMetrics } from '@opentill/runtime/metrics';
import { aReservedPayout, refuse } from '@opentill/testkit/payout-scenario';
import { openTestDatabase } from '@opentill/testkit/test-database';
import { observeWaiting } from '../src/wallet/observe-waiting.ts';

const { admin, open } = await openTestDatabase();
const signer = open('signer');

test('reports the age of the oldest payout that is not signed', async () => {
  const metrics = createMetrics('payout-signer', { ofProcess: false });
  observeWaiting(metrics, signer.kysely, ['ETH_SEPOLIA', 'BSC_TEST']);
  const age = async (chain: string) =>
    Number(
      new RegExp(`_oldest_unsigned_seconds{chain="${chain}",.*} (.+)`).exec(await metrics.render())?.[1],
    );
  expect(await age('ETH_SEPOLIA')).toBe(0);
  const old = await aReservedPayout(admin.kysely);
  await aReservedPayout(admin.kysely);
  await admin.kysely
    .updateTable('payout')
    .set({ requested_at: new Date(Date.now() - 3_600_000) })
    .where('order_pk', '=', old.order_pk)
    .execute();
  expect(await age('ETH_SEPOLIA')).toBeGreaterThan(3_590);
  expect(await age('BSC_TEST')).toBe(0);
  await refuse(admin.kysely, old, 'denied');
  expect(await age('ETH_SEPOLIA')).toBeLessThan(3_000);
});
