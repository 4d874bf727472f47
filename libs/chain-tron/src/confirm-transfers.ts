import type { ConfirmedTransfers, ConfirmOptions, ReadOptions } from '@opentill/chain/chain-reader';
import { readerError } from '@opentill/chain/reader-error';
import type { CandidateTransfer, Transfer, TransferPosition } from '@opentill/chain/transfer';
import { askTwoSources } from '@opentill/chain-sources/ask-two-sources';
import { baseUnits } from '@opentill/domain/money';
import { addressOfHex } from './address-codec.ts';
import { hasRun, isBetween, transferIn } from './decode-info.ts';
import { hasCarried, logPlaceOf, readBlock, transfersOf, type TransferWithReceipt } from './read-block.ts';
import { sameTransfer } from './compare-blocks.ts';
import type { SeenReceipts } from './logs/seen-receipts.ts';
import { equalsBefore, isEqual, isLogged, placeInReceipt, plainCandidate } from './logs/logged-candidate.ts';
import { contextOf, readEvidences, type Evidence, type Evidences } from './read-evidences.ts';
import type { Reading } from './reading.ts';
import type { TronSource, TronSources } from './tron-sources.ts';

interface SourceEvidence {
  readonly source: TronSource;
  readonly evidences: Evidences;
}

/**
 * A candidate that a receipt refutes must also be refuted by the whole block, at each source that was asked.
 *
 * Candidates need no request if two sources have just returned their block identically, with all receipts. Candidates
 * of one source need none where a single source is accepted. A block may have hundreds of them, and some of many
 * requests fail.
 */
export async function confirmTransfers(
  reading: Reading,
  sources: TronSources,
  receipts: SeenReceipts,
  candidates: readonly CandidateTransfer[],
  options: ConfirmOptions,
): Promise<ConfirmedTransfers> {
  const proven = alreadyProven(reading, candidates, options);
  const asked = candidates.filter((candidate) => !proven.has(candidate));
  const sourceEvidences =
    asked.length === 0 ? [] : await readFromSources({ reading, sources, receipts }, asked, options);
  const confirmed: Transfer[] = [];
  const refuted: CandidateTransfer[] = [];
  for (const candidate of candidates) {
    const transfer = proven.get(candidate) ?? agreedOn(reading, receipts, sourceEvidences, candidate, asked);
    if (transfer === undefined) {
      for (const { source } of sourceEvidences)
        await requireRefutedByBlock(reading, source, candidate, asked, options);
      refuted.push(candidate);
    } else confirmed.push(transfer);
  }
  return { confirmed, refuted };
}

function alreadyProven(
  { chain }: Reading,
  candidates: readonly CandidateTransfer[],
  { headers = [], byOneSource = false }: ConfirmOptions,
): ReadonlyMap<CandidateTransfer, Transfer> {
  const blocks = new Set(headers.map(({ hash }) => hash));
  const proven = new Map<CandidateTransfer, Transfer>();
  for (const candidate of candidates) {
    if (!hasReceipt(candidate) || !blocks.has(candidate.blockHash)) continue;
    if (!byOneSource && !candidate.agreement.isByTwo) continue;
    const { feeSun, agreement: _, fromHex: __, ...transfer } = candidate;
    const position = positionOf(candidate) as TransferPosition;
    proven.set(candidate, { ...transfer, chain, position, feeBaseUnits: baseUnits(feeSun) });
  }
  return proven;
}

function hasReceipt(candidate: CandidateTransfer | TransferWithReceipt): candidate is TransferWithReceipt {
  return 'agreement' in candidate;
}

function positionOf({ indexInBlock }: CandidateTransfer): string {
  const place = logPlaceOf(indexInBlock);
  return place === undefined ? 'value' : `log:${place}`;
}

