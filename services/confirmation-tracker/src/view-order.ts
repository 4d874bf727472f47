import { toNotifyOrder, toTransactionView } from '@opentill/contracts/format-order';
import type { NotifyOrder } from '@opentill/contracts/notify-order';
import type { Chain } from '@opentill/domain/chains';
import type { ChainDisplay } from './display-forms.ts';
import { coinOf } from './order-coins.ts';
import type { LockedOrder, TransferRow } from './store/order-rows.ts';

/**
 * A transaction of another token or chain that an operator accepted is shown with its own token, or omitted if that
 * token is no longer configured.
 */
export function viewOf(
  { displayOf }: { readonly displayOf: (chain: Chain) => ChainDisplay },
  order: LockedOrder,
  transfer: TransferRow | undefined,
): NotifyOrder {
  const view = toNotifyOrder(order, null);
  if (transfer === undefined) return view;
  const { chain, symbol, contractAddress, seenHeight } = transfer;
  const display = displayOf(chain);
  const context = { ...display, headHeight: seenHeight };
  const coin = coinOf(order, transfer);
  if (coin !== undefined)
    return { ...view, transaction: toTransactionView({ ...order, ...coin }, transfer, context) };
  const token = display.tokenOf(symbol);
  if (token === undefined) return view;
  const { decimals, displayDecimals } = token;
  const shown = { ...order, chain, symbol, contractAddress, decimals, displayDecimals };
  const status = transfer.state === 'ORPHANED' ? ('FAILED' as const) : ('SUCCESS' as const);
  return { ...view, transaction: toTransactionView(shown, { ...transfer, status }, context) };
}
