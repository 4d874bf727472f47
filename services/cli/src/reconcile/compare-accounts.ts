import type { Account, Books } from './books.ts';
import type { Difference, Explanation } from './difference.ts';
import { shownAmount } from './shown-amount.ts';

/** What the services have booked within this time is as it should be. */
const BOOKED_WITHIN_SECONDS = 60;

/** The ledger against itself and against the rows that it was booked from. Pure. */
export function compareAccounts(books: Books): readonly Difference[] {
  const differences: Difference[] = [];
  const known = new Set(books.assets.map(({ symbol }) => symbol));
  const symbols = [...new Set(books.accounts.map(({ symbol }) => symbol))];
  for (const symbol of symbols) {
    const accounts = books.accounts.filter((account) => account.symbol === symbol);
    const sum = accounts.reduce((total, { ledger }) => total + ledger, 0n);
    if (sum !== 0n) {
      differences.push({
        kind: 'LEDGER_NOT_ZERO',
        symbol,
        subject: 'all accounts',
        amount: sum,
        detail: `All accounts together make ${shownAmount(books, symbol, sum)} and not zero.`,
        mend: 'The database was changed around its triggers: compare with a backup.',
      });
    }
    if (!known.has(symbol) && accounts.some(({ ledger }) => ledger !== 0n)) {
      differences.push({
        kind: 'ASSET_UNKNOWN',
        symbol,
        subject: symbol,
        amount: null,
        detail: 'The ledger has accounts of it, the networks file does not know it.',
        mend: `Put ${symbol} with its contract into the networks file again: orders for it may stay switched off.`,
      });
    }
  }
  return [...differences, ...books.accounts.flatMap((account) => wrongAccount(books, account))];
}

function wrongAccount(books: Books, account: Account): readonly Difference[] {
  const { kind, symbol, merchantId, ledger, rows } = account;
  if (rows === null || rows === ledger) return [];
  const subject = merchantId === null ? kind : `${kind} of ${merchantId}`;
  const shown = (value: bigint): string => shownAmount(books, symbol, value);
  return [
    {
      kind: 'ACCOUNT_WRONG',
      symbol,
      subject,
      amount: rows - ledger,
      detail: `The ledger has ${shown(ledger)}, the rows behind it make ${shown(rows)}.`,
      mend: 'Rows or postings were changed by hand, or a service has a fault: stop payouts of the asset (ops: hold) and compare the exports of orders and ledger.',
    },
  ];
}

const WAITS: Readonly<Record<string, string>> = {
  DEPOSIT_NOT_BOOKED: 'a verified deposit that is not booked',
  TOP_UP_NOT_BOOKED: 'a verified top-up that is not booked',
  TOP_UP_AHEAD: 'a top-up that is booked, and in no block so deep',
  PAYOUT_NOT_BOOKED: 'a payout in the chain that the ledger has otherwise',
  FEE_NOT_BOOKED: 'a network fee that is not booked',
};

/** What is on its way: an explanation while it is young, a difference when it waits too long. Pure. */
export function judgeOpenItems(books: Books): {
  readonly explanations: readonly Explanation[];
  readonly differences: readonly Difference[];
} {
  const explanations: Explanation[] = [];
  const differences: Difference[] = [];
  for (const { kind, symbol, subject, txHash, amount, ageSeconds } of books.openItems) {
    const what = `${WAITS[kind] ?? kind}: ${shownAmount(books, symbol, amount)} by ${txHash}`;
    if (ageSeconds <= BOOKED_WITHIN_SECONDS) {
      explanations.push({ kind, symbol, subject, amount, detail: `On its way: ${what}.` });
    } else {
      differences.push({
        kind: 'BOOKING_LATE',
        symbol,
        subject,
        amount,
        detail: `For ${ageSeconds} s: ${what}.`,
        mend:
          kind === 'TOP_UP_AHEAD'
            ? 'It was booked by hand and has not come, or not deep enough: look at the transaction.'
            : 'Look whether confirmation-tracker runs, and what its log says of the transaction.',
      });
    }
  }
  return { explanations, differences };
}
