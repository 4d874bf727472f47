import type { NetworkConfig } from '@opentill/contracts/network-config';
import { LANDS_WITHIN_MS } from '@opentill/contracts/payout-terms';
import type { Db } from '@opentill/db/database';
import { sql } from 'kysely';
import { readAnchor } from '../reconcile/read-books.ts';
import { adoptProven, noteLanded } from './adopt-proven.ts';
import { readSinceBackup } from './read-since-backup.ts';
import { refuseUnsigned } from './refuse-unsigned.ts';
import { readDoubtful, readPayments, type Hold } from './restore-store.ts';
import type { WalletState } from './wallet-state.ts';

const REQUEST_TIMEOUT_MS = 15_000;
/** By so much the database's clock at the restore may have been behind the chain's. */
const CLOCKS_DIFFER_MS = 300_000;

/**
 * Reads what a wallet without nonces sent since the backup, and writes down what it proves. No count says that nothing is
 * missing: every block says so, read whole from two sources, up to a time of the chain at which nothing that the lost machine
 * signed can land any more, whether it was ever sent or not. What was on its way at the backup is verified by then, or landed
 * nowhere. May be called any number of times.
 * @throws GatewayError with a ReaderErrorCode or a DatabaseErrorCode
 */
export async function reconcileExpiringWallet(
  db: Db,
  network: NetworkConfig,
  hold: Hold,
  onProgress: (height: number) => void,
): Promise<WalletState> {
  const anchor = await readAnchor(db, hold.chain);
  const waitsFor: string[] = [];
  let adopted = 0;
  let waitsUntil: Date | undefined;
  const endMs = hold.restoredAt.getTime() + LANDS_WITHIN_MS + CLOCKS_DIFFER_MS;
  if (anchor === undefined || anchor.height <= hold.fromHeight) {
    waitsFor.push(`the scanner, which has verified nothing behind block ${hold.fromHeight} yet`);
  } else {
    // Imported here because it loads TronWeb, which would add 0.2 s to every command.
    const { createTronWalletHistoryReader } = await import('@opentill/chain-tron/sender/read-wallet-history');
    const history = createTronWalletHistoryReader(network, { requestTimeoutMs: REQUEST_TIMEOUT_MS });
    const { overMs, notVerified } = await readSinceBackup(db, history, hold, anchor, onProgress);
    for (const txHash of notVerified)
      waitsFor.push(`transaction ${txHash}, which this database knows, to be verified by the scanner`);
    await noteLanded(db, hold);
    adopted = await adoptProven(db, hold);
    if ((overMs ?? 0) < endMs) {
      waitsUntil = waitsFor.length === 0 ? new Date(endMs) : undefined;
      waitsFor.push(
        `blocks of ${new Date(endMs).toISOString()} to be verified (now: ${anchor.time.toISOString()}): until then what the lost machine signed may land`,
      );
    } else {
      waitsFor.push(...(await findUnsettled(db, hold)));
      if (waitsFor.length === 0) await refuseUnsigned(db, hold.chain, hold.wallet);
    }
  }
  const payments = await readPayments(db, { hold });
  const payouts = await readDoubtful(db, hold);
  return { hold, waitsFor, waitsUntil, payments, payouts, adopted, silent: [] };
}

/** By the end everything of before is verified, or landed nowhere and is listed as a payout to decide about. */
async function findUnsettled(db: Db, { restoreId, chain, wallet }: Hold): Promise<readonly string[]> {
  const { rows } = await sql<{ tx_hash: string }>`
    select a.tx_hash from payout_attempt a join restore_hold h on h.restore_id = ${restoreId} and h.chain = a.chain and h.wallet = a.wallet
      left join own_transaction_fate f on f.chain = a.chain and f.tx_hash = a.tx_hash
    where a.chain = ${chain} and a.wallet = ${wallet} and a.state = 'OPEN' and f.state is distinct from 'VERIFIED'
      and (f.state = 'MINED' or a.expires_ms > h.read_over_ms)`.execute(db);
  return rows.map(
    (row) => `transaction ${row.tx_hash}, which was on its way at the backup, to be verified by the scanner`,
  );
}
