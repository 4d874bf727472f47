import type { Address } from '@opentill/chain/address-codec';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import type { Db } from '@opentill/db/database';
import type { Chain } from '@opentill/domain/chains';
import type { Anchor } from '../reconcile/books.ts';
import { readAnchor } from '../reconcile/store/read-books.ts';
import { adoptMovements } from './adopt-movements.ts';
import { createWalletHistory, readAgreedCounts } from './find-wallet-transactions.ts';
import { takeNote } from './take-note.ts';
import { countUnbooked, readOwnPlaces, readUnswept } from './store/deposits.ts';
import { refuseUnsigned } from './store/refuse-unsigned.ts';
import { readPayments, type Hold, type StoredPayment } from './store/restored-rows.ts';

/** How things stand with the deposit addresses of a chain. */
export interface DepositState {
  readonly chain: Chain;
  /** What has to come about by itself, or be mended: sentences. */
  readonly waitsFor: readonly string[];
  /** Sweeps and their fees that were recognised now. */
  readonly adopted: number;
  /** What an address paid to somebody whom no sweep of the backup went to. */
  readonly strange: readonly StoredPayment[];
}

const ADDRESSES_AT_ONCE = 250;
const NEWEST_AT_ONCE = 8;

/**
 * Finds what deposit addresses paid since the backup, and books it as the sweeps that it was. An address pays nobody but cold storage
 * and the gateway's hot wallets, so nobody has to be asked whose a transaction was; what went elsewhere is told. Where addresses
 * count their transactions it looks at those on which by the books something lies: of one that paid without the books knowing of
 * it they say so. Comes after the hot wallets of the chain, whose forgotten transactions brought the fees; without nonces
 * every block since was read for those of deposit addresses as well (readSinceBackup).
 *
 * @param cold cold storage, besides what sweeps of the backup went to
 * @throws GatewayError with a ReaderErrorCode or a DatabaseErrorCode
 */
export async function reconcileDeposits(
  db: Db,
  network: NetworkConfig,
  { restoreId, chain, fromHeight, restoredAt }: Omit<Hold, 'wallet'>,
  cold: readonly string[],
): Promise<DepositState> {
  const anchor = await readAnchor(db, chain);
  const behind = await whatIsBehind(db, chain, anchor, restoredAt);
  if (anchor === undefined || behind.length > 0) return { chain, adopted: 0, strange: [], waitsFor: behind };
  const places = await readOwnPlaces(db, network, cold);
  const since = { restoreId, chain, fromHeight, restoredAt };
  const waitsFor = network.family === 'EVM' ? await takeNotes(db, network, since, anchor) : [];
  const outcome = await adoptMovements(db, network, { chain, anchor }, places);
  const strange = (await readPayments(db, { chain })).filter(({ wallet }) => !places.hot.has(wallet));
  return { chain, waitsFor: [...waitsFor, ...outcome.waitsFor], adopted: outcome.adopted, strange };
}

/** By the counts of the addresses, at the verified block. @returns what is still missing */
async function takeNotes(
  db: Db,
  network: NetworkConfig,
  since: Omit<Hold, 'wallet'>,
  anchor: Anchor,
): Promise<readonly string[]> {
  const waitsFor: string[] = [];
  let after = '';
  for (;;) {
    const page = await readUnswept(db, network, since.restoreId, after, ADDRESSES_AT_ONCE);
    const last = page.at(-1);
    if (last === undefined) return waitsFor;
    after = last;
    for (const { address, count } of await readCounts(network, page, anchor, waitsFor)) {
      const to = { height: anchor.height, count };
      const hold = { ...since, wallet: address };
      const missing = count === 0 ? [] : await takeNote(db, createWalletHistory(network), hold, to);
      if (missing.length === 0) await refuseUnsigned(db, since.chain, address);
      waitsFor.push(...missing.map((what) => `${what} (${address})`));
    }
  }
}

/**
 * What the books do not have yet. An address that was swept since the backup shows by what lies there: so all that came before the
 * restore has to be read and booked first. Released earlier, its books would hold for ever what is gone.
 */
async function whatIsBehind(
  db: Db,
  chain: Chain,
  anchor: Anchor | undefined,
  restoredAt: Date,
): Promise<readonly string[]> {
  if (anchor === undefined || anchor.time < restoredAt)
    return [
      `the scanner, which has verified ${anchor === undefined ? 'nothing yet' : `blocks up to ${anchor.time.toISOString()}`}, to come to the time of the restore (${restoredAt.toISOString()})`,
    ];
  const count = await countUnbooked(db, chain);
  return count === 0 ? [] : [`the tracker to book ${count} transfers that are verified`];
}

/** How many transactions two sources count alike of each; without those that may have sent something else, which are waited for. */
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
    if (agreed === undefined) waitsFor.push(`two sources that count the transactions of ${address} alike`);
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
  for (let from = 0; from < page.length; from += NEWEST_AT_ONCE) {
    const some = page.slice(from, from + NEWEST_AT_ONCE);
    newest.push(...(await Promise.all(some.map(async (one) => (await history.newestCount(one)).highest))));
  }
  return newest;
}
