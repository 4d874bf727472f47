import { setTimeout as pause } from 'node:timers/promises';
import type { Address } from '@opentill/chain/address-codec';
import type { Holding, StateNumber } from '@opentill/chain/state-number';
import type { Db } from '@opentill/db/database';
import { cliError } from '../context.ts';
import type { AddressReading, Asset, Books, FoundOnAddresses } from './books.ts';
import { assetsOfDeposits } from './compare-deposits.ts';
import { addressesAfter, lyingOn, type DepositAddress } from './store/read-addresses.ts';
import { readAnchor } from './store/read-books.ts';
import type { ReconcileWork } from './reconcile-chain.ts';
import { createAddressTally, readingsOf } from './reconciliation.ts';
import { NOTHING, unswept } from './store/unswept-balance.ts';

/*
 * Of chains whose nodes have the newest state and no other: what they answer is of some moment between two blocks, and counts
 * where nothing came or went between the two.
 */

export interface RestingDeps extends ReconcileWork {
  /** What is held, in the order of the questions, as it stood at some moment of these blocks. */
  readonly balancesOf: (holdings: readonly Holding[]) => Promise<{
    readonly fromHeight: number;
    readonly toHeight: number;
    readonly balances: readonly StateNumber[];
  }>;
}

/**
 * A call to the node for each balance: there is no call for several. Many are under way at once, and after each page the scanner
 * has to be where they were read, which takes some seconds however few they were.
 */
const ADDRESSES_PER_PAGE = 250;
/** The scanner is some seconds behind, and its steps are not ours: most of the time a few tries are enough. */
export const COMPARED_WITHIN_MS = 120_000;
/** Between two looks at what others have to do meanwhile. */
export const POLL_MS = 50;
const TRIES_PER_PAGE = 5;

/** Waits until the scanner has verified up to the block, or further. Throws CHAIN_NOT_AT_REST. */
export async function untilVerified(
  db: Db,
  chain: string,
  height: number,
  deadlineMs: number,
): Promise<void> {
  for (;;) {
    const verified = (await readAnchor(db, chain))?.height ?? 0;
    if (verified >= height) return;
    if (performance.now() >= deadlineMs)
      throw notAtRest(
        `${chain}: the nodes are at block ${height}, and the scanner has verified up to ${verified}.`,
      );
    await pause(POLL_MS);
  }
}

/** The deposit addresses, a page at a time; one to which something came while its page was read is read once more. */
export async function compareResting(deps: RestingDeps, books: Books): Promise<FoundOnAddresses> {
  const { db, network, paidOnly } = deps;
  const assets = assetsOfDeposits(books);
  const tally = createAddressTally(assets, [books.anchor.height]);
  let after = '';
  for (;;) {
    const { height } = books.anchor;
    const page = await addressesAfter(db, network, { after, height, limit: ADDRESSES_PER_PAGE, paidOnly });
    const last = page.at(-1);
    if (last === undefined) return tally.found();
    const readings = await comparePage(deps, page, assets);
    tally.add(page.length, readings);
    deps.onRead(readings);
    after = last.address;
    deps.onProgress(tally.found().addresses);
  }
}

async function comparePage(
  { db, network, balancesOf }: RestingDeps,
  page: readonly DepositAddress[],
  assets: readonly Asset[],
): Promise<readonly AddressReading[]> {
  const found: AddressReading[] = [];
  let left = page;
  for (let tries = TRIES_PER_PAGE; left.length > 0; tries -= 1) {
    if (tries === 0) throw notAtRest(`${network.chain}: money comes to ${left[0]?.address} all the time.`);
    const holdings = left.flatMap(({ address }) =>
      assets.map(({ contract }) => ({ holder: address, contract })),
    );
    const { fromHeight, toHeight, balances } = await balancesOf(holdings);
    await untilVerified(db, network.chain, toHeight, performance.now() + COMPARED_WITHIN_MS);
    const addresses = left.map(({ address }) => address);
    const [before, after] = [
      await lyingOn(db, network, addresses, fromHeight),
      await lyingOn(db, network, addresses, toHeight),
    ];
    const lies = (at: typeof before, address: Address, symbol: string): bigint =>
      unswept(at.get(address)?.get(symbol) ?? NOTHING);
    const rests = ({ address }: DepositAddress): boolean =>
      assets.every(({ symbol }) => lies(before, address, symbol) === lies(after, address, symbol));
    const current = left.map((one) => ({ ...one, lying: after.get(one.address) ?? new Map() }));
    const resting = new Set(current.filter(rests).map(({ address }) => address));
    const readings = readingsOf(current, assets, balances, toHeight);
    found.push(...readings.filter(({ address }) => resting.has(address)));
    left = left.filter(({ address }) => !resting.has(address));
  }
  return found;
}

/** Nothing is wrong: what was read can't be compared with the books of any one moment. */
export function notAtRest(message: string): Error {
  return cliError('CHAIN_NOT_AT_REST', message, { retryable: true });
}
