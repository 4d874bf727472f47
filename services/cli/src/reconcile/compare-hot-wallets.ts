import type { NetworkConfig } from '@opentill/contracts/network-config';
import {
  HOT_ACCOUNTS,
  type Asset,
  type ChainLedger,
  type HotOnChain,
  type OpenItem,
} from './chain-ledger.ts';
import type { Difference, Line } from './difference.ts';
import { displayAmount } from './display-amount.ts';

type Network = Pick<NetworkConfig, 'chain' | 'nativeSymbol'>;

/** One line per asset, and a difference if accounts and balances differ. Pure. */
export function compareHotWallets(
  books: ChainLedger,
  onChain: HotOnChain,
  network: Network,
): { readonly lines: readonly Line[]; readonly differences: readonly Difference[] } {
  const lines = books.assets.map((asset) => hotLine(books, onChain, asset));
  const foreign = foreignTransactions(books, onChain);
  const differences = books.assets.flatMap((asset, place) => {
    const line = lines[place];
    return line === undefined ? [] : nameHotDifference(books, network, asset, line, foreign.length > 0);
  });
  return { lines, differences: [...differences, ...foreign, ...doubtfulWallets(books)] };
}

/** Reports wallets that are halted for unknown transactions: equal sums do not settle their payouts. */
function doubtfulWallets({ hotWallets }: ChainLedger): readonly Difference[] {
  return hotWallets.flatMap(({ address, doubts }) =>
    doubts.map(({ kind, reason, since }): Difference => {
      const detail = `Halted (${kind}) since ${since.toISOString()}: ${reason}.`;
      const mend =
        kind === 'RESTORED'
          ? 'The wallet sent transactions that are newer than this database: see the incident RESTORED, decide the payouts that may have been paid, then release the halt.'
          : 'See the incident FOREIGN_NONCE: decide its payouts (opentill payout decide), then release the halt.';
      return { kind: 'WALLET_IN_DOUBT', symbol: '', subject: address, amount: null, detail, mend };
    }),
  );
}

function hotLine(books: ChainLedger, { balances }: HotOnChain, { symbol }: Asset): Line {
  const ledger = books.accounts
    .filter((one) => one.symbol === symbol && (HOT_ACCOUNTS as readonly string[]).includes(one.kind))
    .reduce((sum, account) => sum + account.ledger, 0n);
  const onItsWay = books.openItems
    .filter((item) => item.symbol === symbol && isOfHotWallet(item))
    .reduce((sum, { amount }) => sum + amount, 0n);
  const balance = balances.has(symbol) ? balances.get(symbol) : 0n;
  return { symbol, what: 'hot wallets', ledger, onItsWay, unasked: 0n, onChain: balance ?? null };
}

function isOfHotWallet({ kind }: OpenItem): boolean {
  return kind !== 'DEPOSIT_NOT_BOOKED';
}

/** Subtracts movements in progress and coin from third parties. */
export function unexplainedRest({ ledger, onItsWay, unasked, onChain }: Line): bigint {
  return onChain === null ? 0n : onChain - ledger - onItsWay - unasked;
}

function nameHotDifference(
  books: ChainLedger,
  { chain, nativeSymbol }: Network,
  asset: Asset,
  line: Line,
  hasForeign: boolean,
): readonly Difference[] {
  const { symbol } = asset;
  const found = {
    symbol,
    subject: books.hotWallets.map(({ address }) => address).join(', ') || 'no hot wallet',
  };
  if (line.onChain === null) {
    const detail = `Two sources differ on the balance at block ${books.anchor.height}.`;
    const mend = 'One of them is wrong: replace it (opentill doctor).';
    return [{ ...found, kind: 'SOURCES_DISAGREE', amount: null, detail, mend }];
  }
  const amount = unexplainedRest(line);
  if (amount === 0n) return [];
  const shown = (value: bigint): string => displayAmount(books, symbol, value);
  const detail = `The chain has ${shown(line.onChain)} at block ${books.anchor.height}, the ledger ${shown(line.ledger + line.onItsWay)}.`;
  if (amount < 0n) {
    const may = hasForeign
      ? 'The wallet made transactions that the gateway did not sign: treat its key as stolen, stop payouts (ops: kill switch) and move the remaining money'
      : 'A booked top-up did not arrive (opentill wallet list-top-ups, reverse-top-up), the token charges a fee, or its issuer took it';
    return [
      {
        ...found,
        kind: 'HOT_WALLET_LESS',
        amount,
        detail,
        mend: `${may}; check the wallet in an explorer.`,
      },
    ];
  }
  if (symbol === nativeSymbol && !asset.isConfigured) {
    const mend = 'Unbooked coin for fees: opentill reconcile --book-gas books it.';
    return [{ ...found, kind: 'GAS_NOT_BOOKED', amount, detail, mend }];
  }
  const mend =
    asset.contract === null
      ? `A top-up sent by a contract, which no scanner sees: opentill wallet book-top-up --chain ${chain} --symbol ${symbol} …`
      : `A top-up that no source showed. Read its block again: opentill rescan --chain ${chain} …`;
  return [{ ...found, kind: 'HOT_WALLET_MORE', amount, detail, mend }];
}

function foreignTransactions(books: ChainLedger, { transactions }: HotOnChain): readonly Difference[] {
  return books.hotWallets.flatMap(({ address, knownTransactions }): readonly Difference[] => {
    const found = { symbol: '', subject: address, amount: null };
    if (knownTransactions === null || !transactions.has(address)) return [];
    const made = transactions.get(address);
    if (made === undefined) {
      const detail = `Two sources differ on its number of transactions up to block ${books.anchor.height}.`;
      const mend = 'One of them is wrong: replace it (opentill doctor).';
      return [{ ...found, kind: 'SOURCES_DISAGREE', detail, mend }];
    }
    const more = made - BigInt(knownTransactions);
    if (more === 0n) return [];
    const detail = `The chain has ${made} of its transactions up to block ${books.anchor.height}; ${knownTransactions} are known.`;
    const mend =
      more > 0n
        ? 'A third party has its key, or this database is older than the chain (restored from a backup): see the incident FOREIGN_NONCE or RESTORED.'
        : 'Recorded outcomes of own transactions are wrong: check the log of the scanner.';
    return [{ ...found, kind: 'TRANSACTIONS_FOREIGN', detail, mend }];
  });
}
