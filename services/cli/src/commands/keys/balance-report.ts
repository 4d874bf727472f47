import { open, type FileHandle } from 'node:fs/promises';
import { formatAmount } from '@opentill/domain/money';
import { cliError } from '../../context.ts';
import type { FoundAddress } from './search-balances.ts';
import type { Balance } from './balance-reader.ts';

export interface MoneyReport {
  add(found: FoundAddress): Promise<void>;
  totals(): readonly string[];
  readonly disputes: number;
  close(): Promise<void>;
}

interface Total {
  readonly of: Balance;
  hot: bigint;
  deposits: bigint;
  addresses: number;
}

const CSV_HEADER = 'family,index,address,chain,symbol,amount,disputed,keys\n';

/** Prints all addresses, or only those with money if a CSV file receives all. */
export async function openMoneyReport(
  print: (line: string) => void,
  file: string | undefined,
  format: (found: FoundAddress) => string,
): Promise<MoneyReport> {
  const handle = file === undefined ? undefined : await openNew(file);
  const totals = new Map<string, Total>();
  let disputes = 0;
  await handle?.write(CSV_HEADER);
  return {
    async add(found) {
      const address = format(found);
      const { family, kind, index, money } = found;
      const keys = kind === 'main' ? family : `${family} (test networks)`;
      if (handle === undefined || money.length > 0) {
        const what = money.length === 0 ? '-' : money.map(moneyWords).join(', ');
        print(`${keys} ${index ?? 'hot wallet'} ${address}: ${what}`);
      }
      for (const of of money) {
        disputes += of.isDisputed ? 1 : 0;
        addTo(totals, of, index === undefined);
      }
      await handle?.write(csvRows(found, address));
    },
    totals: () => (totals.size === 0 ? ['No money was found.'] : [...totals.values()].map(totalWords)),
    get disputes() {
      return disputes;
    },
    close: async () => handle?.close(),
  };
}

async function openNew(file: string): Promise<FileHandle> {
  return open(file, 'wx', 0o600).catch((cause: unknown) => {
    throw cliError('CLI_USAGE', `${file} cannot be created.`, { cause });
  });
}

function addTo(totals: Map<string, Total>, of: Balance, isHot: boolean): void {
  const key = `${of.chain} ${of.symbol}`;
  const total = totals.get(key) ?? { of, hot: 0n, deposits: 0n, addresses: 0 };
  if (isHot) total.hot += of.amountBaseUnits;
  else total.deposits += of.amountBaseUnits;
  total.addresses += isHot ? 0 : 1;
  totals.set(key, total);
}

function shown({ decimals, displayDecimals }: Balance, amount: bigint): string {
  return formatAmount(amount, decimals, displayDecimals);
}

function moneyWords(money: Balance): string {
  const disputed = money.isDisputed ? ' (two sources differ)' : '';
  return `${shown(money, money.amountBaseUnits)} ${money.symbol} on ${money.chain}${disputed}`;
}

function totalWords({ of, hot, deposits, addresses }: Total): string {
  const places = addresses === 1 ? '1 deposit address' : `${addresses} deposit addresses`;
  return `${of.chain} ${of.symbol}: ${shown(of, deposits)} on ${places}, ${shown(of, hot)} in the hot wallet`;
}

function csvRows({ family, kind, index, money }: FoundAddress, address: string): string {
  const start = `${family},${index ?? 'hot'},${address}`;
  if (money.length === 0) return `${start},,,,,${kind}\n`;
  return money
    .map(
      (of) =>
        `${start},${of.chain},${of.symbol},${shown(of, of.amountBaseUnits)},${of.isDisputed ? 'yes' : ''},${kind}\n`,
    )
    .join('');
}
