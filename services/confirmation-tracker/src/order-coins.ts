import type { BaseUnits } from '@opentill/domain/money';
import { sharesOf } from '@opentill/domain/order-shares';
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
