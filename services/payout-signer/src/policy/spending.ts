import type { JudgedPayout, SpentRow } from '../payouts/payout-facts.ts';
import type { Spent } from './policy-port.ts';

type Whose = Pick<JudgedPayout, 'countsAs' | 'merchantId'>;

type Amount = Whose & Pick<JudgedPayout, 'amountBaseUnits'>;

/** The sums of the database, and what is added to them in this pass. */
export interface Spending {
  /** Everything of what the payout counts as, its symbol as a rule; and of its merchant. */
  of(payout: Whose): Spent;
  /** The same without one attempt at the payout: the one that is to be signed. */
  without(payout: Amount): Spent;
  add(payout: Amount): void;
  /** It waits for approval from now on: it has its place in the windows of a day. */
  addWaiting(payout: Amount): void;
  /** It waits no more. */
  dropWaiting(payout: Amount): void;
}

/** @param isLettingIn whether what waits for approval counts in the windows of a day: nothing that is authorised waits for it */
export function createSpending(rows: readonly SpentRow[], isLettingIn: boolean): Spending {
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
    add(row.countsAs, row.merchantId, row.lastHour, row.lastDay + (isLettingIn ? row.waiting : 0n));
  const of = ({ countsAs, merchantId }: Whose): Spent => ({
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
