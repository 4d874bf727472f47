import type { SpentRow } from './payout-store.ts';
import type { Spent } from './policy-port.ts';
import type { JudgedPayout } from './wallet-facts.ts';

type Whose = Pick<JudgedPayout, 'symbol' | 'merchantId'>;

/** The sums of the database, and what is added to them in this pass. */
export interface Spending {
  /** Everything of the payout's symbol, and of its merchant. */
  of(payout: Whose): Spent;
  /** The same without the payout itself, which is counted where `isCounted` says so. */
  without(
    payout: Whose & Pick<JudgedPayout, 'amountBaseUnits'>,
    isCounted: { readonly lastHour: boolean; readonly lastDay: boolean },
  ): Spent;
  add(payout: Whose, amount: bigint): void;
}

export function createSpending(rows: readonly SpentRow[]): Spending {
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
  for (const row of rows) add(row.symbol, row.merchantId, row.lastHour, row.lastDay);
  const of = ({ symbol, merchantId }: Whose): Spent => ({
    lastHour: hour.get(symbol) ?? 0n,
    lastDay: day.get(symbol) ?? 0n,
    merchantLastDay: day.get(merchantKey(symbol, merchantId)) ?? 0n,
  });
  return {
    of,
    without(payout, isCounted) {
      const { lastHour, lastDay, merchantLastDay } = of(payout);
      const inHour = isCounted.lastHour ? payout.amountBaseUnits : 0n;
      const inDay = isCounted.lastDay ? payout.amountBaseUnits : 0n;
      return {
        lastHour: lastHour - inHour,
        lastDay: lastDay - inDay,
        merchantLastDay: merchantLastDay - inDay,
      };
    },
    add: ({ symbol, merchantId }, amount) => add(symbol, merchantId, amount, amount),
  };
}
