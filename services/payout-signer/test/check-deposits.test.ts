import { expect, test } from 'vitest';
import type { Address } from '@opentill/chain/address-codec';
import { createMetrics } from '@opentill/runtime/metrics';
import { aCollection } from '@opentill/testkit/scenario';
import { openTestDatabase } from '@opentill/testkit/test-database';
import { waitUntil } from '@opentill/testkit/wait-until';
import { sql } from 'kysely';
import { startCheckingDeposits } from '../src/wallet/check-deposits.ts';

const { admin, open } = await openTestDatabase();
const signer = open('signer');

let lastIndex = -1;
async function anOrder(isOurs: boolean, createdAgo = '0 s') {
  const index = (lastIndex += 1);
  const address = `0x${(isOurs ? index + 1 : index + 0xbad_0000).toString(16).padStart(40, '0')}` as Address;
  const order = await admin.kysely.transaction().execute(async (tx) => {
    const created = await aCollection(tx, { address });
    await sql`update deposit_address set derivation_index = ${index}, created_at = now() - ${createdAgo}::interval
      where order_pk = ${created.order_pk}`.execute(tx);
    return created;
  });
  return { ...order, index };
}

test('alarms at once on a foreign address, and in the next round if it is backdated', async () => {
  const errors: object[] = [];
  const metrics = createMetrics('test');
  await anOrder(true);
  const before = await anOrder(false, '3 days');
  const check = startCheckingDeposits({
    db: signer.kysely,
    keys: { isDeposit: (_family, index, address) => BigInt(address) === BigInt(index + 1) },
    families: ['EVM'],
    logger: { error: (_message, fields) => errors.push(fields ?? {}), warn: () => undefined },
    metrics,
    timing: { everyMs: 20, settledSeconds: 0, restMs: 100 },
  });
  const isFound =
    ({ index }: { readonly index: number }) =>
    () =>
      Promise.resolve(errors.some((fields) => 'index' in fields && fields.index === index));
  try {
    await waitUntil('found in the first round', isFound(before));
    await anOrder(true);
    const fresh = await anOrder(false);
    await waitUntil('found when it is new', isFound(fresh));
    const backdated = await anOrder(false, '1 year');
    await waitUntil('found by a later round', isFound(backdated));

    const found = [before, fresh, backdated];
    expect(errors).toEqual(
      found.map(({ index, address, order_pk: orderPk }) => ({
        kind: 'foreign-deposit-address',
        family: 'EVM',
        address,
        index,
        orderPk,
      })),
    );
    const stored = async () => {
      const { rows } = await sql<{ address: string }>`
        select address from foreign_deposit_address order by derivation_index`.execute(admin.kysely);
      return rows;
    };
    await waitUntil('all are stored', async () => (await stored()).length === found.length);
    expect(await stored()).toEqual(found.map(({ address }) => ({ address })));
    const text = await metrics.render();
    expect(text).toMatch(/opentill_signer_foreign_deposit_addresses_count\{.*family="EVM".*\} 3/);
    expect(text).toContain(`address="${before.address}"`);
  } finally {
    await check.stop();
  }
});
