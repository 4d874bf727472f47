import type { ChainReader, ExpectedTransfer, RangeRead, ReadOptions } from '@opentill/chain/chain-reader';
import { pairOf } from '@opentill/chain-sources/ask-two-sources';
import { createBlocksPerCall, type BlocksPerCall } from './blocks-per-call.ts';
import { plainHeader } from './decode.ts';
import { blockRequests, linkedHeaders } from './read-blocks.ts';
import { blocksWithin, noteAccepted, noteTooLarge, readInCalls } from './read-in-calls.ts';
import { readSeenBlocks } from './read-seen.ts';
import { readVerifiedBlocks } from './read-verified.ts';
import type { BlockRange, Reading } from './reading.ts';
import type { EvmSource, EvmSources } from './sources.ts';

const HEADERS_PER_CALL = 20;

/** Reads ranges in calls that the sources accept. */
export function createRangeReads(reading: Reading, sources: EvmSources) {
  const perCall = createBlocksPerCall();
  const blocksPerCall = (): number =>
    Math.min(
      perCall.now(),
      ...pairOf(sources.quorumSources()).map(({ blockRange }) => blocksWithin(blockRange.blocks())),
    );
  const headers: ChainReader['headers'] = async (from, to, options = {}) =>
    (await readFromOne(sources, { from, to }, { hasAllHeaders: true }, readHeaders, options)).headers;
  const readSeen: ChainReader['readSeen'] = (
    from,
    to,
    { head, below: expected, everyBlock, ...options } = {},
  ) =>
    readFromOne(
      sources,
      { from, to },
      { perCall, hasAllHeaders: reading.native || everyBlock === true },
      (source, range, own) => {
        const below = range.from === from ? expected : undefined;
        return readSeenBlocks(reading, source, range, { ...own, head, below, everyBlock });
      },
      options,
    );
  const readVerified: ChainReader['readVerified'] = (from, to, expected, options = {}) =>
    readInCalls(
      { from, to },
      blocksPerCall,
      async (range) => {
        const isHere = ({ blockHeight }: ExpectedTransfer): boolean =>
          blockHeight >= range.from && blockHeight <= range.to;
        const read = await readVerifiedBlocks(reading, sources, range, expected.filter(isHere), options);
        perCall.note(range, read.logs ?? 0);
        return read;
      },
      reading.native,
    );
  return { blocksPerCall, headers, readSeen, readVerified };
}

function readFromOne(
  sources: EvmSources,
  range: BlockRange,
  { perCall, hasAllHeaders }: { readonly perCall?: BlocksPerCall; readonly hasAllHeaders: boolean },
  read: (source: EvmSource, range: BlockRange, options: ReadOptions) => Promise<RangeRead>,
  options: ReadOptions,
): Promise<RangeRead> {
  return readInCalls(
    range,
    () =>
      Math.min(
        perCall?.now() ?? HEADERS_PER_CALL,
        blocksWithin(sources.usable()[0]?.blockRange.blocks() ?? 1),
      ),
    (call) =>
      sources.run(
        async (source, runOptions) => {
          try {
            const answer = await read(source, call, runOptions);
            if (perCall === undefined) return answer; // headers
            noteAccepted(source, call);
            perCall.note(call, answer.logs ?? 0);
            return answer;
          } catch (error) {
            noteTooLarge(source, call, error);
            throw error;
          }
        },
        { ...options, hedge: true },
      ),
    hasAllHeaders,
  );
}

async function readHeaders(source: EvmSource, range: BlockRange, options: ReadOptions): Promise<RangeRead> {
  const raw = await source.batch(blockRequests({ native: false }, range), options);
  const headers = linkedHeaders(raw, range.from).map(plainHeader);
  const below = headers[0]?.parentHash;
  return { headers, ...(below === undefined ? {} : { below }), transfers: [] };
}
