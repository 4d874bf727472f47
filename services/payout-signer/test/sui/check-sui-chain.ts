import type { OrderRow } from '@opentill/testkit/scenario';
import { Payments } from '../world/compare-payments.ts';
import { SUI_TYPE, type SuiWorld } from './sui-world.ts';

/** Reads the chain without the gateway's code. `wrong`: unpaid, paid twice, wrong amount, foreign receiver. */
export async function checkSuiChain(
  { devnet, client, wallet }: Pick<SuiWorld, 'devnet' | 'client' | 'wallet'>,
  orders: readonly OrderRow[],
): Promise<{ readonly payouts: number; readonly wrong: readonly string[] }> {
  const payments = new Payments();
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
        payments.add(`${address} ${coinType}`, BigInt(amount ?? 0));
      }
    }
  }
  return payments.compare(
    orders,
    ({ address, contract_address: contract }) => `${address} ${contract ?? SUI_TYPE}`,
  );
}
