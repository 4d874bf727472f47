import { expect } from 'vitest';
import { evmAddressCodec } from '@opentill/chain-evm/address';
import type { Db } from '@opentill/db/database';
import type { MerchantSettings } from '@opentill/db/merchants';
import { createDepositDeriver } from '@opentill/wallet/deposit-address-deriver';
import { COLLECTION, collectionData, TEST_PUBLIC_KEYS, type TestApi } from './test-api.ts';

const AT_ONCE = 16;

/** Creates `count` orders concurrently. Returns those whose address does not match their index of the seed. */
export async function findAddressProblems(
  db: Db,
  replicas: readonly TestApi[],
  merchant: MerchantSettings,
  orders: number,
): Promise<readonly object[]> {
  const answers: { orderId: string; address: string }[] = [];
  let left = orders;
  const worker = async (through: TestApi) => {
    while (left > 0) {
      left -= 1;
      const data = collectionData();
      let answer = await through.post(COLLECTION, data, { merchant });
      // Repeated as a merchant would after a 503: it is the same order, stored or not.
      while (answer.code === 503) answer = await through.post(COLLECTION, data, { merchant });
      expect(answer.code).toBe(200);
      answers.push(answer.data as { orderId: string; address: string });
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, (_, i) => worker(replicas[i % replicas.length]!)));
  expect(answers).toHaveLength(orders);
  expect(new Set(answers.map((answer) => answer.address)).size).toBe(orders);
  const rows = await db
    .selectFrom('deposit_address')
    .innerJoin('orders', 'orders.order_pk', 'deposit_address.order_pk')
    .select(['order_id', 'derivation_index'])
    .execute();
  const indexOf = new Map(rows.map((row) => [row.order_id, row.derivation_index]));
  const deriver = createDepositDeriver(TEST_PUBLIC_KEYS, [evmAddressCodec]);
  return answers.filter(
    ({ orderId, address }) =>
      evmAddressCodec.format(deriver.address('EVM', indexOf.get(orderId) ?? -1)) !== address,
  );
}
