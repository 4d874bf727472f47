import type { JudgedPayout, SpentRow } from '../payouts/payout-facts.ts';
import type { Spent } from './policy-port.ts';

type LimitKey = Pick<JudgedPayout, 'countsAs' | 'merchantId'>;

type Amount = LimitKey & Pick<JudgedPayout, 'amountBaseUnits'>;

export interface Spending {
  /** Sums for the payout's limit key, usually its symbol, and for its merchant. */
  of(payout: LimitKey): Spent;
  /** Without one attempt of the payout: the one that is to be signed. */
  without(payout: Amount): Spent;
  add(payout: Amount): void;
  addWaiting(payout: Amount): void;
  dropWaiting(payout: Amount): void;
}

/** @param isAuthorising true: what waits for approval counts in the windows of a day */
export function createSpending(rows: readonly SpentRow[], isAuthorising: boolean): Spending {
  const hour = new Map<string, bigint>();
  const day = new Map<string, bigint>();
  const plus = (sums: Map<string, bigint>, key: string, amount: bigint) =>
    void sums.set(key, (sums.get(key) ?? 0n) + amount);
  const merchantKey = (symbol: string, merchantId: string) => `${symbol} of ${merchantId}`;
  const add = (symbol: string, merchantId: string, lastHour: bigint, lastDay: bigint) => {
    plus(hour, symbol, lastHour);
    plus(day, symbol, lastDay);
    plus(day, merchantKey(symbol, merchantId), lastDay);
  };
  for (const row of rows)
    add(row.countsAs, row.merchantId, row.lastHour, row.lastDay + (isAuthorising ? row.waiting : 0n));
  const of = ({ countsAs, merchantId }: LimitKey): Spent => ({
    lastHour: hour.get(countsAs) ?? 0n,
    lastDay: day.get(countsAs) ?? 0n,
    merchantLastDay: day.get(merchantKey(countsAs, merchantId)) ?? 0n,
  });
  return {
    of,
    without(payout) {
      const { lastHour, lastDay, merchantLastDay } = of(payout);
      const { amountBaseUnits: amount } = payout;
      return {
        lastHour: lastHour - amount,
        lastDay: lastDay - amount,
        merchantLastDay: merchantLastDay - amount,
      };
    },
    add: ({ countsAs, merchantId, amountBaseUnits: amount }) => add(countsAs, merchantId, amount, amount),
    addWaiting: ({ countsAs, merchantId, amountBaseUnits: amount }) => add(countsAs, merchantId, 0n, amount),
    dropWaiting: ({ countsAs, merchantId, amountBaseUnits: amount }) =>
      add(countsAs, merchantId, 0n, 0n - amount),
  };
}
