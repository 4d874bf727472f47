import type { NetworkConfig } from '@opentill/contracts/network-config';
import { HOT_ACCOUNTS, type Asset, type Books, type HotOnChain, type OpenItem } from './books.ts';
import type { Difference, Line } from './difference.ts';
import { shownAmount } from './shown-amount.ts';

type Network = Pick<NetworkConfig, 'chain' | 'nativeSymbol'>;

/** The accounts of the hot wallets against their balances: per asset one line, and a difference where they differ. Pure. */
export function compareHotWallets(
  books: Books,
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

/** Wallets that are halted because of what they sent: sums that are equal do not say what became of payouts. */
function doubtfulWallets({ hotWallets }: Books): readonly Difference[] {
  return hotWallets.flatMap(({ address, doubts }) =>
    doubts.map(({ kind, reason, since }): Difference => {
      const detail = `Halted (${kind}) since ${since.toISOString()}: ${reason}.`;
      const mend =
        kind === 'RESTORED'
          ? 'This database is older than what the wallet sent: see the incident RESTORED, decide about the payouts that may have been paid, then release the halt.'
          : 'See the incident FOREIGN_NONCE: decide about its payouts (opentill payout decide), then release the halt.';
      return { kind: 'WALLET_IN_DOUBT', symbol: '', subject: address, amount: null, detail, mend };
    }),
  );
}

function hotLine(books: Books, { balances }: HotOnChain, { symbol }: Asset): Line {
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

/** What a line lacks or has too much, once what is on its way and what others sent is counted. */
export function leftOver({ ledger, onItsWay, unasked, onChain }: Line): bigint {
  return onChain === null ? 0n : onChain - ledger - onItsWay - unasked;
}

function nameHotDifference(
  books: Books,
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
    const detail = `Two sources say different things of the balance at block ${books.anchor.height}.`;
    const mend = 'One of them lies or is broken: take another one for it (opentill doctor).';
    return [{ ...found, kind: 'SOURCES_DISAGREE', amount: null, detail, mend }];
  }
  const amount = leftOver(line);
  if (amount === 0n) return [];
  const shown = (value: bigint): string => shownAmount(books, symbol, value);
  const detail = `The chain has ${shown(line.onChain)} at block ${books.anchor.height}, the ledger makes ${shown(line.ledger + line.onItsWay)}.`;
  if (amount < 0n) {
    const may = hasForeign
      ? 'The wallet made transactions that are not ours: treat its key as stolen, stop payouts (ops: kill switch) and move what is left'
      : 'A top-up was booked that did not come (opentill wallet list-top-ups, reverse-top-up), the token keeps a fee, or its issuer took it';
    return [
      {
        ...found,
        kind: 'HOT_WALLET_LESS',
        amount,
        detail,
        mend: `${may}; look at the wallet in an explorer.`,
      },
    ];
  }
  if (symbol === nativeSymbol && !asset.isConfigured) {
    const mend = 'Coin that was sent for fees: opentill reconcile --book-gas books it.';
    return [{ ...found, kind: 'GAS_NOT_BOOKED', amount, detail, mend }];
  }
  const mend =
    asset.contract === null
      ? `A top-up that a contract sent, which no scanner sees: opentill wallet book-top-up --chain ${chain} --symbol ${symbol} …`
      : `A top-up that no source showed: opentill rescan --chain ${chain} over its block.`;
  return [{ ...found, kind: 'HOT_WALLET_MORE', amount, detail, mend }];
}

function foreignTransactions(books: Books, { transactions }: HotOnChain): readonly Difference[] {
  return books.hotWallets.flatMap(({ address, knownTransactions }): readonly Difference[] => {
    const found = { symbol: '', subject: address, amount: null };
    if (knownTransactions === null || !transactions.has(address)) return [];
    const made = transactions.get(address);
    if (made === undefined) {
      const detail = `Two sources say different things of how many transactions it made up to block ${books.anchor.height}.`;
      const mend = 'One of them lies or is broken: take another one for it (opentill doctor).';
      return [{ ...found, kind: 'SOURCES_DISAGREE', detail, mend }];
    }
    const more = made - BigInt(knownTransactions);
    if (more === 0n) return [];
    const detail = `The chain has ${made} transactions of it up to block ${books.anchor.height}, and ${knownTransactions} are known.`;
    const mend =
      more > 0n
        ? 'Somebody else has its key, or this database is older than the chain (restored from a backup): see the incident FOREIGN_NONCE or RESTORED.'
        : 'Fates of own transactions are wrong: look at the log of the scanner.';
    return [{ ...found, kind: 'TRANSACTIONS_FOREIGN', detail, mend }];
  });
}
