import { readGathering } from '@opentill/chain-sui/sender/read-gathering';
import { readPaymentBytes } from '@opentill/chain-sui/sender/read-payment-bytes';
import {
  createSuiWalletHistoryReader,
  type SuiWalletHistoryReader,
} from '@opentill/chain-sui/sender/read-wallet-history';
import { baseUnits } from '@opentill/domain/money';
import { readFates } from '../families.ts';
import { bookLostOrder } from './store/book-lost-order.ts';
import { findUnsettledOnSui } from './store/find-unsettled.ts';
import { readPayments, readRaw } from './store/restored-rows.ts';
import { findSentOnSui, markReadOnSui, readVerifiedEpoch, saveSentOnSui } from './store/sent-on-sui.ts';
import {
  CLOCKS_DIFFER_MS,
  PROVEN,
  type AnchoredWork,
  type OpenExpiringWallet,
  type WorkEnd,
} from './wallet-state.ts';

/** A transaction may land in the epoch in which it is signed and in the next one. */
const EPOCHS_TO_LAND = 2;

/**
 * The scanner has read every checkpoint since the backup again, from two sources, and stored each transaction of a hot
 * wallet that this database does not know. The digest verifies the bytes.
 */
export const openSuiWallet: OpenExpiringWallet = (work) => {
  const { db, network, hold } = work;
  const history = createSuiWalletHistoryReader(network);
  return {
    noteSent: () => noteSent(work, history),
    bookOwn: () => bookGatherings(work),
    readEnd: () => readEnd(work, history),
    findUnsettled: async () =>
      (await findUnsettledOnSui(db, hold)).map(
        (txHash) => `transaction ${txHash}, which this database knows, to be verified by the scanner`,
      ),
  };
};

/** @returns the transactions whose bytes no source has, as conditions */
async function noteSent(
  { db, hold, anchor }: AnchoredWork,
  history: SuiWalletHistoryReader,
): Promise<readonly string[]> {
  const found = await findSentOnSui(db, hold, anchor);
  const txHashes = [...new Set(found.map(({ txHash }) => txHash))];
  const bytes = await history.readBytes(txHashes);
  for (const sent of found) {
    const raw = bytes.get(sent.txHash);
    if (raw !== undefined) await saveSentOnSui(db, hold, sent, raw, intentOf(raw));
  }
  const missing = txHashes.filter((txHash) => !bytes.has(txHash));
  if (missing.length === 0) await markReadOnSui(db, hold, anchor);
  return missing.map(
    (txHash) => `a source that has transaction ${txHash}: add an archive node if the others pruned it`,
  );
}

function intentOf(raw: Uint8Array) {
  try {
    return readPaymentBytes(raw).intent;
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

/** Gathering a wallet's own coins pays no third party: books the fee, without a decision. */
async function bookGatherings({ db, network, hold, anchor }: AnchoredWork): Promise<void> {
  const { wallet } = hold;
  const payments = (await readPayments(db, { hold })).filter(({ pays }) => pays === undefined);
  const gatherings = [];
  for (const { chain, txHash } of payments) {
    const read = readGathering(await readRaw(db, { chain, txHash }), wallet);
    if (read !== undefined)
      gatherings.push({ txHash, wallet, pays: { contract: read.contract, to: wallet, amount: 0n } });
  }
  if (gatherings.length === 0) return;
  for (const fate of await readFates(network, anchor, gatherings)) {
    const payment = payments.find(({ txHash }) => txHash === fate.txHash);
    if (payment === undefined) continue;
    const decided = { by: PROVEN.by, reason: 'gathered coins of its own', guards: false };
    await bookLostOrder(db, payment, { ...fate, deliveredBaseUnits: baseUnits(0n) }, network, decided);
  }
}

/** After this block no transaction of the lost machine can land. Undefined: verified. */
async function readEnd(
  { db, hold, anchor }: AnchoredWork,
  history: SuiWalletHistoryReader,
): Promise<WorkEnd | undefined> {
  const verified = await readVerifiedEpoch(db, hold.chain);
  const endOf = (what: string, at: Date) => ({
    what: `${what} to be verified, about ${at.toISOString()}`,
    at,
  });
  const signedUntil = new Date(hold.restoredAt.getTime() + CLOCKS_DIFFER_MS);
  if (verified === undefined || anchor.time < signedUntil)
    return endOf(`checkpoints of ${signedUntil.toISOString()}`, signedUntil);
  const { epoch, startMs, durationMs } = await history.epochAt(signedUntil.getTime(), verified);
  const end = epoch + EPOCHS_TO_LAND;
  if (verified >= end) return undefined;
  return endOf(`a checkpoint of epoch ${end}`, new Date(startMs + EPOCHS_TO_LAND * durationMs));
}
