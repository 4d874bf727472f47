import { createEvmStateReader } from '@opentill/chain-evm/read-balances';
import type { BlockHash } from '@opentill/chain/block';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import type { Db } from '@opentill/db/database';
import { readAnchor } from '../reconcile/read-books.ts';
import { adoptPayment } from './adopt-payment.ts';
import { createWalletHistory, type WalletHistory } from './find-wallet-transactions.ts';
import { matchForgotten } from './match-forgotten.ts';
import {
  readAccountedNonces,
  readDoubtful,
  readOpenNonces,
  readPayments,
  saveForgotten,
  type Hold,
} from './restore-store.ts';
import { reconcileExpiringWallet } from './reconcile-expiring-wallet.ts';
import { PROVEN, type WalletState } from './wallet-state.ts';

const REQUEST_TIMEOUT_MS = 15_000;

/**
 * Reads from the chain what the wallet did since the backup, and writes down what it proves. Goes by a block that the
 * scanner has verified since, and by a count of transactions that two sources name alike; each nonce below it must be
 * accounted for by a transaction that the wallet's key signed; where there are no nonces see reconcileExpiringWallet. May be
 * called any number of times.
 * @throws GatewayError with a ReaderErrorCode or a DatabaseErrorCode
 */
export async function reconcileWallet(
  db: Db,
  network: NetworkConfig,
  hold: Hold,
  onProgress: (height: number) => void,
): Promise<WalletState> {
  if (network.family === 'TRON') return reconcileExpiringWallet(db, network, hold, onProgress);
  if (network.family !== 'EVM') return unreadable(db, network, hold);
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
  }
  const payments = await readPayments(db, { hold });
  const payouts = await readDoubtful(db, hold);
  const { silent } = newest;
  return { hold, isReadable: true, waitsFor, waitsUntil: undefined, payments, payouts, adopted, silent };
}

/** What was sent and forgotten can't be ruled out. */
async function unreadable(db: Db, { family }: NetworkConfig, hold: Hold): Promise<WalletState> {
  const waitsFor = [
    `a way to read what wallets of ${family} sent since the backup: there is none, so it stays held and never signs again`,
  ];
  return {
    hold,
    isReadable: false,
    waitsFor,
    waitsUntil: undefined,
    payments: await readPayments(db, { hold }),
    payouts: await readDoubtful(db, hold),
    adopted: 0,
    silent: [],
  };
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

/**
 * Finds and stores what is not known, below the count. A nonce that was signed before counts as unknown until one of its
 * transactions is verified: its fees may have been raised since, by a transaction that nobody remembers.
 * @returns what is still missing
 */
async function takeNote(
  db: Db,
  history: WalletHistory,
  hold: Hold,
  to: { readonly height: number; readonly count: number },
): Promise<readonly string[]> {
  const before = await readAccountedNonces(db, hold);
  // Without any nonce of before, those are ours that were used since the backup.
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
    `transactions with the nonces ${missing.slice(0, 20).join(', ')}, to be verified by the scanner or given by a source`,
  ];
}

function missingNonces(accounted: ReadonlySet<number>, from: number, end: number): readonly number[] {
  const nonces = Array.from({ length: Math.max(0, end - from) }, (_, place) => from + place);
  return nonces.filter((nonce) => !accounted.has(nonce));
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
