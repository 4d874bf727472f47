import type { TronHeader } from '../decode-block.ts';
import type { TronSource } from '../tron-sources.ts';

export interface KnownHeader {
  readonly header: TronHeader;
  readonly source: TronSource;
}

const KEPT_BLOCKS = 512;
const VERSIONS_KEPT = 8;

export type KnownHeaders = ReturnType<typeof createKnownHeaders>;

/** Headers that sources returned lately, so that they need not return them again. */
export function createKnownHeaders() {
  const kept = new Map<number, KnownHeader>();
  const solid = new Map<TronSource, TronHeader>();
  const linked = new Map<number, string>();
  /** The newest is the last. */
  const versions = new Set<number>();
  return {
    versions: versions as ReadonlySet<number>,
    note(source: TronSource, header: TronHeader): void {
      versions.delete(header.version);
      versions.add(header.version);
      for (const version of versions) if (versions.size > VERSIONS_KEPT) versions.delete(version);
      kept.set(header.height, { header, source });
      if (kept.size <= KEPT_BLOCKS) return;
      for (const height of kept.keys()) if (height <= header.height - KEPT_BLOCKS) kept.delete(height);
      if (kept.size > KEPT_BLOCKS) kept.clear(); // heights of an invented head
    },
    at: (height: number): KnownHeader | undefined => kept.get(height),
    /** They are the headers of a range that was read. */
    noteLinked(headers: readonly TronHeader[]): void {
      for (const { height, hash } of headers) {
        linked.delete(height);
        linked.set(height, hash);
      }
      for (const height of linked.keys()) if (linked.size > KEPT_BLOCKS) linked.delete(height);
    },
    /** It is part of a range that was read. A head that a source only named is not. */
    has: ({ height, hash }: Pick<TronHeader, 'height' | 'hash'>): boolean => linked.get(height) === hash,
    /** The newest solid block that the source named. */
    noteSolid: (source: TronSource, header: TronHeader): void => void solid.set(source, header),
    /** Undefined unless it has this height. */
    solidOf(source: TronSource, height: number): TronHeader | undefined {
      const header = solid.get(source);
      return header?.height === height ? header : undefined;
    },
  };
}
