import { isStateDiscarded, type EvmStateReader, type StateNumber } from '@opentill/chain-evm/read-balances';
import type { BlockHash } from '@opentill/chain/block';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import type { Db } from '@opentill/db/database';
import type { AddressDifference, Anchor, Asset, Books, HotOnChain, OnChain } from './books.ts';
import { compareAccounts, judgeOpenItems } from './compare-accounts.ts';
import { depositLines, nameAddressDifference } from './compare-deposits.ts';
import { compareHotWallets } from './compare-hot-wallets.ts';
import type { Comparison, Difference } from './difference.ts';
import { addressesAfter, type DepositAddress } from './read-addresses.ts';
import { readAnchor, readBooks } from './read-books.ts';

/** A chain's books held against the chain. */
export interface Reconciliation extends Comparison {
  readonly books: Books;
  readonly addresses: number;
  /** The blocks at which deposit addresses were read: the anchor, and newer ones where its state was discarded. */
  readonly heights: readonly number[];
  /** Differences of addresses beyond those that are named. */
  readonly addressesLeftOff: number;
}

export interface ReconcileDeps {
  readonly db: Db;
  readonly state: EvmStateReader;
  readonly network: NetworkConfig;
  /** Leave out addresses that nothing ever came to: cheaper, and blind for a first payment that no source showed. */
  readonly paidOnly: boolean;
  readonly onProgress: (addresses: number) => void;
}

const ADDRESSES_PER_PAGE = 500;
const ADDRESSES_NAMED = 200;

/**
 * Compares a chain's books with the chain, changing nothing. Memory is bounded by a page of addresses and by what
 * differs. @returns undefined when no scanner has ever verified a block of the chain
 * @throws GatewayError with a ReaderErrorCode or a DatabaseErrorCode
 */
export async function reconcileChain(deps: ReconcileDeps): Promise<Reconciliation | undefined> {
  const { network } = deps;
  const books = await readBooks(deps.db, network);
  if (books === undefined) return undefined;
  // First, while the anchor is fresh.
  const hot = compareHotWallets(books, await readHotOnChain(deps.state, books), network);
  const deposits = await compareAddresses(deps, books);
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

async function readHotOnChain(state: EvmStateReader, books: Books): Promise<HotOnChain> {
  const block = blockOf(books.anchor);
  const wallets = books.hotWallets.map(({ address }) => address);
  const holdings = books.assets.flatMap(({ contract }) => wallets.map((holder) => ({ holder, contract })));
  const balances = await state.balances(holdings, block);
  const watched = books.hotWallets.filter(({ knownTransactions }) => knownTransactions !== null);
  const counts = await state.transactionCounts(
    watched.map(({ address }) => address),
    block,
  );
  return {
    balances: new Map(
      books.assets.map(({ symbol }, place) => [
        symbol,
        sumOf(balances.slice(place * wallets.length, (place + 1) * wallets.length)),
      ]),
    ),
    transactions: new Map(watched.map(({ address }, place) => [address, valueOf(counts[place])])),
  };
}

interface FoundOnAddresses {
  readonly addresses: number;
  readonly heights: readonly number[];
  readonly named: readonly AddressDifference[];
  readonly leftOff: number;
  /** By symbol: what all addresses together have more than came in; undefined where two sources differ. */
  readonly more: ReadonlyMap<string, OnChain>;
}

/**
 * Page by page, each at one block. Nodes throw away the state of a block while the pages are read; then the next pages
 * are read at the newest verified one. What an address holds is compared with what came in up to that same block.
 */
async function compareAddresses(deps: ReconcileDeps, books: Books): Promise<FoundOnAddresses> {
  const { db, state, network, paidOnly } = deps;
  const assets = books.assets.filter(({ isConfigured }) => isConfigured);
  const named: AddressDifference[] = [];
  const more = new Map<string, OnChain>(assets.map(({ symbol }) => [symbol, 0n]));
  const heights = [books.anchor.height];
  let leftOff = 0;
  let anchor = books.anchor;
  let addresses = 0;
  let after = '';
  for (;;) {
    const page = await addressesAfter(db, network, {
      after,
      height: anchor.height,
      limit: ADDRESSES_PER_PAGE,
      paidOnly,
    });
    const last = page.at(-1);
    if (last === undefined) return { addresses, heights, named, leftOff, more };
    let found: readonly AddressDifference[];
    try {
      found = await comparePage(state, page, assets, anchor);
    } catch (error) {
      const newer = isStateDiscarded(error) ? await readAnchor(db, network.chain) : undefined;
      if (newer === undefined || newer.height <= anchor.height) throw error;
      anchor = newer;
      heights.push(anchor.height);
      continue;
    }
    for (const { symbol, onChain, expected } of found) {
      const before = more.get(symbol);
      more.set(
        symbol,
        before === undefined || onChain === undefined ? undefined : before + onChain - expected,
      );
    }
    const room = found.slice(0, ADDRESSES_NAMED - named.length);
    named.push(...room);
    leftOff += found.length - room.length;
    addresses += page.length;
    after = last.address;
    deps.onProgress(addresses);
  }
}

async function comparePage(
  state: EvmStateReader,
  page: readonly DepositAddress[],
  assets: readonly Asset[],
  anchor: Anchor,
): Promise<readonly AddressDifference[]> {
  const holdings = page.flatMap(({ address }) =>
    assets.map(({ contract }) => ({ holder: address, contract })),
  );
  const numbers = await state.balances(holdings, blockOf(anchor));
  return page.flatMap(({ address, since, received }, row) =>
    assets.flatMap(({ symbol }, column): readonly AddressDifference[] => {
      const onChain = valueOf(numbers[row * assets.length + column]);
      const expected = received.get(symbol) ?? 0n;
      if (onChain === expected) return [];
      return [{ address, symbol, expected, onChain, height: anchor.height, since }];
    }),
  );
}

function blockOf({ height, hash }: Anchor): { readonly height: number; readonly hash: BlockHash } {
  return { height, hash: hash as BlockHash };
}

function valueOf(number: StateNumber | undefined): OnChain {
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
