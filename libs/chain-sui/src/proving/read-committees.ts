import type { BlockHash } from '@opentill/chain/block';
import type { ReadOptions } from '@opentill/chain/chain-reader';
import type { CertifiedEnd, EpochCommittee, EpochCommittees } from '@opentill/chain/epoch-committee';
import { readerError } from '@opentill/chain/reader-error';
import { askTwoSources } from '@opentill/chain-sources/ask-two-sources';
import type { SuiSource, SuiSources } from '../sui-sources.ts';
import { committeeOf, faultOfCertificate, nextCommitteeIn } from './certificate.ts';
import { summaryDigestOf } from './prove-checkpoint.ts';
import { readSummaryBytes } from './summary-bytes.ts';

const END_MASK = { paths: ['digest', 'summary.bcs', 'signature'] };

export function createCommitteeReader(
  sources: SuiSources,
  onSingleSource: (source: { readonly label: string }) => void,
): EpochCommittees {
  const optionsOf = (signal: AbortSignal | undefined): ReadOptions =>
    signal === undefined ? {} : { signal };
  return {
    async trusted(epoch, signal) {
      const [first, second] = await askTwoSources(
        sources,
        {
          ask: (source, own) => readCommittee(source, epoch, own),
          height: undefined,
          onSingleSource,
          requireTwoSources: true,
        },
        optionsOf(signal),
      );
      if (second !== undefined && JSON.stringify(second.answer) !== JSON.stringify(first.answer))
        throw readerError('INCONSISTENT_ANSWER', 'two sources name different committees of an epoch', {
          sources: [first.source.label, second.source.label],
          epoch,
        });
      return first.answer;
    },
    certifiedEnd: (committee, signal) =>
      sources.run((source, own) => readCertifiedEnd(source, committee, own), optionsOf(signal)),
  };
}

async function readCommittee(
  source: SuiSource,
  epoch: number,
  options: ReadOptions,
): Promise<EpochCommittee> {
  const { response } = await source.ask(
    ({ ledger }, call) =>
      ledger.getEpoch({ epoch: BigInt(epoch), readMask: { paths: ['epoch', 'committee'] } }, call),
    options,
  );
  const { committee } = response.epoch ?? {};
  const found = committeeOf(epoch, committee?.members ?? []);
  if (committee?.epoch !== BigInt(epoch) || found === undefined)
    throw readerError('INCONSISTENT_ANSWER', 'the node returned no valid committee of the epoch', {
      source: source.label,
      epoch,
    });
  return found;
}

async function readCertifiedEnd(
  source: SuiSource,
  committee: EpochCommittee,
  options: ReadOptions,
): Promise<CertifiedEnd> {
  const { epoch } = committee;
  const unfit = (why: string): Error =>
    readerError('INCONSISTENT_ANSWER', `the last checkpoint of an epoch is not certified: ${why}`, {
      source: source.label,
      epoch,
    });
  const next = await source.ask(
    ({ ledger }, call) =>
      ledger.getEpoch({ epoch: BigInt(epoch + 1), readMask: { paths: ['first_checkpoint'] } }, call),
    options,
  );
  const first = next.response.epoch?.firstCheckpoint;
  if (first === undefined || first === 0n) throw unfit('the node does not return where the epoch ended');
  const sequenceNumber = first - 1n;
  const { response } = await source.ask(
    ({ ledger }, call) =>
      ledger.getCheckpoint(
        { readMask: END_MASK, checkpointId: { oneofKind: 'sequenceNumber', sequenceNumber } },
        call,
      ),
    options,
  );
  const { digest, summary, signature = {} } = response.checkpoint ?? {};
  const bytes = summary?.bcs?.value ?? new Uint8Array();
  const signed = readSummaryBytes(bytes);
  if (signed === undefined || summaryDigestOf(bytes) !== digest)
    throw unfit('its summary is missing or has an unknown form');
  const fault = await faultOfCertificate(committee, bytes, signature);
  if (fault !== undefined) throw unfit(fault);
  const following = nextCommitteeIn(signed);
  if (signed.epoch !== BigInt(epoch) || signed.sequenceNumber !== sequenceNumber || following === undefined)
    throw unfit('the certified checkpoint does not end this epoch');
  return { height: Number(sequenceNumber), hash: digest as BlockHash, next: following };
}
