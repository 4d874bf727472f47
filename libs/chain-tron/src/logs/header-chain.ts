import type { ReadOptions } from '@opentill/chain/chain-reader';
import type { TronHeader } from '../decode-block.ts';
import { mapHeights, requireLinked } from '../read-range.ts';
import type { BlockRange } from '../reading.ts';
import { readHeader, type TronSource, type TronSources } from '../tron-sources.ts';
import { createKnownHeaders, type KnownHeaders } from './known-headers.ts';
import type { LogOffers } from './log-offers.ts';
import { readRpcHeaders } from './read-rpc-headers.ts';

export interface HeaderChain extends Pick<KnownHeaders, 'note' | 'has' | 'noteSolid' | 'solidOf'> {
  /**
   * Linked headers that end with `last`, by default with the block that `source` has at `range.to`. The id of a block
   * covers its header and its parent's id, so the last one proves the others, and any source may return them.
   */
  read(
    source: TronSource,
    range: BlockRange,
    options: ReadOptions,
    last?: TronHeader,
  ): Promise<readonly TronHeader[]>;
}

/** With fewer, one request each takes fewer bytes. */
const TOGETHER_MIN = 3;

/** Keeps headers, so that the verified pass does not read those of the seen pass again. */
export function createHeaderChain(
  sources: Pick<TronSources, 'usable'>,
  offers: Pick<LogOffers, 'isOffered' | 'ask'>,
): HeaderChain {
  const known = createKnownHeaders();
  const { note } = known;

  async function readFrom(source: TronSource, height: number, options: ReadOptions): Promise<TronHeader> {
    const header = await readHeader(source, options, height);
    note(source, header);
    return header;
  }
  const leastAsked = (source: TronSource): TronSource =>
    sources.usable().reduce((a, b) => (b.requests() < a.requests() ? b : a), source);

  async function readFromAny(source: TronSource, height: number, options: ReadOptions): Promise<TronHeader> {
    const helper = leastAsked(source);
    try {
      return await readFrom(helper, height, options);
    } catch (error) {
      if (helper === source || options.signal?.aborted === true) throw error;
      return readFrom(source, height, options);
    }
  }
  /** Notes the headers that are missing, as far as a source returns them in one request. */
  async function noteMissing(
    source: TronSource,
    { from, to }: BlockRange,
    options: ReadOptions,
  ): Promise<void> {
    const missing: number[] = [];
    for (let height = from; height <= to; height += 1)
      if (known.at(height) === undefined) missing.push(height);
    const helper = leastAsked(source);
    if (missing.length < TOGETHER_MIN || known.versions.size === 0 || !offers.isOffered(helper)) return;
    try {
      const read = await offers.ask(helper, () => readRpcHeaders(helper, missing, known.versions, options));
      for (const header of read) note(helper, header);
    } catch (error) {
      if (options.signal?.aborted === true) throw error;
    }
  }

  async function read(
    ...[source, { from, to }, options, last]: Parameters<HeaderChain['read']>
  ): ReturnType<HeaderChain['read']> {
    const own = known.at(to);
    const top = last ?? (own?.source === source ? own.header : await readFrom(source, to, options));
    await noteMissing(source, { from, to: to - 1 }, options);
    const readBelow = async (
      readOne: (height: number, each: ReadOptions) => Promise<TronHeader>,
    ): Promise<readonly TronHeader[]> => [
      ...(from === to ? [] : await mapHeights({ from, to: to - 1 }, readOne, options)),
      top,
    ];
    const headers = await readBelow(
      async (height, each) => known.at(height)?.header ?? readFromAny(source, height, each),
    );
    if (areLinked(headers)) return headers;
    // A branch that was replaced meanwhile, or a source on another one.
    const again = await readBelow((height, each) => readFrom(source, height, each));
    requireLinked(again);
    return again;
  }

  return {
    ...known,
    async read(...asked) {
      const headers = await read(...asked);
      known.noteLinked(headers);
      return headers;
    },
  };
}

function areLinked(headers: readonly TronHeader[]): boolean {
  try {
    requireLinked(headers);
    return true;
  } catch {
    return false;
  }
}
