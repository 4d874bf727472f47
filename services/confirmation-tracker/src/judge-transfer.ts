import type { LedgerEntry, Receipt } from '@opentill/domain/ledger';
import {
  compareWithOrder,
  settleBooking,
  type TransferBooking,
  type TransferFit,
  type TransferSettlement,
} from '@opentill/domain/settle-transfer';
import type { IncidentRow, LockedOrder, SettlementRow, TransferRow } from './store/order-rows.ts';

export interface Judged {
  readonly transfer: TransferRow;
  readonly fit: TransferFit;
  readonly booking: TransferBooking;
  readonly creditReverted: TransferSettlement['creditReverted'];
  readonly creditedAgain: boolean;
}

export function judge(order: LockedOrder, transfer: TransferRow, entries: LedgerEntry[]): Judged {
  const receipt = receiptOf(order, transfer);
  const fit = compareWithOrder(order.coins, transfer);
  const settlement = settleBooking(
    transfer.transferId,
    receipt,
    { state: transfer.state, fit, accepted: transfer.accepted },
    transfer.booking,
  );
  entries.push(...settlement.entries);
  const { booking, creditReverted, creditedAgain } = settlement;
  return { transfer, fit, booking, creditReverted, creditedAgain };
}

export function receiptOf(
  order: LockedOrder,
  received: Pick<Receipt, 'chain' | 'symbol' | 'amount'>,
): Receipt {
  const { chain, symbol, amount } = received;
  return { orderPk: order.orderPk, merchantId: order.merchantId, chain, symbol, amount };
}

export function changedSettlement(order: LockedOrder, { transfer, booking }: Judged): SettlementRow[] {
  const row = {
    transferId: transfer.transferId,
    bookedAmount: booking.booked?.amount ?? null,
    bookedSymbol: booking.booked?.symbol ?? null,
    bookings: booking.bookings,
  };
  // The version stays unsettled, so that the sweep settles it for the order that received it.
  if (transfer.wentElsewhere)
    return [{ ...row, settledVersion: transfer.settledVersion ?? 0, orderPk: null, credited: false }];
  const held = transfer.booking;
  const same =
    transfer.settledVersion === transfer.version &&
    held.bookings === booking.bookings &&
    (held.booked === null) === (booking.booked === null) &&
    held.credited === booking.credited;
  if (same) return [];
  return [{ ...row, settledVersion: transfer.version, orderPk: order.orderPk, credited: booking.credited }];
}

export function incidentOf(
  deps: { readonly newId: () => string },
  order: LockedOrder,
  one: Judged,
): IncidentRow[] {
  const { transfer, booking, creditReverted, creditedAgain } = one;
  if (creditReverted === null) return [];
  return [
    {
      incidentId: deps.newId(),
      holdId: deps.newId(),
      kind: 'CREDITED_TRANSFER_ORPHANED',
      transferId: transfer.transferId,
      chain: transfer.chain,
      symbol: creditReverted.symbol,
      holdReason: 'a reorganisation orphaned a credited transfer',
      details: {
        orderId: order.orderId,
        merchantId: order.merchantId,
        txHash: transfer.txHash,
        amountBaseUnits: creditReverted.amount.toString(),
        blockHeight: transfer.blockHeight,
        transferState: transfer.state,
        booking: creditReverted.booking,
        ...(creditedAgain && { creditedAgainBooking: booking.bookings }),
      },
    },
  ];
}

/** Has its old contents if the transaction was mined again with others. */
export function takenBack(order: LockedOrder, { transfer, fit, creditReverted }: Judged): TransferRow[] {
  if (creditReverted === null) return [];
  const { amount, symbol } = creditReverted;
  const isSame = (fit === 'ORDERED' || transfer.accepted) && transfer.amount === amount;
  if (isSame) return [transfer];
  const coin = order.coins.find((one) => one.chain === transfer.chain && one.symbol === symbol);
  const asset = coin === undefined ? { symbol } : { symbol, contractAddress: coin.contractAddress };
  return [{ ...transfer, ...asset, amount, state: 'ORPHANED' }];
}
