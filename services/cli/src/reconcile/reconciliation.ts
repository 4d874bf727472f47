import type { StateNumber } from '@opentill/chain/state-number';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import type { AddressDifference, Asset, Books, HotOnChain, OnChain } from './books.ts';
import { compareAccounts, judgeOpenItems } from './compare-accounts.ts';
import { depositLines, nameAddressDifference } from './compare-deposits.ts';
import { compareHotWallets } from './compare-hot-wallets.ts';
import type { Comparison, Difference } from './difference.ts';
import type { DepositAddress } from './read-addresses.ts';

/** A chain's books held against the chain. */
export interface Reconciliation extends Comparison {
  readonly books: Books;
  readonly addresses: number;
  /** The blocks at which deposit addresses were read: the anchor, and newer ones where its state was there no more. */
  readonly heights: readonly number[];
  /** Differences of addresses beyond those that are named. */
  readonly addressesLeftOff: number;
}

/** What was found on deposit addresses. */
export interface FoundOnAddresses {
  readonly addresses: number;
  readonly heights: readonly number[];
  readonly named: readonly AddressDifference[];
  readonly leftOff: number;
  /** By symbol: what all addresses together have more than came in; undefined where two sources differ. */
  readonly more: ReadonlyMap<string, OnChain>;
}

const ADDRESSES_NAMED = 200;

/** Puts together what the comparisons of a chain came to. Pure. */
export function reconciliationOf(
  books: Books,
  network: NetworkConfig,
  hotOnChain: HotOnChain,
  deposits: FoundOnAddresses,
): Reconciliation {
  const hot = compareHotWallets(books, hotOnChain, network);
  const open = judgeOpenItems(books);
  return {
    books,
    addresses: deposits.addresses,
    heights: deposits.heights,
    addressesLeftOff: deposits.leftOff,
    lines: [...depositLines(books, deposits.more), ...hot.lines],
    explanations: open.explanations,
    differences: [
      ...compareAccounts(books),
      ...deposits.named.map((one): Difference => nameAddressDifference(books, network, one)),
      ...hot.differences,
      ...open.differences,
    ],
  };
}

/** Counts what differs on deposit addresses, page by page; its memory is bounded by what is named. */
export interface AddressTally {
  add(addresses: number, differences: readonly AddressDifference[]): void;
  found(): FoundOnAddresses;
}

export function createAddressTally(
  assets: readonly Pick<Asset, 'symbol'>[],
  heights: readonly number[],
): AddressTally {
  const named: AddressDifference[] = [];
  const more = new Map<string, OnChain>(assets.map(({ symbol }) => [symbol, 0n]));
  let [addresses, leftOff] = [0, 0];
  return {
    add(count, differences) {
      for (const { symbol, onChain, expected } of differences) {
        const before = more.get(symbol);
        const isKnown = before !== undefined && onChain !== undefined;
        more.set(symbol, isKnown ? before + onChain - expected : undefined);
      }
      const room = differences.slice(0, ADDRESSES_NAMED - named.length);
      named.push(...room);
      leftOff += differences.length - room.length;
      addresses += count;
    },
    found: () => ({ addresses, heights, named, leftOff, more }),
  };
}

/** What a page's addresses hold (asset by asset, address by address) against what they received. Pure. */
export function differencesOf(
  page: readonly DepositAddress[],
  assets: readonly Pick<Asset, 'symbol'>[],
  numbers: readonly StateNumber[],
  height: number,
): readonly AddressDifference[] {
  return page.flatMap(({ address, since, received }, row) =>
    assets.flatMap(({ symbol }, column): readonly AddressDifference[] => {
      const onChain = valueOf(numbers[row * assets.length + column]);
      const expected = received.get(symbol) ?? 0n;
      if (onChain === expected) return [];
      return [{ address, symbol, expected, onChain, height, since }];
    }),
  );
}

/** The sums of all hot wallets, by symbol, from their balances (wallet by wallet, asset by asset). Pure. */
export function hotBalances(
  assets: readonly Pick<Asset, 'symbol'>[],
  wallets: number,
  balances: readonly StateNumber[],
): ReadonlyMap<string, OnChain> {
  return new Map(
    assets.map(({ symbol }, place) => [
      symbol,
      sumOf(balances.slice(place * wallets, (place + 1) * wallets)),
    ]),
  );
}

/** Undefined where two sources differ. */
export function valueOf(number: StateNumber | undefined): OnChain {
  return number?.kind === 'AGREED' ? number.value : undefined;
}

function sumOf(numbers: readonly StateNumber[]): OnChain {
  let sum = 0n;
  for (const number of numbers) {
    if (number.kind !== 'AGREED') return undefined;
    sum += number.value;
  }
  return sum;
}
