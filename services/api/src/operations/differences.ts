import type { OrderType } from '@opentill/contracts/notify-order';
import type { Family } from '@opentill/domain/chains';
import { parseAmount } from '@opentill/domain/money';
import { formatPrice } from '@opentill/domain/price';
import { isSameCoin, isSameSymbol, type AnyOrderFields, type CoinName } from '../order-fields.ts';
import type { CreatedOrder } from '../store/create-orders.ts';

export type OrderDifference =
  'orderType' | 'amount' | 'price' | 'symbol' | 'chain' | 'accept' | 'uid' | 'receiveAddress';

/**
 * Lists the fields in which a request differs from an existing order; none means that they are equal. Compares parsed
 * values, not bytes (docs/api.md section 4). It uses no current configuration, so that a request stays repeatable when
 * its token or limits change.
 */
export function differences(
  existing: CreatedOrder,
  request: AnyOrderFields & { readonly orderType: OrderType },
  parseAddress: (family: Family, text: string) => string | undefined,
): readonly OrderDifference[] {
  const amount = request.amount === null ? undefined : parseAmount(request.amount, existing.decimals);
  const { price = null, accept, coin } = request;
  const hasOptions = existing.options !== null;
  const isEqual: Readonly<Record<OrderDifference, boolean>> = {
    orderType: existing.orderType === request.orderType,
    // With a price the amount is computed, so only the price is compared.
    amount: amount === undefined || (amount.ok && amount.value === existing.amount),
    price:
      price === null
        ? existing.price === null
        : existing.price === formatPrice(price) && existing.currency === price.currency,
    symbol: coin === null || (!hasOptions && isSameSymbol(existing, coin)),
    chain: coin === null || (!hasOptions && existing.chain === coin.chain),
    accept:
      coin !== null ||
      coinsOf(existing).every((one) => accept?.some((other) => isSameCoin(one, other)) ?? true),
    uid: existing.uid === request.uid,
    receiveAddress:
      request.receiveAddress === undefined ||
      existing.address === parseAddress(existing.family, request.receiveAddress),
  };
  return (Object.keys(isEqual) as OrderDifference[]).filter((field) => !isEqual[field]);
}

/** A request with options may have made an order of one coin, when only one had a rate. */
function coinsOf(existing: CreatedOrder): readonly CoinName[] {
  return existing.options ?? [existing];
}
