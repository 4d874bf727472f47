import type { ConfirmOptions } from '@opentill/chain/chain-reader';
import { readerError } from '@opentill/chain/reader-error';
import type { CandidateTransfer, Transfer } from '@opentill/chain/transfer';
import { askAgain } from '@opentill/chain-sources/ask-again';
import { provenBy } from '../confirm-transfers.ts';
import { contextOf, readEvidences } from '../read-evidences.ts';
import type { Reading } from '../reading.ts';
import type { TronSource } from '../tron-sources.ts';
import { equalsBefore, isLogged, type LoggedCandidate } from './logged-candidate.ts';
import type { SeenReceipts } from './seen-receipts.ts';

export type ShownCandidate = LoggedCandidate & { readonly shownBy: TronSource };

export interface ShownDeps {
  readonly reading: Reading;
  readonly receipts: SeenReceipts;
  /** The source did not prove a log that it showed. It must show whole blocks until it is believed again. */
  readonly onUnproven: (source: TronSource, error: unknown) => void;
}

export function isShown(candidate: CandidateTransfer): candidate is ShownCandidate {
  return isLogged(candidate) && candidate.shownBy !== undefined;
}

/**
 * Confirms payments that the logs of one source showed, by its receipts. Throws if it does not prove all of them, for
 * whatever reason. The caller reads the range again, then with whole blocks, which contain their receipts. So a source
 * that invents a log, or fails to return a receipt, delays payments by one round only. A transaction that moved to
 * another block meanwhile is read there.
 */
export async function confirmShown(
  { reading, receipts, onUnproven }: ShownDeps,
  candidates: readonly ShownCandidate[],
  options: ConfirmOptions,
): Promise<readonly Transfer[]> {
  const { headers = [] } = options;
  const signal = options.signal === undefined ? {} : { signal: options.signal };
  const confirmAt = async (source: TronSource): Promise<readonly Transfer[]> => {
    const own = candidates.filter(({ shownBy }) => shownBy === source);
    const evidences = await readEvidences({ source, receipts: undefined, headers }, own, signal);
    const confirmed = own.map((candidate) => {
      const evidence = evidences.get(candidate.txHash);
      const transfer = evidence && provenBy(reading, evidence, candidate, equalsBefore(candidate, own));
      if (transfer !== undefined) return transfer;
      const text = 'the receipt lacks a log that the source showed';
      throw readerError('INCONSISTENT_ANSWER', text, contextOf(candidate));
    });
    receipts.note(source, evidences);
    return confirmed;
  };
  const sources = [...new Set(candidates.map(({ shownBy }) => shownBy))];
  const confirmed = await Promise.all(
    sources.map(async (source) => {
      try {
        return await askAgain(() => confirmAt(source), signal);
      } catch (error) {
        if (options.signal?.aborted !== true) onUnproven(source, error);
        throw error;
      }
    }),
  );
  return confirmed.flat();
}
