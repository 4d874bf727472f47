import { createEvmStateReader } from '@opentill/chain-evm/read-balances';
import type { BlockHash } from '@opentill/chain/block';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import type { Db } from '@opentill/db/database';
import type { Family } from '@opentill/domain/chains';
import { readAnchor } from '../reconcile/read-books.ts';
import { adoptPayment } from './adopt-payment.ts';
import { createWalletHistory } from './find-wallet-transactions.ts';
import { matchForgotten } from './match-forgotten.ts';
import { refuseUnsigned } from './refuse-unsigned.ts';
import { readDoubtful, readOpenNonces, readPayments, type Hold } from './restore-store.ts';
import { reconcileExpiringWallet } from './reconcile-expiring-wallet.ts';
import { reconcileSuiWallet } from './reconcile-sui-wallet.ts';
import { takeNote } from './take-note.ts';
import { PROVEN, type WalletState } from './wallet-state.ts';

const REQUEST_TIMEOUT_MS = 15_000;

type ReconcileWallet = (
  db: Db,
  network: NetworkConfig,
  hold: Hold,
  onProgress: (height: number) => void,
) => Promise<WalletState>;

const RECONCILE: Readonly<Record<Family, ReconcileWallet>> = {
  EVM: reconcileNonceWallet,
  TRON: reconcileExpiringWallet,
  SUI: reconcileSuiWallet,
};

/**
 * Reads from the chain what the wallet did since the backup, and stores what it proves. Idempotent.
 * @throws GatewayError with a ReaderErrorCode or a DatabaseErrorCode
 */
export const reconcileWallet: ReconcileWallet = (db, network, hold, onProgress) =>
  RECONCILE[network.family](db, network, hold, onProgress);

/**
 * Goes by a block that the scanner has verified since the backup, and by a count of transactions on which two sources agree.
 * Each nonce below it must belong to a transaction that the wallet's key signed.
 */
async function reconcileNonceWallet(db: Db, network: NetworkConfig, hold: Hold): Promise<WalletState> {
  const anchor = await readAnchor(db, hold.chain);
  const history = createWalletHistory(network);
  const newest = await history.newestCount(hold.wallet);
  const waitsFor: string[] = [];
  let adopted = 0;
  const isAhead = anchor !== undefined && anchor.height > hold.fromHeight;
  const count = anchor === undefined || !isAhead ? undefined : await countAt(network, hold, anchor);
  if (count === undefined) {
    if (newest.highest > 0)
      waitsFor.push(
        isAhead
          ? 'two sources that count its transactions alike'
          : `the scanner, which has verified nothing behind block ${hold.fromHeight} yet`,
      );
  } else if (anchor !== undefined) {
    if (newest.highest > count)
      waitsFor.push(
        `${newest.highest - count} transactions that are in a pool, or in a block that is not final (verified: ${anchor.height})`,
      );
    waitsFor.push(...(await takeNote(db, history, hold, { height: anchor.height, count })));
    adopted = await adoptProven(db, hold);
    if (waitsFor.length === 0) await refuseUnsigned(db, hold.chain, hold.wallet);
  }
  const payments = await readPayments(db, { hold });
  const payouts = await readDoubtful(db, hold);
  const { silent } = newest;
  return { hold, waitsFor, waitsUntil: undefined, payments, payouts, adopted, silent };
}

async function countAt(
  network: NetworkConfig,
  { wallet }: Hold,
  anchor: { readonly height: number; readonly hash: string },
): Promise<number | undefined> {
  const state = createEvmStateReader(network, { requestTimeoutMs: REQUEST_TIMEOUT_MS });
  const block = { height: anchor.height, hash: anchor.hash as BlockHash };
  const [count] = await state.transactionCounts([wallet], block);
  return count?.kind === 'AGREED' ? Number(count.value) : undefined;
}

async function adoptProven(db: Db, hold: Hold): Promise<number> {
  return db.transaction().execute(async (tx) => {
    const payments = await readPayments(tx, { hold });
    const open = await readOpenNonces(tx, hold);
    const matches = matchForgotten(payments, open, await readDoubtful(tx, hold));
    for (const { txHash, orderPk } of matches) {
      const payment = payments.find((one) => one.txHash === txHash);
      if (payment !== undefined) await adoptPayment(tx, payment, orderPk, PROVEN);
    }
    return matches.length;
  });
}
