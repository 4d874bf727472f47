import type { ConfirmedTransfers, ConfirmOptions } from '@opentill/chain/chain-reader';
import { isReaderError, readerError } from '@opentill/chain/reader-error';
import type { CandidateTransfer, Transfer } from '@opentill/chain/transfer';
import { inBatches, provenBy, readEvidences } from '../confirm-transfers.ts';
import type { Reading } from '../reading.ts';
import type { TronSource } from '../tron-sources.ts';
import { equalsBefore, isLogged, type LoggedCandidate } from './logged-candidate.ts';
import type { SeenReceipts } from './seen-receipts.ts';

export type ShownCandidate = LoggedCandidate & { readonly shownBy: TronSource };

export interface ShownDeps {
  readonly reading: Reading;
  readonly receipts: SeenReceipts;
  /** The source showed a log that its receipt does not have. */
  readonly onUnknown: (source: TronSource, error: unknown) => void;
}

export function isShown(candidate: CandidateTransfer): candidate is ShownCandidate {
  return isLogged(candidate) && candidate.shownBy !== undefined;
}

/**
 * Confirms payments that the logs of one source showed, by its receipts. A log without a receipt is refuted, not an
 * error: a source that invents one must not stop the payments of others. The verified pass decides by two sources.
 */
export async function confirmShown(
  { reading, receipts, onUnknown }: ShownDeps,
  candidates: readonly ShownCandidate[],
  options: ConfirmOptions,
): Promise<ConfirmedTransfers> {
  const { headers = [] } = options;
  const signal = options.signal === undefined ? {} : { signal: options.signal };
  const transfers = await inBatches(candidates, async (candidate): Promise<Transfer | undefined> => {
    const source = candidate.shownBy;
    try {
      const evidences = await readEvidences({ source, receipts: undefined, headers }, [candidate], signal);
      const evidence = evidences.get(candidate.txHash);
      const equals = equalsBefore(candidate, candidates);
      const transfer = evidence && provenBy(reading, evidence, candidate, equals);
      if (transfer === undefined)
        throw readerError('INCONSISTENT_ANSWER', 'the receipt lacks a log that the source showed', {
          txHash: candidate.txHash,
          height: candidate.blockHeight,
        });
      receipts.note(source, evidences);
      return transfer;
    } catch (error) {
      const isUnknown =
        isReaderError(error, 'BLOCK_NOT_FOUND') || isReaderError(error, 'INCONSISTENT_ANSWER');
      if (!isUnknown || options.signal?.aborted === true) throw error;
      onUnknown(source, error);
      return undefined;
    }
  });
  const confirmed = candidates.flatMap((candidate) => transfers.get(candidate) ?? []);
  return { confirmed, refuted: candidates.filter((candidate) => transfers.get(candidate) === undefined) };
}
