import { setTimeout as pause } from 'node:timers/promises';
import type { Address } from '@opentill/chain/address-codec';
import type { Holding, StateNumber } from '@opentill/chain/state-number';
import type { Db } from '@opentill/db/database';
import { cliError } from '../context.ts';
import type { AddressReading, Asset, ChainLedger, FoundOnAddresses } from './chain-ledger.ts';
import { assetsOfDeposits } from './compare-deposits.ts';
import { addressesAfter, readDepositAssets, type DepositAddress } from './store/read-addresses.ts';
import { readAnchor } from './store/read-chain-ledger.ts';
import type { ReconcileWork } from './reconcile-chain.ts';
import { createAddressTally, readingsOf } from './reconciliation.ts';
import { NO_MOVEMENTS, unswept } from './store/unswept-balance.ts';

// These chains have nodes with only the newest state. An answer belongs to some moment between two blocks. It counts if
// no balance changed between them.

export interface NewestStateDeps extends ReconcileWork {
  /** In the order of `holdings`. */
  readonly balancesOf: (holdings: readonly Holding[]) => Promise<{
    readonly fromHeight: number;
    readonly toHeight: number;
    readonly balances: readonly StateNumber[];
  }>;
}

/** Large, because after each page the scanner has to reach its blocks, which takes some seconds. */
const ADDRESSES_PER_PAGE = 250;
/** The scanner is some seconds behind. Usually a few attempts are enough. */
export const COMPARED_WITHIN_MS = 120_000;
export const POLL_MS = 50;
const TRIES_PER_PAGE = 5;

export async function waitUntilVerified(
  db: Db,
  chain: string,
  height: number,
  deadlineMs: number,
): Promise<void> {
  for (;;) {
    const verified = (await readAnchor(db, chain))?.height ?? 0;
    if (verified >= height) return;
    if (performance.now() >= deadlineMs)
      throw changedDuringRead(
        `${chain}: the nodes are at block ${height}, and the scanner has verified up to ${verified}.`,
      );
    await pause(POLL_MS);
  }
}

/** Reads an address again if its balance changed while its page was read. */
export async function compareAtNewestState(
  deps: NewestStateDeps,
  books: ChainLedger,
): Promise<FoundOnAddresses> {
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
  { db, network, balancesOf }: NewestStateDeps,
  page: readonly DepositAddress[],
  assets: readonly Asset[],
): Promise<readonly AddressReading[]> {
  const found: AddressReading[] = [];
  let left = page;
  for (let tries = TRIES_PER_PAGE; left.length > 0; tries -= 1) {
    if (tries === 0)
      throw changedDuringRead(
        `${network.chain}: the balance of ${left[0]?.address} changes during every attempt.`,
      );
    const holdings = left.flatMap(({ address }) =>
      assets.map(({ contract }) => ({ holder: address, contract })),
    );
    const { fromHeight, toHeight, balances } = await balancesOf(holdings);
    await waitUntilVerified(db, network.chain, toHeight, performance.now() + COMPARED_WITHIN_MS);
    const addresses = left.map(({ address }) => address);
    const [before, after] = [
      await readDepositAssets(db, network, addresses, fromHeight),
      await readDepositAssets(db, network, addresses, toHeight),
    ];
    const unsweptAt = (at: typeof before, address: Address, symbol: string): bigint =>
      unswept(at.get(address)?.get(symbol) ?? NO_MOVEMENTS);
    const isUnchanged = ({ address }: DepositAddress): boolean =>
      assets.every(({ symbol }) => unsweptAt(before, address, symbol) === unsweptAt(after, address, symbol));
    const current = left.map((one) => ({ ...one, recorded: after.get(one.address) ?? new Map() }));
    const unchanged = new Set(current.filter(isUnchanged).map(({ address }) => address));
    const readings = readingsOf(current, assets, balances, toHeight);
    found.push(...readings.filter(({ address }) => unchanged.has(address)));
    left = left.filter(({ address }) => !unchanged.has(address));
  }
  return found;
}

/** The data is correct, but belongs to no single moment of the ledger. */
export function changedDuringRead(message: string): Error {
  return cliError('CHAIN_NOT_AT_REST', message, { retryable: true });
}