async function readFromSources(
  {
    reading,
    sources,
    receipts,
  }: { readonly reading: Reading; readonly sources: TronSources; readonly receipts: SeenReceipts },
  candidates: readonly CandidateTransfer[],
  { byOneSource = false, headers = [], ...options }: ConfirmOptions,
): Promise<readonly SourceEvidence[]> {
  // Two sources must return a receipt: one of them now, if the other returned it before.
  let remembering: TronSource | undefined;
  const ask = (source: TronSource, own: ReadOptions): Promise<Evidences> => {
    if (!byOneSource && receipts.has(source)) remembering ??= source;
    const remembered = remembering === source ? receipts : undefined;
    return readEvidences({ source, receipts: remembered, headers }, candidates, own);
  };
  if (byOneSource)
    return sources.run(
      async (source, own) => {
        const evidences = await ask(source, own);
        receipts.note(source, evidences);
        return [{ source, evidences }];
      },
      { ...options, hedge: true },
    );
  const height = Math.max(...candidates.map(({ blockHeight }) => blockHeight));
  const answers = await askTwoSources(
    sources,
    { ask, height, onSingleSource: reading.onSingleSource },
    options,
  );
  return answers.flatMap((one) => (one === undefined ? [] : [{ source: one.source, evidences: one.answer }]));
}

function agreedOn(
  reading: Reading,
  receipts: SeenReceipts,
  sourceEvidences: readonly SourceEvidence[],
  candidate: CandidateTransfer,
  candidates: readonly CandidateTransfer[],
): Transfer | undefined {
  const equals = isLogged(candidate) ? equalsBefore(candidate, candidates) : 0;
  const [first, ...others] = sourceEvidences.map(({ evidences }) => {
    const evidence = evidences.get(candidate.txHash);
    return evidence && provenBy(reading, evidence, candidate, equals);
  });
  const isSame = (other: Transfer | undefined): boolean =>
    other?.position === first?.position && other?.feeBaseUnits === first?.feeBaseUnits;
  if (others.every(isSame)) return first;
  receipts.clear();
  throw readerError('INCONSISTENT_ANSWER', 'the receipts of two sources differ on a transfer', {
    ...contextOf(candidate),
    sources: sourceEvidences.map(({ source }) => source.label),
  });
}

export function provenBy(
  { chain, tokens }: Reading,
  { info, transaction }: Evidence,
  candidate: CandidateTransfer,
  equals: number,
): Transfer | undefined {
  const feeBaseUnits = baseUnits(info.feeSun);
  const { contract, from, to, amountBaseUnits, indexInBlock } = candidate;
  const place = isLogged(candidate)
    ? placeInReceipt(info, tokens, candidate, equals)
    : logPlaceOf(indexInBlock);
  if (contract === null) {
    const trx = transaction !== undefined && hasCarried(transaction, info) ? transaction.trx : undefined;
    const isIt =
      place === undefined &&
      addressOfHex(transaction?.ownerHex ?? '') === from &&
      addressOfHex(trx?.toHex ?? '') === to &&
      trx?.sun === amountBaseUnits;
    return isIt ? { ...candidate, chain, position: 'value' as TransferPosition, feeBaseUnits } : undefined;
  }
  const log = place === undefined || !hasRun(info) ? undefined : info.logs[place];
  const stated = log === undefined ? undefined : transferIn(log, tokens);
  const isIt =
    stated?.contract === contract && isBetween(stated, from, to) && stated.amount === amountBaseUnits;
  return isIt
    ? { ...plainCandidate(candidate), chain, position: `log:${place}` as TransferPosition, feeBaseUnits }
    : undefined;
}

/** The receipt contradicts the candidate. Throws unless the receipts of the whole block do so too. */
async function requireRefutedByBlock(
  reading: Reading,
  source: TronSource,
  candidate: CandidateTransfer,
  candidates: readonly CandidateTransfer[],
  options: ReadOptions,
): Promise<void> {
  const account = await readBlock(source, 'wallet', candidate.blockHeight, options);
  if (account.header.hash !== candidate.blockHash)
    throw readerError('INCONSISTENT_ANSWER', 'another block is at this height now', contextOf(candidate));
  const transfers = transfersOf(reading, account);
  const isThere = isLogged(candidate)
    ? transfers.filter((transfer) => isEqual(transfer, candidate)).length >
      equalsBefore(candidate, candidates)
    : transfers.some((transfer) => sameTransfer(transfer, candidate));
  if (isThere)
    throw readerError(
      'INCONSISTENT_ANSWER',
      'the receipts of the block and the receipt differ',
      contextOf(candidate),
    );
}
