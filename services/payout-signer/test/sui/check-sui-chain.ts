import type { OrderRow } from '@opentill/testkit/scenario';
import { SUI_TYPE, type SuiWorld } from './sui-world.ts';

/**
 * Reads every checkpoint of the chain with the SDK's client, without any code of the gateway, and counts what the wallet's own
 * transactions gave to whom. @returns how many payouts there were, and what is not as it must be: not paid, paid twice, paid
 * wrongly, to others
 */
export async function checkSuiChain(
  { devnet, client, wallet }: Pick<SuiWorld, 'devnet' | 'client' | 'wallet'>,
  orders: readonly OrderRow[],
): Promise<{ readonly payouts: number; readonly wrong: readonly string[] }> {
  const payments = new Map<string, bigint[]>();
  const { checkpoint: head } = devnet.control.summary();
  const paths = [
    'transactions.transaction.sender',
    'transactions.effects.status',
    'transactions.balance_changes',
  ];
  for (let number = 1; number <= head; number += 1) {
    const { response } = await client.ledgerService.getCheckpoint({
      readMask: { paths },
      checkpointId: { oneofKind: 'sequenceNumber', sequenceNumber: BigInt(number) },
    });
    for (const { transaction, effects, balanceChanges } of response.checkpoint?.transactions ?? []) {
      if (transaction?.sender !== wallet || effects?.status?.success !== true) continue;
      for (const { address, coinType, amount } of balanceChanges) {
        if (address === wallet) continue;
        const key = `${address} ${coinType}`;
        payments.set(key, [...(payments.get(key) ?? []), BigInt(amount ?? 0)]);
      }
    }
  }
  const wrong = orders.flatMap(({ address, contract_address: contract, amount, order_id: id }) => {
    const key = `${address} ${contract ?? SUI_TYPE}`;
    const paid = payments.get(key) ?? [];
    payments.delete(key);
    return paid.length === 1 && paid[0] === amount ? [] : [`${id}: ${paid.join(' and ') || 'nothing'}`];
  });
  for (const [key, amounts] of payments) wrong.push(`to nobody's order: ${key} ${amounts.join(' and ')}`);
  return { payouts: orders.length, wrong };
}
