import { toNotifyOrder, toTransactionView } from '@opentill/contracts/format-order';
import type { NotifyOrder } from '@opentill/contracts/notify-order';
import type { Chain } from '@opentill/domain/chains';
import { compareWithOrder } from '@opentill/domain/settle-transfer';
import type { ChainDisplay } from './display-forms.ts';
import type { LockedOrder, TransferRow } from './store/order-rows.ts';

/**
 * A transaction of another token or chain that an operator accepted is shown with its own token, or omitted if that
 * token is no longer configured.
 * @param seenHeight of the order's chain
 */
export function viewOf(
  { displayOf }: { readonly displayOf: (chain: Chain) => ChainDisplay },
  order: LockedOrder,
  transfer: TransferRow | undefined,
  seenHeight: number,
): NotifyOrder {
  if (transfer === undefined) return toNotifyOrder(order, null);
  if (compareWithOrder(order, transfer) === 'ORDERED')
    return toNotifyOrder(order, {
      transfer,
      context: { ...displayOf(order.chain), headHeight: seenHeight },
    });
  const { chain, symbol, contractAddress } = transfer;
  const display = displayOf(chain);
  const token = display.tokenOf(symbol);
  if (token === undefined) return toNotifyOrder(order, null);
  const { decimals, displayDecimals } = token;
  const shown = { ...order, chain, symbol, contractAddress, decimals, displayDecimals };
  const status = transfer.state === 'ORPHANED' ? ('FAILED' as const) : ('SUCCESS' as const);
  const context = { ...display, headHeight: transfer.seenHeight };
  return {
    ...toNotifyOrder(order, null),
    transaction: toTransactionView(shown, { ...transfer, status }, context),
  };
}
