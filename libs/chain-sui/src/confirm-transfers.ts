import type { ConfirmedTransfers, ConfirmOptions, ReadOptions } from '@opentill/chain/chain-reader';
import { readerError } from '@opentill/chain/reader-error';
import type { CandidateTransfer, Transfer } from '@opentill/chain/transfer';
import { askTwoSources } from '@opentill/chain-sources/ask-two-sources';
import { provenTransfer, transfersOf } from './checkpoint-transfers.ts';
import type { SuiCheckpoint } from './decode-checkpoint.ts';
import { readCheckpoints } from './read-checkpoints.ts';
import type { Reading } from './reading.ts';
import type { SuiSource, SuiSources } from './sui-sources.ts';

type Evidence = ReadonlyMap<number, SuiCheckpoint>;

/** A candidate that was read from as many sources as required needs no request: the checkpoint is the proof. */
export async function confirmTransfers(
  reading: Reading,
  sources: SuiSources,
  candidates: readonly CandidateTransfer[],
  options: ConfirmOptions,
): Promise<ConfirmedTransfers> {
  const { byOneSource = false } = options;
  const proven = new Map<CandidateTransfer, Transfer>();
  for (const candidate of candidates) {
    const proof = reading.proofs.get(candidate);
    if (proof !== undefined && (byOneSource || proof.isVerified))
      proven.set(candidate, provenTransfer(reading.chain, candidate, proof));
  }
  const open = candidates.filter((candidate) => !proven.has(candidate));
  if (open.length > 0) {
    const evidences = await readEvidences(reading, sources, open, options);
    for (const candidate of open) {
      const transfer = agreedOn(reading, evidences, candidate);
      if (transfer !== undefined) proven.set(candidate, transfer);
    }
  }
  return {
    confirmed: candidates.flatMap((candidate) => proven.get(candidate) ?? []),
    refuted: candidates.filter((candidate) => !proven.has(candidate)),
  };
}

async function readEvidences(
  reading: Reading,
  sources: SuiSources,
  candidates: readonly CandidateTransfer[],
  { byOneSource = false, headers, ...options }: ConfirmOptions,
): Promise<readonly Evidence[]> {
  const heights = [...new Set(candidates.map(({ blockHeight }) => blockHeight))];
  const times = new Map(headers?.map(({ hash, timeSeconds }) => [hash, timeSeconds]));
  const ask = async (source: SuiSource, own: ReadOptions): Promise<Evidence> => {
    const evidence = new Map<number, SuiCheckpoint>();
    for (const height of heights) {
      const [checkpoint] = await readCheckpoints(reading, source, { from: height, to: height }, own);
      if (checkpoint !== undefined) evidence.set(height, checkpoint);
    }
    for (const candidate of candidates)
      requireInCheckpoint(evidence.get(candidate.blockHeight), candidate, times.get(candidate.blockHash));
    return evidence;
  };
  if (byOneSource) return [await sources.run((source, own) => ask(source, own), { ...options, hedge: true })];
  const question = { ask, height: Math.max(...heights), onSingleSource: reading.onSingleSource };
  const answers = await askTwoSources(sources, question, options);
  return answers.flatMap((one) => (one === undefined ? [] : [one.answer]));
}

/** Throws if the checkpoint is not the candidate's or lacks its transaction, so that another source is asked. */
function requireInCheckpoint(
  checkpoint: SuiCheckpoint | undefined,
  candidate: CandidateTransfer,
  timeSeconds: number | undefined,
): void {
  const header = checkpoint?.header;
  const isThere =
    header?.hash === candidate.blockHash &&
    (timeSeconds === undefined || timeSeconds === header.timeSeconds) &&
    checkpoint?.transactions.some(({ txHash }) => txHash === candidate.txHash) === true;
  if (!isThere)
    throw readerError(
      'INCONSISTENT_ANSWER',
      'the transaction is not in the checkpoint',
      contextOf(candidate),
    );
}

function agreedOn(
  reading: Reading,
  evidences: readonly Evidence[],
  candidate: CandidateTransfer,
): Transfer | undefined {
  const [first, ...others] = evidences.map((evidence) => {
    const checkpoint = evidence.get(candidate.blockHeight);
    return checkpoint === undefined ? undefined : foundIn(reading, checkpoint, candidate);
  });
  const isSame = (other: Transfer | undefined): boolean =>
    other?.position === first?.position && other?.feeBaseUnits === first?.feeBaseUnits;
  if (others.every(isSame)) return first;
  throw readerError('INCONSISTENT_ANSWER', 'two sources differ on a transfer', contextOf(candidate));
}

function foundIn(
  reading: Reading,
  checkpoint: SuiCheckpoint,
  candidate: CandidateTransfer,
): Transfer | undefined {
  const found = transfersOf(reading, checkpoint, false).find(
    ({ txHash, indexInBlock, contract, from, to, amountBaseUnits }) =>
      txHash === candidate.txHash &&
      indexInBlock === candidate.indexInBlock &&
      contract === candidate.contract &&
      from === candidate.from &&
      to === candidate.to &&
      amountBaseUnits === candidate.amountBaseUnits,
  );
  const proof = found === undefined ? undefined : reading.proofs.get(found);
  return found === undefined || proof === undefined ? undefined : provenTransfer(reading.chain, found, proof);
}

function contextOf({ txHash, blockHash, blockHeight }: CandidateTransfer): Readonly<Record<string, unknown>> {
  return { txHash, blockHash, height: blockHeight };
}
