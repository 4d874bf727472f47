import type { Chain } from '@opentill/domain/chains';
import type { TransferFact } from '@opentill/domain/collection-sums';
import { isDeepEnough } from '@opentill/domain/confirmations';
import type { BaseUnits } from '@opentill/domain/money';
import { sharesOf } from '@opentill/domain/order-shares';
import { agreedHeight } from './agreed-height.ts';
import type { LockedOrder, OrderCoin, TransferRow } from './store/order-rows.ts';

/** Undefined for a token or chain that the order does not accept. */
export function coinOf(
  { coins }: Pick<LockedOrder, 'coins'>,
  { chain, contractAddress }: Pick<TransferRow, 'chain' | 'contractAddress'>,
): OrderCoin | undefined {
  return coins.find((coin) => coin.chain === chain && coin.contractAddress === contractAddress);
}

/** Base units for an order of one coin, shares for an order with options. */
export function worthOf(amount: BaseUnits, { whole }: OrderCoin): BaseUnits {
  return whole === null ? amount : sharesOf(amount, whole);
}

/** The transfer is of a coin that the order accepts. `amount` is its worth. */
export function toFact(
  deps: { readonly verifiedDepths: ReadonlyMap<Chain, number> },
  order: Pick<LockedOrder, 'coins'>,
  transfer: TransferRow,
): TransferFact {
  const coin = coinOf(order, transfer);
  if (coin === undefined) throw new RangeError(`transfer ${transfer.transferId} is of another coin`);
  const height = agreedHeight(transfer, deps.verifiedDepths.get(transfer.chain));
  return {
    ...transfer,
    amount: worthOf(transfer.amount, coin),
    deepEnough: isDeepEnough(transfer, height, coin.confirmationsRequired),
  };
}
