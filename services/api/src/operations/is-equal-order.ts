import type { OrderType } from '@opentill/contracts/notify-order';
import type { Family } from '@opentill/domain/chains';
import { parseAmount } from '@opentill/domain/money';
import type { OrderFields } from '../order-fields.ts';
import type { CreatedOrder } from '../store/create-orders.ts';

/**
 * Compares a request with an existing order by parsed values, not bytes (docs/api.md section 4). It uses no current
 * configuration, so that a request stays repeatable when its token or limits change.
 */
export function isEqualOrder(
  existing: CreatedOrder,
  request: OrderFields & { readonly orderType: OrderType; readonly receiveAddress?: string },
  parseAddress: (family: Family, text: string) => string | undefined,
): boolean {
  const amount = parseAmount(request.amount, existing.decimals);
  return (
    existing.orderType === request.orderType &&
    amount.ok &&
    amount.value === existing.amount &&
    existing.symbol.toUpperCase() === request.symbol.toUpperCase() &&
    existing.chain === request.chain &&
    existing.uid === request.uid &&
    (request.receiveAddress === undefined ||
      existing.address === parseAddress(existing.family, request.receiveAddress))
  );
}
