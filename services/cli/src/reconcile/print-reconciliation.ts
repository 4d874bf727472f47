import type { ChainLedger } from './chain-ledger.ts';
import { unexplainedRest } from './compare-hot-wallets.ts';
import type { Difference, Line } from './difference.ts';
import type { Reconciliation } from './reconciliation.ts';
import { displayAmount } from './display-amount.ts';

export function reconciliationLines(one: Reconciliation): readonly string[] {
  const { books, heights, addresses, differences, explanations, addressesLeftOff } = one;
  const { chain, anchor } = books;
  const last = heights.at(-1);
  const later = heights.length > 1 ? `, whose state was pruned meanwhile: the last addresses at ${last}` : '';
  const rows = one.lines.map((line) => [line.what, ...cellsOf(books, line)]);
  const widths = [0, 1, 2].map((column) => Math.max(0, ...rows.map((row) => (row[column] ?? '').length)));
  return [
    `${chain} at block ${anchor.height} (${anchor.hash}), ${anchor.time.toISOString()}${later}`,
    ...rows.map((row) =>
      `  ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ')}`.trimEnd(),
    ),
    ...accountLines(books),
    `  addresses read: ${addresses} for deposits, ${books.hotWallets.length} of hot wallets`,
    ...explanations.map(({ subject, detail }) => `  note  ${subject}: ${detail}`),
    ...differences.flatMap((difference) => differenceLines(books, difference)),
    ...(addressesLeftOff === 0 ? [] : [`  DIFF  … and ${addressesLeftOff} more addresses`]),
    '',
  ];
}

function cellsOf(books: ChainLedger, line: Line): readonly string[] {
  const { symbol, ledger, onItsWay, unasked, onChain } = line;
  const shown = (value: bigint): string => displayAmount(books, symbol, value);
  const way = onItsWay === 0n ? '' : `, in progress ${shown(onItsWay)}`;
  const others = unasked === 0n ? '' : `, sent by others ${shown(unasked)}`;
  if (onChain === null) return [`ledger ${shown(ledger)}${way}${others}`, 'chain: sources disagree', ''];
  const left = unexplainedRest(line);
  return [
    `ledger ${shown(ledger)}${way}${others}`,
    `chain ${shown(onChain)}`,
    left === 0n ? 'equal' : `DIFFERENT by ${shown(left)}`,
  ];
}

const SHOWN_ACCOUNTS: readonly (readonly [string, string])[] = [
  ['MERCHANT', "merchants'"],
  ['SUSPENSE', 'not credited'],
  ['HOT_RESERVED', 'reserved'],
  ['IN_FLIGHT', 'in flight'],
  ['PAID_OUT', 'paid out'],
  ['NETWORK_FEE', 'network fees'],
  ['COLD', 'cold'],
];

/** Credit accounts are shown as positive amounts owed. */
function accountLines(books: ChainLedger): readonly string[] {
  return books.assets.flatMap(({ symbol }) => {
    const parts = SHOWN_ACCOUNTS.flatMap(([kind, words]) => {
      const sum = books.accounts
        .filter((account) => account.symbol === symbol && account.kind === kind)
        .reduce((total, { ledger }) => total + ledger, 0n);
      if (sum === 0n) return [];
      const owed = kind === 'MERCHANT' || kind === 'SUSPENSE' ? -sum : sum;
      return [`${words} ${displayAmount(books, symbol, owed)}`];
    });
    const unmatched = books.unmatched.get(symbol) ?? 0n;
    const all =
      unmatched === 0n ? parts : [...parts, `of that unmatched ${displayAmount(books, symbol, unmatched)}`];
    return all.length === 0 ? [] : [`  ${symbol}: ${all.join(', ')}`];
  });
}

function differenceLines(books: ChainLedger, difference: Difference): readonly string[] {
  const { kind, subject, symbol, amount, detail, mend } = difference;
  const size = amount === null ? '' : ` ${amount > 0n ? '+' : ''}${displayAmount(books, symbol, amount)}`;
  return [`  DIFF  ${kind} ${subject}${size}`, `        ${detail}`, `        → ${mend}`];
}

export function reconciliationJson(one: Reconciliation): object {
  const { books, heights, addresses, addressesLeftOff, lines, explanations, differences } = one;
  const { chain, anchor, accounts, unmatched, hotWallets } = books;
  return {
    chain,
    block: { height: anchor.height, hash: anchor.hash, time: anchor.time.toISOString() },
    heights,
    addresses,
    hotWallets: hotWallets.map(({ address }) => address),
    lines: lines.map((line) => withTextAmounts(line)),
    accounts: accounts.map((account) => withTextAmounts(account)),
    unmatched: withTextAmounts(Object.fromEntries(unmatched)),
    explanations: explanations.map((explanation) => withTextAmounts(explanation)),
    differences: differences.map((difference) => withTextAmounts(difference)),
    addressesLeftOff,
  };
}

function withTextAmounts(record: object): object {
  const entries = Object.entries(record).map(([name, value]: [string, unknown]) => [
    name,
    typeof value === 'bigint' ? value.toString() : value,
  ]);
  return Object.fromEntries(entries) as object;
}
