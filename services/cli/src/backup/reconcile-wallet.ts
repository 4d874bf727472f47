import type { NetworkConfig } from '@opentill/contracts/network-config';
import type { Db } from '@opentill/db/database';
import type { Family } from '@opentill/domain/chains';
import type { Anchor } from '../reconcile/chain-ledger.ts';
import { readAnchor } from '../reconcile/store/read-chain-ledger.ts';
import { createWalletHistory, readAgreedCounts } from './find-wallet-transactions.ts';
import { openSuiWallet } from './sent-by-sui-wallet.ts';
import { openTronWallet } from './sent-by-tron-wallet.ts';
import { adoptProven, markLanded } from './store/adopt-proven.ts';
import { refuseUnsigned } from './store/refuse-unsigned.ts';
import type { Hold } from './store/restored-rows.ts';
import { storeUnknownTransactions } from './store-unknown-transactions.ts';
import type { OpenExpiringWallet, WalletProof, WalletWork } from './wallet-state.ts';

interface Proof extends WalletProof {
  readonly isComplete: boolean;
}

type Prove = (work: WalletWork, anchor: Anchor | undefined) => Promise<Proof>;

const PROVE: Readonly<Record<Family, Prove>> = {
  EVM: proveByNonces,
  TRON: (work, anchor) => proveByBlocks(work, anchor, 'block', openTronWallet),
  SUI: (work, anchor) => proveByBlocks(work, anchor, 'checkpoint', openSuiWallet),
};

/** Idempotent. @throws GatewayError with a ReaderErrorCode or a DatabaseErrorCode */
export async function reconcileWallet(
  db: Db,
  network: NetworkConfig,
  hold: Hold,
  onProgress: (height: number) => void,
): Promise<WalletProof> {
  const anchor = await readAnchor(db, hold.chain);
  const { isComplete, ...proof } = await PROVE[network.family]({ db, network, hold, onProgress }, anchor);
  if (isComplete && proof.waitsFor.length === 0) await refuseUnsigned(db, hold.chain, hold.wallet);
  return proof;
}

/** Two sources must agree on the count. Each nonce below it must belong to a transaction of the wallet's key. */
async function proveByNonces({ db, network, hold }: WalletWork, anchor: Anchor | undefined): Promise<Proof> {
  const history = createWalletHistory(network);
  const { highest, silent } = await history.newestCount(hold.wallet);
  const isAhead = anchor !== undefined && anchor.height > hold.fromHeight;
  const [count] = isAhead ? await readAgreedCounts(network, [hold.wallet], anchor) : [];
  if (anchor === undefined || count === undefined) {
    const what = isAhead
      ? 'two sources that agree on its transaction count'
      : `the scanner, which has verified no block above ${hold.fromHeight} yet`;
    const waitsFor = highest > 0 ? [what] : [];
    return { waitsFor, waitsUntil: undefined, adopted: 0, silent, isComplete: false };
  }
  const waitsFor = [
    ...(highest > count
      ? [
          `${highest - count} transactions that are in a pool, or in a block that is not final (verified: ${anchor.height})`,
        ]
      : []),
    ...(await storeUnknownTransactions(db, history, hold, { height: anchor.height, count })),
  ];
  const adopted = await adoptProven(db, hold);
  return { waitsFor, waitsUntil: undefined, adopted, silent, isComplete: true };
}

/**
 * No count proves that the list is complete. Reads every block, from two sources, up to one after which no transaction
 * of the lost machine can land.
 */
async function proveByBlocks(
  work: WalletWork,
  anchor: Anchor | undefined,
  blockWord: string,
  open: OpenExpiringWallet,
): Promise<Proof> {
  const { db, hold } = work;
  const proof = { waitsUntil: undefined, adopted: 0, silent: [], isComplete: false };
  if (anchor === undefined || anchor.height <= hold.fromHeight) {
    const what = `the scanner, which has verified no ${blockWord} above ${hold.fromHeight} yet`;
    return { ...proof, waitsFor: [what] };
  }
  const wallet = open({ ...work, anchor });
  const waitsFor = await wallet.noteSent();
  await markLanded(db, hold);
  await wallet.bookOwn?.();
  const adopted = await adoptProven(db, hold);
  const end = await wallet.readEnd();
  if (end === undefined)
    return {
      ...proof,
      waitsFor: [...waitsFor, ...(await wallet.findUnsettled())],
      adopted,
      isComplete: true,
    };
  const what = `${end.what} (now: ${anchor.time.toISOString()}): until then transactions of the lost machine may land`;
  const waitsUntil = waitsFor.length === 0 ? end.at : undefined;
  return { ...proof, waitsFor: [...waitsFor, what], waitsUntil, adopted };
}
