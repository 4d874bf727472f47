import type { Address } from '@opentill/chain/address-codec';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import type { Db } from '@opentill/db/database';
import type { Chain } from '@opentill/domain/chains';
import type { Anchor } from '../reconcile/chain-ledger.ts';
import { readAnchor } from '../reconcile/store/read-chain-ledger.ts';
import { adoptMovements } from './adopt-movements.ts';
import { createWalletHistory, readAgreedCounts } from './find-wallet-transactions.ts';
import { storeUnknownTransactions } from './store-unknown-transactions.ts';
import { countUnbooked, readOwnPlaces, readUnswept } from './store/deposits.ts';
import { refuseUnsigned } from './store/refuse-unsigned.ts';
import { readPayments, type Hold, type StoredPayment } from './store/restored-rows.ts';

export interface DepositState {
  readonly chain: Chain;
  /** Sentences: what has to come true, or what the operator has to correct. */
  readonly waitsFor: readonly string[];
  readonly adopted: number;
  /** Payments to a receiver that no sweep in the backup has. */
  readonly unknownReceivers: readonly StoredPayment[];
}

const ADDRESSES_PER_PAGE = 250;
const PARALLEL_COUNTS = 8;

/**
 * Books payments of deposit addresses since the backup as sweeps. An address pays only cold storage and hot wallets, so
 * no operator has to assign them; other payments are reported. EVM: compares transaction counts. TRON and SUI:
 * readSinceBackup has read every block. Call it after the hot wallets, whose unknown transactions brought the fees.
 * @param cold cold storage, in addition to the destinations of sweeps in the backup
 */
export async function reconcileDeposits(
  db: Db,
  network: NetworkConfig,
  { restoreId, chain, fromHeight, restoredAt }: Omit<Hold, 'wallet'>,
  cold: readonly string[],
): Promise<DepositState> {
  const anchor = await readAnchor(db, chain);
  const unbooked = await findUnbooked(db, chain, anchor, restoredAt);
  if (anchor === undefined || unbooked.length > 0)
    return { chain, adopted: 0, unknownReceivers: [], waitsFor: unbooked };
  const places = await readOwnPlaces(db, network, cold);
  const since = { restoreId, chain, fromHeight, restoredAt };
  const waitsFor = network.family === 'EVM' ? await recordAddresses(db, network, since, anchor) : [];
  const outcome = await adoptMovements(db, network, { chain, anchor }, places);
  const unknownReceivers = (await readPayments(db, { chain })).filter(
    ({ wallet }) => !places.hot.has(wallet),
  );
  return { chain, waitsFor: [...waitsFor, ...outcome.waitsFor], adopted: outcome.adopted, unknownReceivers };
}

/** @returns what is still missing */
async function recordAddresses(
  db: Db,
  network: NetworkConfig,
  since: Omit<Hold, 'wallet'>,
  anchor: Anchor,
): Promise<readonly string[]> {
  const waitsFor: string[] = [];
  let after = '';
  for (;;) {
    const page = await readUnswept(db, network, since.restoreId, after, ADDRESSES_PER_PAGE);
    const last = page.at(-1);
    if (last === undefined) return waitsFor;
    after = last;
    for (const { address, count } of await readCounts(network, page, anchor, waitsFor)) {
      const to = { height: anchor.height, count };
      const hold = { ...since, wallet: address };
      const missing =
        count === 0 ? [] : await storeUnknownTransactions(db, createWalletHistory(network), hold, to);
      if (missing.length === 0) await refuseUnsigned(db, since.chain, address);
      waitsFor.push(...missing.map((what) => `${what} (${address})`));
    }
  }
}

/**
 * A swept address is found by its balance in the ledger, so everything before the restore has to be booked first.
 * Released earlier, the ledger would permanently hold money that is gone.
 */
async function findUnbooked(
  db: Db,
  chain: Chain,
  anchor: Anchor | undefined,
  restoredAt: Date,
): Promise<readonly string[]> {
  if (anchor === undefined || anchor.time < restoredAt)
    return [
      `the scanner, which has verified ${anchor === undefined ? 'no block yet' : `blocks up to ${anchor.time.toISOString()}`}, to reach the time of the restore (${restoredAt.toISOString()})`,
    ];
  const count = await countUnbooked(db, chain);
  return count === 0 ? [] : [`the tracker to book ${count} verified transfers`];
}

/** Two sources must agree. Leaves out addresses with newer transactions, as a condition. */
async function readCounts(
  network: NetworkConfig,
  page: readonly Address[],
  anchor: Anchor,
  waitsFor: string[],
): Promise<readonly { readonly address: Address; readonly count: number }[]> {
  const counts = await readAgreedCounts(network, page, anchor);
  const newest = await readNewest(network, page);
  return page.flatMap((address, place) => {
    const agreed = counts[place];
    const highest = newest[place] ?? 0;
    if (agreed === undefined) waitsFor.push(`two sources that agree on the transaction count of ${address}`);
    else if (highest > agreed)
      waitsFor.push(
        `${highest - agreed} transactions of ${address} that are in a pool, or in a block that is not final (verified: ${anchor.height})`,
      );
    return agreed === undefined || highest > agreed ? [] : [{ address, count: agreed }];
  });
}

async function readNewest(network: NetworkConfig, page: readonly Address[]): Promise<readonly number[]> {
  const history = createWalletHistory(network);
  const newest: number[] = [];
  for (let from = 0; from < page.length; from += PARALLEL_COUNTS) {
    const some = page.slice(from, from + PARALLEL_COUNTS);
    newest.push(...(await Promise.all(some.map(async (one) => (await history.newestCount(one)).highest))));
  }
  return newest;
}
