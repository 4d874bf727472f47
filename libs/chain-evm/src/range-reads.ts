import type { ChainReader, ExpectedTransfer, RangeRead, ReadOptions } from '@opentill/chain/chain-reader';
import { pairOf } from '@opentill/chain-sources/ask-two-sources';
import { plainHeader } from './decode.ts';
import { blockRequests, linkedHeaders } from './read-blocks.ts';
import { blocksPerCallOf, noteAccepted, noteTooLarge, readInCalls } from './read-in-calls.ts';
import { readSeenBlocks } from './read-seen.ts';
import { readVerifiedBlocks } from './read-verified.ts';
import type { BlockRange, Reading } from './reading.ts';
import type { EvmSource, EvmSources } from './sources.ts';

const HEADERS_PER_CALL = 20;
const everyHeight = (): boolean => true;

/** Reads ranges in calls that the sources accept. */
export function createRangeReads(reading: Reading, sources: EvmSources) {
  const blocksPerCall = (): number => Math.min(...pairOf(sources.quorumSources()).map(blocksPerCallOf));
  const headers: ChainReader['headers'] = async (from, to, options = {}) => {
    const read = (range: BlockRange): Promise<RangeRead> =>
      sources.run((source, own) => readHeaders(source, range, own), { ...options, hedge: true });
    return (await readInCalls({ from, to }, () => HEADERS_PER_CALL, read, everyHeight)).headers;
  };
  const readSeen: ChainReader['readSeen'] = (
    from,
    to,
    { head, below: expected, everyBlock, ...options } = {},
  ) =>
    readInCalls(
      { from, to },
      () => sources.usable().slice(0, 1).map(blocksPerCallOf)[0] ?? 1,
      (range) =>
        sources.run(
          async (source, own) => {
            const below = range.from === from ? expected : undefined;
            try {
              const { logs, ...read } = await readSeenBlocks(reading, source, range, {
                ...own,
                head,
                below,
                everyBlock,
              });
              noteAccepted(source, range, logs);
              return read;
            } catch (error) {
              noteTooLarge(source, range, error);
              throw error;
            }
          },
          { ...options, hedge: true },
        ),
      reading.native || everyBlock === true ? everyHeight : () => false,
    );
  const readVerified: ChainReader['readVerified'] = (
    from,
    to,
    expected,
    { headersAt = [], ...options } = {},
  ) =>
    readInCalls(
      { from, to },
      blocksPerCall,
      (range) => {
        const isHere = ({ blockHeight }: ExpectedTransfer): boolean =>
          blockHeight >= range.from && blockHeight <= range.to;
        const wanted = { ...range, headersAt };
        return readVerifiedBlocks(reading, sources, wanted, expected.filter(isHere), options);
      },
      reading.native ? everyHeight : (height) => headersAt.includes(height),
    );
  return { blocksPerCall, headers, readSeen, readVerified };
}

async function readHeaders(source: EvmSource, range: BlockRange, options: ReadOptions): Promise<RangeRead> {
  const raw = await source.batch(blockRequests({ native: false }, range), options);
  const headers = linkedHeaders(raw, range.from).map(plainHeader);
  const below = headers[0]?.parentHash;
  return { headers, ...(below === undefined ? {} : { below }), transfers: [] };
}
