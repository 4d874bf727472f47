import type { Account, ChainLedger } from './chain-ledger.ts';
import type { Difference, Explanation } from './difference.ts';
import { displayAmount } from './display-amount.ts';

/** A movement that waits no longer for its booking is not a difference. */
const BOOKED_WITHIN_SECONDS = 60;

/** Compares the ledger with itself and with the rows that it was booked from. Pure. */
export function compareAccounts(books: ChainLedger): readonly Difference[] {
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
        detail: `The sum of all accounts is ${displayAmount(books, symbol, sum)}, not zero.`,
        mend: 'The database was changed bypassing its triggers: compare with a backup.',
      });
    }
    if (!known.has(symbol) && accounts.some(({ ledger }) => ledger !== 0n)) {
      differences.push({
        kind: 'ASSET_UNKNOWN',
        symbol,
        subject: symbol,
        amount: null,
        detail: 'The ledger has accounts of it, but the networks file does not name it.',
        mend: `Put ${symbol} with its contract into the networks file again: orders for it may stay switched off.`,
      });
    }
  }
  return [...differences, ...books.accounts.flatMap((account) => wrongAccount(books, account))];
}

function wrongAccount(books: ChainLedger, account: Account): readonly Difference[] {
  const { kind, symbol, merchantId, ledger, rows } = account;
  if (rows === null || rows === ledger) return [];
  const subject = merchantId === null ? kind : `${kind} of ${merchantId}`;
  const shown = (value: bigint): string => displayAmount(books, symbol, value);
  return [
    {
      kind: 'ACCOUNT_WRONG',
      symbol,
      subject,
      amount: rows - ledger,
      detail: `The ledger has ${shown(ledger)}, its rows add up to ${shown(rows)}.`,
      mend: 'Rows or postings were changed by hand, or a service has a defect: stop payouts of the asset (ops: hold) and compare the exports of orders and ledger.',
    },
  ];
}

const ITEM_TEXTS: Readonly<Record<string, string>> = {
  DEPOSIT_NOT_BOOKED: 'a verified deposit that is not booked',
  TOP_UP_NOT_BOOKED: 'a verified top-up that is not booked',
  TOP_UP_AHEAD: 'a booked top-up that is in no verified block',
  PAYOUT_NOT_BOOKED: 'a payout whose state in the ledger differs from the chain',
  FEE_NOT_BOOKED: 'a network fee that is not booked',
};

/** Young items are explanations, late ones are differences. Pure. */
export function classifyOpenItems(books: ChainLedger): {
  readonly explanations: readonly Explanation[];
  readonly differences: readonly Difference[];
} {
  const explanations: Explanation[] = [];
  const differences: Difference[] = [];
  for (const { kind, symbol, subject, txHash, amount, ageSeconds } of books.openItems) {
    const what = `${ITEM_TEXTS[kind] ?? kind}: ${displayAmount(books, symbol, amount)} in ${txHash}`;
    if (ageSeconds <= BOOKED_WITHIN_SECONDS) {
      explanations.push({ kind, symbol, subject, amount, detail: `In progress: ${what}.` });
    } else {
      differences.push({
        kind: 'BOOKING_LATE',
        symbol,
        subject,
        amount,
        detail: `Waiting for ${ageSeconds} s: ${what}.`,
        mend:
          kind === 'TOP_UP_AHEAD'
            ? 'It was booked by hand but did not arrive, or is not verified yet: check the transaction.'
            : 'Check that confirmation-tracker runs, and search its log for the transaction.',
      });
    }
  }
  return { explanations, differences };
}
