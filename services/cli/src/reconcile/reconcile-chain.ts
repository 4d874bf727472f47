import { isStateDiscarded, type EvmStateReader } from '@opentill/chain-evm/read-balances';
import type { BlockHash } from '@opentill/chain/block';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import type { Db } from '@opentill/db/database';
import type {
  AddressReading,
  Anchor,
  Asset,
  ChainLedger,
  FoundOnAddresses,
  HotOnChain,
} from './chain-ledger.ts';
import { assetsOfDeposits } from './compare-deposits.ts';
import { addressesAfter, type DepositAddress } from './store/read-addresses.ts';
import { readAnchor, readChainLedger } from './store/read-chain-ledger.ts';
import {
  createAddressTally,
  NO_ADDRESSES,
  readingsOf,
  hotBalances,
  createReconciliation,
  valueOf,
  type Reconciliation,
} from './reconciliation.ts';

export interface ReconcileWork {
  readonly db: Db;
  readonly network: NetworkConfig;
  /** Leaves out addresses that never received a transfer, so a first payment that no source showed is not found. */
  readonly paidOnly: boolean;
  /** Leaves out all deposit addresses. Their lines are then meaningless. */
  readonly hotOnly?: boolean;
  readonly onProgress: (addresses: number) => void;
  readonly onRead: (readings: readonly AddressReading[]) => void;
}

interface ReconcileDeps extends ReconcileWork {
  readonly state: EvmStateReader;
}

const ADDRESSES_PER_PAGE = 500;

/** Memory is bounded by one page of addresses. @returns undefined when no block of the chain is verified yet */
export async function reconcileChain(deps: ReconcileDeps): Promise<Reconciliation | undefined> {
  const books = await readChainLedger(deps.db, deps.network);
  if (books === undefined) return undefined;
  const hot = await readHotOnChain(deps.state, books); // first, while nodes still have the anchor's state
  const deposits = deps.hotOnly === true ? NO_ADDRESSES : await compareAddresses(deps, books);
  return createReconciliation(books, deps.network, hot, deposits);
}

async function readHotOnChain(state: EvmStateReader, books: ChainLedger): Promise<HotOnChain> {
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
    balances: hotBalances(books.assets, wallets.length, balances),
    transactions: new Map(watched.map(({ address }, place) => [address, valueOf(counts[place])])),
  };
}

/**
 * Each page is read at one block and compared with the movements up to it. If nodes prune that block's state meanwhile,
 * the next pages are read at the newest verified block.
 */
async function compareAddresses(deps: ReconcileDeps, books: ChainLedger): Promise<FoundOnAddresses> {
  const { db, state, network, paidOnly } = deps;
  const assets = assetsOfDeposits(books);
  const heights = [books.anchor.height];
  const tally = createAddressTally(assets, heights);
  let anchor = books.anchor;
  let after = '';
  for (;;) {
    const { height } = anchor;
    const page = await addressesAfter(db, network, { after, height, limit: ADDRESSES_PER_PAGE, paidOnly });
    const last = page.at(-1);
    if (last === undefined) return tally.found();
    let found: readonly AddressReading[];
    try {
      found = await comparePage(state, page, assets, anchor);
    } catch (error) {
      const newer = isStateDiscarded(error) ? await readAnchor(db, network.chain) : undefined;
      if (newer === undefined || newer.height <= anchor.height) throw error;
      anchor = newer;
      heights.push(anchor.height);
      continue;
    }
    tally.add(page.length, found);
    deps.onRead(found);
    after = last.address;
    deps.onProgress(tally.found().addresses);
  }
}

async function comparePage(
  state: EvmStateReader,
  page: readonly DepositAddress[],
  assets: readonly Asset[],
  anchor: Anchor,
): Promise<readonly AddressReading[]> {
  const holdings = page.flatMap(({ address }) =>
    assets.map(({ contract }) => ({ holder: address, contract })),
  );
  return readingsOf(page, assets, await state.balances(holdings, blockOf(anchor)), anchor.height);
}

function blockOf({ height, hash }: Anchor): { readonly height: number; readonly hash: BlockHash } {
  return { height, hash: hash as BlockHash };
}
