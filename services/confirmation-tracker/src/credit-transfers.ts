import type { Chain } from '@opentill/domain/chains';
import { isCredited, type CreditedTransfers } from '@opentill/domain/collection-sums';
import { creditAgain, creditOrder, type LedgerEntry, type Receipt } from '@opentill/domain/ledger';
import { baseUnits, type BaseUnits } from '@opentill/domain/money';
import { receiptOf, type Judged } from './judge-transfer.ts';
import { later } from './later-transfer.ts';
import { toFact } from './order-coins.ts';
import type { LockedOrder, TransferRow } from './store/order-rows.ts';

interface Credits {
  /** Null: the order is not credited. */
  readonly credits: CreditedTransfers | null;
  /** Money that the order did not ask for, accepted by an operator. */
  readonly accepted: { readonly transferId: number; readonly worth: BaseUnits } | undefined;
}

/** Credits the transfers that make up the actual amount of a SUCCESS. */
export function creditTransfers(
  deps: { readonly verifiedDepths: ReadonlyMap<Chain, number> },
  order: LockedOrder,
  { credits, accepted }: Credits,
) {
  const receipts = new Map<string, Receipt>();
  const others: LedgerEntry[] = [];
  let worth: bigint = accepted?.worth ?? 0n;
  let newest: TransferRow | undefined;

  return {
    take(one: Judged): Judged {
      const { transfer, fit, booking } = one;
      const fact = fit === 'ORDERED' ? toFact(deps, order, transfer) : undefined;
      if (transfer.transferId === accepted?.transferId) {
        others.push(creditAgain(receiptOf(order, transfer), transfer.transferId, booking.bookings));
      } else if (fact !== undefined && isCredited(order, credits, fact)) {
        worth += fact.amount;
        const coin = `${transfer.chain} ${transfer.symbol}`;
        const amount = baseUnits((receipts.get(coin)?.amount ?? 0n) + transfer.amount);
        receipts.set(coin, receiptOf(order, { ...transfer, amount }));
      } else return one;
      newest = later(newest, transfer);
      return { ...one, booking: { ...booking, credited: true } };
    },
    /** One entry for the ordered coins, because an order is credited once, and one for other money. */
    end() {
      const ordered = receipts.size > 0 ? [creditOrder(order.orderPk, [...receipts.values()])] : [];
      return { worth, newest, entries: [...ordered, ...others] };
    },
  };
}
