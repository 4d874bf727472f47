import type { ReadOptions } from '@opentill/chain/chain-reader';
import type { TronHeader } from '../decode-block.ts';
import { mapHeights, requireLinked } from '../read-range.ts';
import type { BlockRange } from '../reading.ts';
import { readHeader, type TronSource, type TronSources } from '../tron-sources.ts';

export interface HeaderChain {
  note(source: TronSource, header: TronHeader): void;
  /** A source returned it before. */
  has(block: Pick<TronHeader, 'height' | 'hash'>): boolean;
  /** The newest solid block that the source named. */
  noteSolid(source: TronSource, header: TronHeader): void;
  /** Undefined unless it has this height. */
  solidOf(source: TronSource, height: number): TronHeader | undefined;
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

const KEPT_BLOCKS = 512;

/** Keeps headers, so that the verified pass does not read those of the seen pass again. */
export function createHeaderChain(sources: Pick<TronSources, 'usable'>): HeaderChain {
  const kept = new Map<number, { readonly header: TronHeader; readonly source: TronSource }>();

  const solid = new Map<TronSource, TronHeader>();

  function note(source: TronSource, header: TronHeader): void {
    kept.set(header.height, { header, source });
    if (kept.size <= KEPT_BLOCKS) return;
    for (const height of kept.keys()) if (height <= header.height - KEPT_BLOCKS) kept.delete(height);
    if (kept.size > KEPT_BLOCKS) kept.clear(); // heights of an invented head
  }
  async function readFrom(source: TronSource, height: number, options: ReadOptions): Promise<TronHeader> {
    const header = await readHeader(source, options, height);
    note(source, header);
    return header;
  }
  /** The source with the fewest requests so far. */
  async function readFromAny(source: TronSource, height: number, options: ReadOptions): Promise<TronHeader> {
    const helper = sources.usable().reduce((a, b) => (b.requests() < a.requests() ? b : a), source);
    try {
      return await readFrom(helper, height, options);
    } catch (error) {
      if (helper === source || options.signal?.aborted === true) throw error;
      return readFrom(source, height, options);
    }
  }

  return {
    note,
    has: ({ height, hash }) => kept.get(height)?.header.hash === hash,
    noteSolid: (source, header) => void solid.set(source, header),
    solidOf(source, height) {
      const header = solid.get(source);
      return header?.height === height ? header : undefined;
    },
    async read(source, { from, to }, options, last) {
      const own = kept.get(to);
      const top = last ?? (own?.source === source ? own.header : await readFrom(source, to, options));
      const readBelow = async (
        readOne: (height: number, each: ReadOptions) => Promise<TronHeader>,
      ): Promise<readonly TronHeader[]> => [
        ...(from === to ? [] : await mapHeights({ from, to: to - 1 }, readOne, options)),
        top,
      ];
      const headers = await readBelow(
        async (height, each) => kept.get(height)?.header ?? readFromAny(source, height, each),
      );
      if (areLinked(headers)) return headers;
      // A branch that was replaced meanwhile, or a source on another one.
      const again = await readBelow((height, each) => readFrom(source, height, each));
      requireLinked(again);
      return again;
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
