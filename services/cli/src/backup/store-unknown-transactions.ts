import type { Db } from '@opentill/db/database';
import type { WalletHistory } from './find-wallet-transactions.ts';
import { readAccountedNonces, saveForgotten, type Hold } from './store/restored-rows.ts';

/**
 * A signed nonce counts as unknown until one of its transactions is verified: a transaction missing in the backup may
 * have raised its fees. @returns what is still missing
 */
export async function storeUnknownTransactions(
  db: Db,
  history: WalletHistory,
  hold: Hold,
  to: { readonly height: number; readonly count: number },
): Promise<readonly string[]> {
  const before = await readAccountedNonces(db, hold);
  // If no nonce is known, only those used since the backup count.
  const counted = await history.countAt(hold.wallet, hold.fromHeight);
  const first = before.first ?? counted;
  if (first !== undefined && missingNonces(before.accounted, first, to.count).length === 0) return [];
  const range = { from: hold.fromHeight, to: to.height };
  const found = await history.find(hold.wallet, range, { from: counted, to: to.count });
  await saveForgotten(db, hold, found);
  const { accounted } = await readAccountedNonces(db, hold);
  const missing = missingNonces(accounted, first ?? found[0]?.nonce ?? to.count, to.count);
  if (missing.length === 0) return [];
  return [
    `transactions with the nonces ${missing.slice(0, 20).join(', ')}, to be verified by the scanner or returned by a source`,
  ];
}

function missingNonces(accounted: ReadonlySet<number>, from: number, end: number): readonly number[] {
  const nonces = Array.from({ length: Math.max(0, end - from) }, (_, place) => from + place);
  return nonces.filter((nonce) => !accounted.has(nonce));
}
