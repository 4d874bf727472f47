import type { TronStateReader } from '@opentill/chain-tron/read-state';
import type { BlockHeader } from '@opentill/chain/block';
import type { Db } from '@opentill/db/database';
import { GatewayError } from '@opentill/domain/gateway-error';
import { setTimeout as pause } from 'node:timers/promises';
import type { CliErrorCode } from '../context.ts';
import type { AddressDifference, Asset, Books, HotOnChain } from './books.ts';
import { addressesAfter, receivedBy, type DepositAddress } from './read-addresses.ts';
import { assetsOf, readAnchor, readBooks, readHotWalletAddresses } from './read-books.ts';
import type { ReconcileDeps } from './reconcile-chain.ts';
import {
  createAddressTally,
  differencesOf,
  hotBalances,
  reconciliationOf,
  type FoundOnAddresses,
  type Reconciliation,
} from './reconciliation.ts';

export interface TronReconcileDeps extends Omit<ReconcileDeps, 'state'> {
  readonly state: TronStateReader;
}

/**
 * A call to the node for each balance: there is no call for several. Many are under way at once, and after each page the scanner
 * has to be where they were read, which takes some seconds however few they were.
 */
const ADDRESSES_PER_PAGE = 250;
/** The scanner is some seconds behind the solid block, and its steps are not ours: most of the time a few tries are enough. */
const COMPARED_WITHIN_MS = 120_000;
const POLL_MS = 50;
const TRIES_PER_PAGE = 5;

/**
 * Compares a TRON chain's books with the chain, changing nothing. Nodes have the state of the newest solid block and of no other.
 * So the hot wallets are read within one solid block, again and again until the books stand at that very block; and a deposit
 * address counts when nothing came to it between the block before its reading and the one after.
 * @returns undefined when no scanner has ever verified a block of the chain
 * @throws GatewayError CHAIN_NOT_AT_REST, or with a ReaderErrorCode or a DatabaseErrorCode
 */
export async function reconcileTron(deps: TronReconcileDeps): Promise<Reconciliation | undefined> {
  const met = await meetAtOneBlock(deps);
  if (met === undefined) return undefined;
  const { books, hot } = met;
  return reconciliationOf(books, deps.network, hot, await compareAddresses(deps, books));
}

async function meetAtOneBlock(
  deps: TronReconcileDeps,
): Promise<{ readonly books: Books; readonly hot: HotOnChain } | undefined> {
  const { db, network, state } = deps;
  const deadlineMs = performance.now() + COMPARED_WITHIN_MS;
  const assets = assetsOf(network);
  if ((await readAnchor(db, network.chain)) === undefined) return undefined;
  while (performance.now() < deadlineMs) {
    const wallets = await readHotWalletAddresses(db, network.family);
    const holdings = assets.flatMap(({ contract }) => wallets.map((holder) => ({ holder, contract })));
    const { from, to, balances } = await state.solidBalances(holdings);
    if (from.hash !== to.hash) continue;
    await untilVerified(db, network.chain, to, deadlineMs);
    const books = await readBooks(db, network);
    if (books?.anchor.hash === to.hash && books.hotWallets.length === wallets.length) {
      const hot = { balances: hotBalances(assets, wallets.length, balances), transactions: new Map() };
      return { books, hot };
    }
  }
  throw notAtRest(`${network.chain}: the scanner was never at the block that the nodes had the state of.`);
}

/** Waits until the scanner has verified up to the block, or further. Throws CHAIN_NOT_AT_REST. */
async function untilVerified(
  db: Db,
  chain: string,
  { height }: BlockHeader,
  deadlineMs: number,
): Promise<void> {
  for (;;) {
    const verified = (await readAnchor(db, chain))?.height ?? 0;
    if (verified >= height) return;
    if (performance.now() >= deadlineMs)
      throw notAtRest(`${chain}: block ${height} is solid, and the scanner has verified up to ${verified}.`);
    await pause(POLL_MS);
  }
}

async function compareAddresses(deps: TronReconcileDeps, books: Books): Promise<FoundOnAddresses> {
  const { db, network, paidOnly } = deps;
  const assets = books.assets.filter(({ isConfigured }) => isConfigured);
  const tally = createAddressTally(assets, [books.anchor.height]);
  let after = '';
  for (;;) {
    const { height } = books.anchor;
    const page = await addressesAfter(db, network, { after, height, limit: ADDRESSES_PER_PAGE, paidOnly });
    const last = page.at(-1);
    if (last === undefined) return tally.found();
    tally.add(page.length, await comparePage(deps, page, assets));
    after = last.address;
    deps.onProgress(tally.found().addresses);
  }
}

/** Addresses to which something came meanwhile are read once more. */
async function comparePage(
  { db, network, state }: TronReconcileDeps,
  page: readonly DepositAddress[],
  assets: readonly Asset[],
): Promise<readonly AddressDifference[]> {
  const found: AddressDifference[] = [];
  let left = page;
  for (let tries = TRIES_PER_PAGE; left.length > 0; tries -= 1) {
    if (tries === 0) throw notAtRest(`${network.chain}: money comes to ${left[0]?.address} all the time.`);
    const holdings = left.flatMap(({ address }) =>
      assets.map(({ contract }) => ({ holder: address, contract })),
    );
    const { from, to, balances } = await state.solidBalances(holdings);
    await untilVerified(db, network.chain, to, performance.now() + COMPARED_WITHIN_MS);
    const addresses = left.map(({ address }) => address);
    const [before, after] = [
      await receivedBy(db, network, addresses, from.height),
      await receivedBy(db, network, addresses, to.height),
    ];
    const rests = ({ address }: DepositAddress): boolean =>
      assets.every(({ symbol }) => before.get(address)?.get(symbol) === after.get(address)?.get(symbol));
    const current = left.map((one) => ({ ...one, received: after.get(one.address) ?? new Map() }));
    const resting = new Set(current.filter(rests).map(({ address }) => address));
    const differences = differencesOf(current, assets, balances, to.height);
    found.push(...differences.filter(({ address }) => resting.has(address)));
    left = left.filter(({ address }) => !resting.has(address));
  }
  return found;
}

function notAtRest(message: string): GatewayError<CliErrorCode> {
  return new GatewayError('CHAIN_NOT_AT_REST', message, { retryable: true });
}
