import { formatAmount } from '@opentill/domain/money';
import {
  toTransactionView,
  type OrderToFormat,
  type TransactionContext,
  type TransferToFormat,
} from './format-order.ts';
import type { NotifyCollect } from './notify-collect.ts';
import { serializeCallbackData } from './signing/callback.ts';

/** docs/api.md section 6. Until the actual amount is known, the callback has the amount sent. */
export function toNotifyCollect(
  sweep: OrderToFormat,
  transaction: { readonly transfer: TransferToFormat; readonly context: TransactionContext } | null,
): NotifyCollect {
  return {
    collectAmount: formatAmount(sweep.actualAmount ?? sweep.amount, sweep.decimals, sweep.displayDecimals),
    fee: '0',
    feeRatio: '0',
    reason: sweep.reason,
    transaction:
      transaction === null ? null : toTransactionView(sweep, transaction.transfer, transaction.context),
  };
}

/** @throws GatewayError CALLBACK_DATA_NOT_PORTABLE */
export function notifyCollectText({ transaction, ...collect }: NotifyCollect): string {
  return serializeCallbackData({
    ...collect,
    transaction: transaction === null ? null : { ...transaction },
  });
}
